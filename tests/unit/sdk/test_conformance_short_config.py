from __future__ import annotations

from typing import Any

import pytest

from mosaic.worker.trial.short_config import length_fields, long_config, misnested, nested, short_config

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

    assert (config["algo"], config["env_id"], config["agents"]) == ("dqn", "CartPole-v1", 2)


def test_fields_that_say_how_long_a_run_is_are_made_small() -> None:
    config = short_config(SCHEMA, "r")

    assert config["total_timesteps"] == 512
    assert config["num_episodes"] == 2


def test_the_rollout_length_is_not_the_length_of_the_run() -> None:
    assert length_fields(SCHEMA) == ["total_timesteps", "num_episodes"]


def test_a_minimum_is_respected() -> None:
    schema = {"properties": {"total_steps": {"type": "integer", "minimum": 4_096}}}

    assert short_config(schema, "r")["total_steps"] == 4_096


def test_a_seed_is_set_where_there_is_one() -> None:
    assert short_config(SCHEMA, "r")["seed"] == 1
    assert "seed" not in short_config({"properties": {}}, "r")


def test_a_long_config_lasts_but_stays_within_the_schema() -> None:
    schema = {"properties": {"total_steps": {"maximum": 9_000}, "episodes": {}}}

    assert long_config({}, schema) == {"total_steps": 9_000, "episodes": 5_000_000}


@pytest.mark.parametrize("name", ["total_steps", "running_steps", "total_timesteps", "episodes", "n_iterations"])
def test_a_length_field_of_the_config_counts_even_without_a_schema(name: str) -> None:
    assert long_config({name: 3}, {})[name] > 1_000_000


def test_the_nested_form_is_what_the_fleet_hands_over() -> None:
    assert nested({"a": 1}) == {"metadata": {"worker": {"config": {"a": 1}}}}
    assert misnested({"a": 1}) == {"metadata": {"config": {"a": 1}}}
