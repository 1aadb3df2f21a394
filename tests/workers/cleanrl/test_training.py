"""Every algorithm that must train does: weights change, losses are told, returns rise."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest

from tests.workers.cleanrl.conftest import changed_networks
from tests.workers.conftest import InstalledWorker

pytestmark = pytest.mark.slow

NO_EVALUATION: dict[str, Any] = {"seed": 1, "eval_episodes": 0}
_SMALL_REPLAY = {"learning_starts": 200, "buffer_size": 2_000}
_OFF_POLICY: dict[str, Any] = {"total_steps": 500, "checkpoint_every": 100, "algo_params": _SMALL_REPLAY}

#: How many missions twenty episodes have, and how many are told apart by what the script sees beside the picture.
_MISSIONS = """
import json, sys
import gymnasium
from mosaic_cleanrl.environments import hooked_environments
from mosaic_cleanrl.evaluation import Spectator
from mosaic_cleanrl.scripts import find_script
with hooked_environments(Spectator(find_script("dqn"))):
    env = gymnasium.make(sys.argv[1])
said, seen = set(), set()
for seed in range(20):
    observation, _ = env.reset(seed=seed)
    said.add(env.unwrapped.mission)
    seen.add(observation[env.unwrapped.observation_space["image"].shape[0] ** 2 * 3 :].tobytes())
print(json.dumps({"said": len(said), "seen": len(seen)}))
"""

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

    run = cleanrl.run(f"train-{algo}", {**NO_EVALUATION, "algo": algo, "keep_checkpoints": 9, **config})

    assert 0 == run.exit_code, run.stderr[-2000:]
    assert losses | {"learning_rate"} <= {payload["name"] for payload in run.of("metric")}
    # Target networks follow at intervals that a run this short may not reach.
    changed = {name: is_new for name, is_new in changed_networks(cleanrl, run).items() if "target" not in name}
    assert changed
    assert all(changed.values())
    assert list((run.run_dir / "tensorboard").glob("events.out.*"))


@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "LunarLander-v2", "MiniGrid-Empty-5x5-v0"])
def test_ppo_trains_on_every_family_of_small_environments(cleanrl: InstalledWorker, env_id: str) -> None:
    run = cleanrl.run(f"family-{env_id}", {**NO_EVALUATION, "algo": "ppo", "env_id": env_id, "total_steps": 512})

    assert 0 == run.exit_code, run.stderr[-2000:]
    assert run.values("loss/policy")


def test_babyai_is_seen_with_its_mission(cleanrl: InstalledWorker) -> None:
    """Two missions in one room: the same picture, and another thing to do."""
    missions = cleanrl.answer(_MISSIONS, "BabyAI-GoToObj-v0")

    assert missions["said"] == missions["seen"] > 1


def test_babyai_has_room_for_its_longest_missions(cleanrl: InstalledWorker) -> None:
    assert cleanrl.answer(_MISSIONS, "BabyAI-MiniBossLevel-v0")["seen"] > 1


@pytest.mark.parametrize("algo", ["ppo_atari", "dqn_atari", "c51_atari"])
def test_atari_is_played_through_either_interface(cleanrl: InstalledWorker, algo: str) -> None:
    parameters = {"num_steps": 16} if algo == "ppo_atari" else {"learning_starts": 40, "buffer_size": 200}
    config = {"algo": algo, "env_id": "BreakoutNoFrameskip-v4", "total_steps": 130, "algo_params": parameters}

    run = cleanrl.run(f"atari-{algo}", {**NO_EVALUATION, **config})

    assert 0 == run.exit_code, run.stderr[-2000:]
    assert run.values("loss/policy") or run.values("loss/q")


def test_ppo_balances_better_than_it_began(cleanrl: InstalledWorker) -> None:
    run = cleanrl.run("rise-ppo", {**NO_EVALUATION, "algo": "ppo", "env_id": "CartPole-v1", "total_steps": 20_480})

    assert fmean(run.returns[-20:]) > 3 * fmean(run.returns[:20])


def test_sac_hops_further_than_it_began(cleanrl: InstalledWorker) -> None:
    config = {**NO_EVALUATION, "algo": "sac", "env_id": "Hopper-v4", "total_steps": 2_500}

    run = cleanrl.run("rise-sac", {**config, "algo_params": {"learning_starts": 500, "buffer_size": 2_500}})

    assert fmean(run.returns[-10:]) > 3 * fmean(run.returns[:10])
