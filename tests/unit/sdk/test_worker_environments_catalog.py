"""The catalog of environments, and which pairs cannot work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tomllib

from mosaic.worker.environments import catalog, find, why_not

TABULAR = {"env_families": ["gymnasium", "toy_text"], "action_spaces": ["discrete"], "max_agents": 1}


def test_every_environment_is_listed_once_with_a_paragraph() -> None:
    names = [env.env_id for env in catalog()]

    assert len(names) == len(set(names))
    assert [] == [env.env_id for env in catalog() if not 3 <= len(re.findall(r"\.(?: |$)", env.about)) <= 6]
    assert 11 == sum(env.family == "mujoco" and env.env_id.endswith("v5") for env in catalog())


def test_versions_share_what_they_have_in_common_and_no_more() -> None:
    new, old = find("Ant-v5"), find("Ant-v4")
    assert new
    assert old

    assert (new.about, new.roles[0].does, new.solved_at) == (old.about, old.roles[0].does, old.solved_at)
    assert ((105,), (27,)) == (new.roles[0].sees.shape, old.roles[0].sees.shape)


@pytest.mark.parametrize(
    ("env_id", "observations", "actions", "agents"),
    [
        ("CartPole-v1", "vector", "discrete", 1),
        ("Pendulum-v1", "vector", "continuous", 1),
        ("FrozenLake-v1", "state", "discrete", 1),
        ("CarRacing-v3", "image", "continuous", 1),
        ("MiniGrid-Empty-5x5-v0", "dict", "discrete", 1),
        ("mpe/simple_world_comm_v3", "vector", "discrete", 6),
        ("connect_four_v3", "dict", "discrete", 2),
    ],
)
def test_the_kinds_of_spaces_follow_from_their_shapes(
    env_id: str, observations: str, actions: str, agents: int
) -> None:
    env = find(env_id)

    assert env is not None
    assert (observations, actions, agents) == (env.observations, env.actions, env.agents)


def test_what_the_package_reads_is_in_the_wheel() -> None:
    project = Path(__file__).parents[3] / "sdk"
    patterns = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["*"]
    kept = [
        path for path in (project / "src" / "mosaic").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    code = ["*.py", "*.pyi"]

    assert [] == [path.name for path in kept if not any(path.match(pattern) for pattern in [*patterns, *code])]


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
