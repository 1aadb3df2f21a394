"""What people write is found in what a worker publishes, and nothing is guessed."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.errors import did_you_mean
from mosaic.worker.branches import branch_of, branch_of_others, hyper_parameters, parameters_of
from mosaic.worker.library.extras import add_other_names
from mosaic.worker.spelling import as_published, default_of, setting_of


def a_schema() -> dict[str, Any]:
    """Return the schema of a library worker with two algorithms, written as library workers write it."""
    schema: dict[str, Any] = {
        "properties": {
            "algo": {"type": "string", "enum": ["ppo", "PPO_Clip", "dqn"], "default": "ppo"},
            "algo_params": {"type": "object", "properties": {"gamma": {"type": "number", "maximum": 1}}},
            "total_steps": {"type": "integer"},
            "rate": {"type": ["integer", "number"]},
            "extras": {"type": "object"},
        },
        "$defs": {
            "ppo": {"type": "object", "properties": {"gamma": {"default": 0.99}, "epochs": {"type": "integer"}}},
            "dqn": {"type": "object", "properties": {"gamma": {"default": 0.9}}},
        },
    }
    add_other_names(schema["properties"])
    branches = [branch_of(algo, parameters_of(algo, schema), schema["properties"]) for algo in ("ppo", "dqn")]
    return schema | {"anyOf": [*branches, branch_of_others(["ppo", "dqn"])]}


def test_the_hyper_parameters_of_an_algorithm_are_read_from_its_branch() -> None:
    schema = a_schema()

    assert {
        "gamma": {"type": "number", "maximum": 1, "default": 0.99},
        "epochs": {"type": "integer"},
    } == hyper_parameters(schema, "ppo")
    assert 0.9 == hyper_parameters(schema, "dqn")["gamma"]["default"]
    assert {} == hyper_parameters(schema, "sac")


@pytest.mark.parametrize(
    "schema",
    [{}, {"anyOf": 3}, {"anyOf": [3, {"properties": 4}]}, {"properties": {"algo_params": 3}}, {"properties": 3}],
)
def test_a_schema_that_makes_no_sense_says_nothing(schema: dict[str, Any]) -> None:
    given = {"algo": "PPO", "algo_params": {"a": 1.0}}
    assert {} == hyper_parameters(schema, "ppo")
    assert given == as_published(schema, given)
    assert default_of(schema, "algo") is None
    assert setting_of(schema, "steps") is None


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({"algo": "DQN"}, {"algo": "dqn"}),
        ({"algo": "ppo-clip"}, {"algo": "PPO_Clip"}),
        ({"algo": "ppo"}, {"algo": "ppo"}),
        ({"algo": "sac"}, {"algo": "sac"}),
        ({"algo": 3}, {"algo": 3}),
        ({"total_steps": 1e5}, {"total_steps": 100_000}),
        ({"total_steps": 1.5}, {"total_steps": 1.5}),
        ({"rate": 2.0}, {"rate": 2.0}),
        ({"algo_params": {"epochs": 4.0, "gamma": 1.0}}, {"algo_params": {"epochs": 4, "gamma": 1.0}}),
        ({"algo": "DQN", "algo_params": {"epochs": 4.0}}, {"algo": "dqn", "algo_params": {"epochs": 4.0}}),
    ],
)
def test_values_are_written_as_the_worker_writes_them(given: dict[str, Any], written: dict[str, Any]) -> None:
    assert repr(written) == repr(as_published(a_schema(), given))


def test_the_nearest_name_is_found_whatever_its_case() -> None:
    assert ", did you mean 'ppo'?" == did_you_mean("PPPO", ["ppo", "dqn"])
    assert "" == did_you_mean("sarsa", ["ppo", "dqn"])
