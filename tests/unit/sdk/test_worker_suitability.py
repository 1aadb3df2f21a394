"""Which algorithm can train on which environment, from what each worker publishes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mosaic.worker.environments import find, missing_from
from mosaic.worker.suitability import pair_fault, why_nobody
from mosaic.worker.validation import validate_config


def _schema(algorithms: Mapping[str, Mapping[str, Any]], default_env: str = "CartPole-v1") -> dict[str, Any]:
    first, *_ = algorithms
    algo = {"type": "string", "enum": list(algorithms), "default": first}
    env_id = {"type": "string", "default": default_env}
    return {"properties": {"algo": algo, "env_id": env_id}, "x-algorithms": dict(algorithms)}


DISCRETE: dict[str, Any] = {"action_spaces": ["discrete"], "max_agents": 1}
CONTINUOUS: dict[str, Any] = {"action_spaces": ["continuous"], "max_agents": 1}
EITHER: dict[str, Any] = {"action_spaces": ["discrete", "continuous"], "max_agents": 1}
TEAM: dict[str, Any] = {"action_spaces": ["discrete", "continuous"], "min_agents": 2}

#: What the three workers of the house publish, cut to a few of their algorithms.
CLEANRL = _schema({"ppo": DISCRETE, "dqn": DISCRETE, "ppo_continuous_action": CONTINUOUS, "sac": CONTINUOUS})
XUANCE = _schema({"ppo": EITHER, "dqn": DISCRETE, "sac": EITHER, "mappo": TEAM, "qmix": TEAM})
RLLIB = _schema({"ppo": {"action_spaces": ["discrete", "continuous"]}, "dqn": DISCRETE, "sac": EITHER})
WORKERS = pytest.mark.parametrize("schema", [CLEANRL, XUANCE, RLLIB], ids=["cleanrl", "xuance", "rllib"])


@WORKERS
def test_an_algorithm_that_fits_is_not_refused(schema: Mapping[str, Any]) -> None:
    assert pair_fault(schema, {"algo": "dqn", "env_id": "CartPole-v1"}) is None


@WORKERS
def test_an_algorithm_for_discrete_actions_is_refused_where_they_are_continuous(schema: Mapping[str, Any]) -> None:
    fault = pair_fault(schema, {"algo": "dqn", "env_id": "Pendulum-v1"})

    assert fault is not None
    assert fault.startswith("dqn takes discrete actions, Pendulum-v1 has continuous ones; it can be trained by p")
    assert "sac" in fault


@WORKERS
def test_an_algorithm_for_one_agent_is_refused_where_there_are_several(schema: Mapping[str, Any]) -> None:
    fault = pair_fault(schema, {"algo": "dqn", "env_id": "simple_spread_v3"})

    assert fault is not None
    assert fault.startswith("dqn trains one agent, simple_spread_v3 has 3 agents; ")


@WORKERS
def test_an_unknown_algorithm_is_left_to_the_list_of_names(schema: Mapping[str, Any]) -> None:
    config = {"algo": "dqnn", "env_id": "Pendulum-v1"}

    (fault,) = validate_config(schema, config)

    assert pair_fault(schema, config) is None
    assert fault.endswith("did you mean 'dqn'?")


def test_an_algorithm_for_continuous_actions_is_refused_where_they_are_discrete() -> None:
    fault = pair_fault(CLEANRL, {"algo": "sac", "env_id": "CartPole-v1"})

    assert "sac takes continuous actions, CartPole-v1 has discrete ones; it can be trained by dqn, ppo" == fault


def test_an_algorithm_for_teams_is_refused_where_one_acts_alone() -> None:
    fault = pair_fault(XUANCE, {"algo": "qmix", "env_id": "CartPole-v1"})

    expected = "qmix trains teams of at least 2 agents, CartPole-v1 has 1 agent; it can be trained by dqn, ppo, sac"
    assert expected == fault


def test_the_name_of_a_team_environment_may_carry_its_family() -> None:
    fault = pair_fault(RLLIB, {"algo": "sac", "env_id": "mpe/simple_spread_v3"})

    assert "sac trains one agent, simple_spread_v3 has 3 agents; it can be trained by ppo" == fault


def test_an_environment_that_nobody_of_the_worker_can_train_on_is_said_to_be_so() -> None:
    fault = pair_fault(CLEANRL, {"algo": "ppo", "env_id": "simple_spread_v3"})

    assert "ppo trains one agent, simple_spread_v3 has 3 agents; no algorithm of this worker can" == fault


def test_an_environment_that_the_worker_names_itself_is_taken_whatever_the_catalog_says() -> None:
    schema = _schema({"dqn": DISCRETE | {"environments": ["CarRacing-v3"]}, "c51": DISCRETE})

    assert pair_fault(schema, {"algo": "dqn", "env_id": "CarRacing-v3"}) is None
    fault = "c51 takes discrete actions, CarRacing-v3 has continuous ones; it can be trained by dqn"
    assert fault == pair_fault(schema, {"algo": "c51", "env_id": "CarRacing-v3"})


def test_settings_that_are_left_out_count_with_their_defaults() -> None:
    schema = _schema({"ppo": DISCRETE, "sac": CONTINUOUS}, default_env="Pendulum-v1")

    assert "ppo takes discrete actions, Pendulum-v1 has continuous ones; it can be trained by sac" == pair_fault(
        schema, {}
    )


def test_of_many_algorithms_that_could_a_few_are_named() -> None:
    schema = _schema({"dqn": DISCRETE} | {f"actor{index:02}": EITHER for index in range(12)})

    fault = pair_fault(schema, {"env_id": "Pendulum-v1"})

    assert fault is not None
    assert fault.endswith("actor06, actor07 and 4 more")


@pytest.mark.parametrize(
    ("schema", "config"),
    [
        (XUANCE, {"algo": "dqn", "env_id": "MyOwnEnv-v0"}),
        (XUANCE, {"algo": 3, "env_id": "Pendulum-v1"}),
        (XUANCE, {"algo": "dqn", "env_id": None}),
        ({"x-algorithms": ["dqn"]}, {"algo": "dqn", "env_id": "Pendulum-v1"}),
        ({"x-algorithms": {"dqn": None}}, {"algo": "dqn", "env_id": "Pendulum-v1"}),
        ({}, {"algo": "dqn", "env_id": "Pendulum-v1"}),
    ],
)
def test_what_is_not_known_forbids_nothing(schema: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    assert pair_fault(schema, config) is None


def test_an_environment_that_the_libraries_of_a_worker_lack_is_refused_with_the_nearest() -> None:
    older = {**CLEANRL, "x-missing-environments": missing_from({"Hopper-v4", "CartPole-v1"})}

    fault = pair_fault(older, {"algo": "sac", "env_id": "Hopper-v5"})

    assert "this worker's libraries do not have Hopper-v5, did you mean 'Hopper-v4'?" == fault
    assert pair_fault(older, {"algo": "sac", "env_id": "Hopper-v4"}) is None


@pytest.mark.parametrize("env_id", ["chess_v6", "classic/chess_v6"])
def test_an_environment_that_a_worker_cannot_make_is_refused_with_its_own_reason(env_id: str) -> None:
    schema = {**CLEANRL, "x-missing-environments": {"chess_v6": "chess_v6 is played in turns"}}

    assert "chess_v6 is played in turns" == pair_fault(schema, {"algo": "ppo", "env_id": env_id})


ATARI: dict[str, Any] = {"action_spaces": ["discrete"], "env_families": ["atari"]}
SEEING = _schema({"ppo": DISCRETE | {"observation_spaces": ["vector"]}, "ppo_atari": ATARI, "sac": CONTINUOUS})


@pytest.mark.parametrize(
    ("algo", "env_id", "fault"),
    [
        ("ppo", "CartPole-v1", None),
        ("ppo", "FrozenLake-v1", None),
        ("ppo", "MiniGrid-Empty-5x5-v0", None),
        ("ppo_atari", "ALE/Pong-v5", None),
        (
            "ppo",
            "ALE/Pong-v5",
            "ppo reads vector observations, ALE/Pong-v5 shows image ones; it can be trained by ppo_atari",
        ),
        (
            "ppo_atari",
            "CartPole-v1",
            "ppo_atari is made for atari, CartPole-v1 is of family classic_control; it can be trained by ppo",
        ),
    ],
)
def test_an_algorithm_is_refused_where_it_cannot_read_what_is_seen(algo: str, env_id: str, fault: str | None) -> None:
    assert fault == pair_fault(SEEING, {"algo": algo, "env_id": env_id})


def test_an_environment_that_no_algorithm_can_train_on_is_refused_with_the_reason_of_the_nearest() -> None:
    vectors = {"observation_spaces": ["vector"]}
    blind = _schema({"ppo": DISCRETE | vectors, "sac": CONTINUOUS | vectors})
    racing, pole = find("CarRacing-v3"), find("CartPole-v1")
    assert racing
    assert pole

    expected = "sac reads vector observations, CarRacing-v3 shows image ones; no algorithm of this worker can"
    assert expected == why_nobody(blind, racing)
    assert why_nobody(blind, pole) is None
    assert why_nobody({}, racing) is None
