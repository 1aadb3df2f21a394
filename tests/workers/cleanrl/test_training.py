"""Every algorithm that must train does: weights change, losses are told, returns rise."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest

from tests.workers.cleanrl.conftest import changed_networks
from tests.workers.conftest import InstalledWorker

pytestmark = pytest.mark.slow

_SMALL_REPLAY = {"learning_starts": 200, "buffer_size": 2_000}
_OFF_POLICY: dict[str, Any] = {"total_steps": 500, "checkpoint_every": 100, "algo_params": _SMALL_REPLAY}

ALGORITHMS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "ppo": ({"env_id": "CartPole-v1", "total_steps": 1_536, "checkpoint_every": 512}, {"loss/policy", "loss/value"}),
    "dqn": ({**_OFF_POLICY, "env_id": "CartPole-v1"}, {"loss/q"}),
    "c51": ({**_OFF_POLICY, "env_id": "CartPole-v1"}, {"loss/q"}),
    "ppo_continuous_action": (
        {
            "env_id": "HalfCheetah-v4",
            "total_steps": 768,
            "checkpoint_every": 256,
            "algo_params": {"num_steps": 256, "num_minibatches": 4},
        },
        {"loss/policy", "loss/value"},
    ),
    "sac": ({**_OFF_POLICY, "env_id": "Hopper-v4"}, {"loss/critic", "loss/actor", "loss/alpha"}),
    "td3": ({**_OFF_POLICY, "env_id": "Hopper-v4"}, {"loss/critic", "loss/actor"}),
    "ddpg": ({**_OFF_POLICY, "env_id": "Pendulum-v1"}, {"loss/critic", "loss/actor"}),
}


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_the_algorithm_learns_from_what_it_plays(cleanrl: InstalledWorker, algo: str) -> None:
    config, losses = ALGORITHMS[algo]

    run = cleanrl.run(f"train-{algo}", {"algo": algo, "seed": 1, "keep_checkpoints": 9, **config})

    assert 0 == run.exit_code, run.stderr[-2000:]
    assert losses | {"learning_rate"} <= {payload["name"] for payload in run.of("metric")}
    # Target networks follow at intervals that a run this short may not reach.
    changed = {name: is_new for name, is_new in changed_networks(cleanrl, run).items() if "target" not in name}
    assert changed
    assert all(changed.values())
    assert list((run.run_dir / "tensorboard").glob("events.out.*"))


@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "LunarLander-v2", "MiniGrid-Empty-5x5-v0"])
def test_ppo_trains_on_every_family_of_small_environments(cleanrl: InstalledWorker, env_id: str) -> None:
    run = cleanrl.run(f"family-{env_id}", {"algo": "ppo", "env_id": env_id, "total_steps": 512})

    assert 0 == run.exit_code, run.stderr[-2000:]
    assert run.values("loss/policy")


@pytest.mark.parametrize("algo", ["ppo_atari", "dqn_atari", "c51_atari"])
def test_atari_is_played_through_either_interface(cleanrl: InstalledWorker, algo: str) -> None:
    parameters = {"num_steps": 16} if algo == "ppo_atari" else {"learning_starts": 40, "buffer_size": 200}
    config = {"algo": algo, "env_id": "BreakoutNoFrameskip-v4", "total_steps": 130, "algo_params": parameters}

    run = cleanrl.run(f"atari-{algo}", config)

    assert 0 == run.exit_code, run.stderr[-2000:]
    assert run.values("loss/policy") or run.values("loss/q")


def test_ppo_balances_better_than_it_began(cleanrl: InstalledWorker) -> None:
    run = cleanrl.run("rise-ppo", {"algo": "ppo", "env_id": "CartPole-v1", "total_steps": 20_480, "seed": 1})

    assert fmean(run.returns[-20:]) > 3 * fmean(run.returns[:20])


def test_sac_hops_further_than_it_began(cleanrl: InstalledWorker) -> None:
    config = {"algo": "sac", "env_id": "Hopper-v4", "total_steps": 2_500, "seed": 1}

    run = cleanrl.run("rise-sac", {**config, "algo_params": {"learning_starts": 500, "buffer_size": 2_500}})

    assert fmean(run.returns[-10:]) > 3 * fmean(run.returns[:10])
