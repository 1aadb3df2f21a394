"""Pairs of algorithm and environment that cannot work, by what each worker really publishes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mosaic.worker import validate_config
from mosaic.worker.suitability import pair_fault
from tests.workers.conftest import InstalledWorker

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["cleanrl", "xuance", "rllib"])
def test_what_cannot_train_is_refused_with_the_reason(
    installed_worker: Callable[[str], InstalledWorker], name: str
) -> None:
    schema = installed_worker(name).schema()

    for env_id, reason in (
        ("Pendulum-v1", "dqn takes discrete actions, Pendulum-v1 has continuous ones; it can be trained by"),
        ("simple_spread_v3", "dqn trains one agent, simple_spread_v3 has 3 agents"),
    ):
        assert reason in (pair_fault(schema, {"algo": "dqn", "env_id": env_id}) or "")
    assert pair_fault(schema, {"algo": "dqn", "env_id": "CartPole-v1"}) is None
    assert "did you mean 'dqn'?" in " ".join(validate_config(schema, {"run_id": "r", "algo": "dqnn"}))
