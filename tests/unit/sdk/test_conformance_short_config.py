from __future__ import annotations

from typing import Any

import pytest

from mosaic.testing.short_config import length_fields, long_config, misnested, nested, short_config

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["run_id", "algo", "env_id", "agents"],
    "properties": {
        "run_id": {"type": "string"},
        "algo": {"enum": ["dqn", "ppo"]},
        "env_id": {"type": "string"},
        "agents": {"type": "integer", "minimum": 2},
        "seed": {"type": ["integer", "null"], "default": None},
        "total_timesteps": {"type": "integer", "default": 1_000_000},
        "num_episodes": {"type": "integer", "default": 2},
        "num_steps": {"type": "integer", "default": 128},
    },
}


def test_required_fields_get_an_allowed_or_likely_value() -> None:
    config = short_config(SCHEMA, "r")

    assert ("dqn", "CartPole-v1", 2) == (config["algo"], config["env_id"], config["agents"])


def test_fields_that_say_how_long_a_run_is_are_made_small() -> None:
    config = short_config(SCHEMA, "r")

    assert 512 == config["total_timesteps"]
    assert 2 == config["num_episodes"]


def test_the_rollout_length_is_not_the_length_of_the_run() -> None:
    assert ["total_timesteps", "num_episodes"] == length_fields(SCHEMA)


def test_a_minimum_is_respected() -> None:
    schema = {"properties": {"total_steps": {"type": "integer", "minimum": 4_096}}}

    assert 4_096 == short_config(schema, "r")["total_steps"]


def test_a_seed_is_set_where_there_is_one() -> None:
    assert 1 == short_config(SCHEMA, "r")["seed"]
    assert "seed" not in short_config({"properties": {}}, "r")


def test_a_long_config_lasts_but_stays_within_the_schema() -> None:
    schema = {"properties": {"total_steps": {"maximum": 9_000}, "episodes": {}}}

    assert {"total_steps": 9_000, "episodes": 5_000_000} == long_config({}, schema)


@pytest.mark.parametrize(
    "name", ["total_steps", "running_steps", "total_timesteps", "episodes", "n_iterations"]
)
def test_a_length_field_of_the_config_counts_even_without_a_schema(name: str) -> None:
    assert long_config({name: 3}, {})[name] > 1_000_000


def test_the_nested_form_is_what_the_fleet_hands_over() -> None:
    assert {"metadata": {"worker": {"config": {"a": 1}}}} == nested({"a": 1})
    assert {"metadata": {"config": {"a": 1}}} == misnested({"a": 1})
