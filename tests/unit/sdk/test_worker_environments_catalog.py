"""The catalog of environments, and which pairs cannot work."""

from __future__ import annotations

import pytest

from mosaic.worker.environments import catalog, find, why_not

TABULAR = {"env_families": ["gymnasium", "toy_text"], "action_spaces": ["discrete"], "max_agents": 1}


def test_every_environment_is_listed_once_and_described() -> None:
    names = [env.env_id for env in catalog()]

    assert len(names) == len(set(names))
    assert [] == [env.env_id for env in catalog() if not env.about.endswith((".", "!"))]
    assert 11 == sum(env.family == "mujoco" and env.env_id.endswith("v5") for env in catalog())


@pytest.mark.parametrize(
    ("env_id", "reason"),
    [
        ("CartPole-v1", None),
        ("FrozenLake-v1", None),
        ("Pendulum-v1", "Pendulum-v1 has continuous actions; it takes discrete"),
        ("ALE/Pong-v5", "ALE/Pong-v5 is of family atari; it takes gymnasium, toy_text"),
    ],
)
def test_a_pair_that_cannot_work_is_named_with_its_reason(env_id: str, reason: str | None) -> None:
    env = find(env_id)

    assert env is not None
    assert reason == why_not(env, TABULAR)


def test_more_agents_than_a_worker_takes_are_refused() -> None:
    spread = find("simple_spread_v3")
    assert spread is not None

    assert "simple_spread_v3 has 3 agents; it takes 1" == why_not(spread, {"env_families": ["pettingzoo"]})
    assert why_not(spread, {"env_families": ["pettingzoo"], "max_agents": 3}) is None


def test_an_unknown_environment_is_nobodys_business() -> None:
    assert find("MyOwnEnv-v0") is None
