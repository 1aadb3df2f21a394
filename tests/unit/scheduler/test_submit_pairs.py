"""An algorithm that cannot train on an environment is refused before anything is queued."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import BadInput
from mosaic.ids import WorkerName
from mosaic_scheduler.ports import WorkerFacts
from tests.fakes.scheduler import SCHEMA, Desk, a_fleet

_FIELDS: dict[str, Any] = SCHEMA["properties"] | {
    "env_id": {"type": "string", "enum": ["CartPole-v1", "simple_spread_v3"]},
    "algo": {"type": "string", "enum": ["ppo", "dqn", "mappo"], "default": "ppo"},
}
_ALGORITHMS = {
    "ppo": {"action_spaces": ["discrete", "continuous"], "max_agents": 1},
    "dqn": {"action_spaces": ["discrete"], "max_agents": 1},
    "mappo": {"min_agents": 2},
}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A scheduler whose only worker says what its algorithms can do."""
    name = WorkerName("toy")
    schema = SCHEMA | {"properties": _FIELDS, "x-algorithms": _ALGORITHMS}
    abilities = {"cpu_cores": 1, "max_agents": 4, "action_spaces": ["discrete", "continuous"]}
    abilities["env_families"] = ["classic_control", "mpe"]
    desk = Desk(tmp_path, replace(a_fleet(), workers={name: WorkerFacts(name, "1.0", schema, abilities, None)}))
    yield desk
    desk.engine.dispose()


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"algo": "dqn", "env_id": "Pendulum-v1"}, "config: dqn takes discrete actions, Pendulum-v1 has continuous"),
        ({"algo": "dqn", "env_id": "simple_spread_v3"}, "config: dqn trains one agent, simple_spread_v3 has 3 agents"),
        ({"env_id": "simple_spread_v3"}, "config: ppo trains one agent, simple_spread_v3 has 3 agents"),
        ({"algo": "mappo", "env_id": "CartPole-v1"}, "config: mappo trains teams of at least 2 agents"),
        ({"algo": "maapo", "env_id": "CartPole-v1"}, "did you mean 'mappo'?"),
        ({"algo": "ppo", "env_id": "Hopper-v5"}, "cannot train on that environment: Hopper-v5 is of family mujoco"),
    ],
)
def test_a_pair_that_cannot_work_is_refused_with_one_reason(desk: Desk, config: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        desk.submit(config)

    (fault,) = caught.value.faults
    assert sentence in fault
    with desk.store.read() as work:
        assert [] == work.active()


def test_a_pair_that_works_is_queued(desk: Desk) -> None:
    run = desk.submit({"algo": "mappo", "env_id": "simple_spread_v3"})

    assert "mappo" == run.spec.config["algo"]
