"""Pairs of algorithm and environment that cannot work, by what each worker really publishes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mosaic.worker import validate_config
from mosaic.worker.suitability import pair_fault
from tests.workers.conftest import InstalledWorker

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "env_id", "reason"),
    [
        ("xuance", "Ant-v4", "XuanCe has no settings to train on Ant-v4, did you mean 'Ant-v5'?"),
        ("rllib", "Pusher-v4", "this worker's libraries do not have Pusher-v4: `Pusher-v4` is only supported on"),
        ("rllib", "LunarLander-v2", "Please use `LunarLander-v3` instead"),
        ("rllib", "tictactoe_v3", "is played in turns with masked actions"),
        ("rllib", "classic/chess_v6", "is played in turns with masked actions"),
        ("rllib", "cooperative_pong_v6", "did you mean 'butterfly/cooperative_pong_v5'?"),
    ],
)
def test_what_a_worker_cannot_make_is_refused_with_the_reason(
    installed_worker: Callable[[str], InstalledWorker], name: str, env_id: str, reason: str
) -> None:
    assert reason in (pair_fault(installed_worker(name).schema(), {"algo": "ppo", "env_id": env_id}) or "")


@pytest.mark.parametrize("name", ["cleanrl", "xuance", "rllib", "sb3"])
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


@pytest.mark.parametrize(
    ("name", "algo", "env_id", "reason"),
    [
        ("cleanrl", "ppo", "ALE/Pong-v5", "ppo reads vector observations, ALE/Pong-v5 shows image ones; it can be"),
        (
            "cleanrl",
            "ppo_atari",
            "CartPole-v1",
            "ppo_atari is made for atari, CartPole-v1 is of family classic_control",
        ),
        ("cleanrl", "sac", "CarRacing-v2", "CarRacing-v2 shows image ones; no algorithm of this worker can"),
        ("rllib", "dqn", "simple_v3", "simple_v3 is of family mpe; it can be trained by ppo"),
    ],
)
def test_an_algorithm_that_cannot_read_what_is_seen_is_refused(
    installed_worker: Callable[[str], InstalledWorker], name: str, algo: str, env_id: str, reason: str
) -> None:
    assert reason in (pair_fault(installed_worker(name).schema(), {"algo": algo, "env_id": env_id}) or "")
