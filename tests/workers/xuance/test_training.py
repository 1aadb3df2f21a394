"""Every algorithm that must train does: weights change, losses are told, returns rise."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.workers.conftest import InstalledWorker
from tests.workers.xuance.conftest import changed_weights, disturbed

pytestmark = pytest.mark.slow

_TEAM: dict[str, Any] = {"env_id": "simple_spread_v3", "total_steps": 800, "checkpoint_every": 300}
_ON_POLICY_TEAM = {**_TEAM, "algo_params": {"buffer_size": 200}}
_OFF_POLICY_TEAM = {**_TEAM, "algo_params": {"start_training": 100, "buffer_size": 2_000}}
_REPLAY: dict[str, Any] = {
    "total_steps": 800,
    "checkpoint_every": 200,
    "algo_params": {"start_training": 100, "buffer_size": 2_000},
}

ALGORITHMS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "ppo": (
        {"env_id": "CartPole-v1", "total_steps": 1_024, "checkpoint_every": 300, "algo_params": {"horizon_size": 64}},
        {"loss/policy", "loss/value", "entropy", "clip_fraction"},
    ),
    "dqn": ({**_REPLAY, "env_id": "CartPole-v1"}, {"loss/q", "epsilon"}),
    "sac": ({**_REPLAY, "env_id": "Pendulum-v1"}, {"loss/actor", "loss/critic", "loss/alpha"}),
    "mappo": (_ON_POLICY_TEAM, {"loss/policy", "loss/value", "entropy"}),
    "ippo": (_ON_POLICY_TEAM, {"loss/policy", "loss/value", "entropy"}),
    "coma": (_ON_POLICY_TEAM, {"loss/policy", "loss/value"}),
    "qmix": (_OFF_POLICY_TEAM, {"loss/q", "epsilon"}),
    "vdn": (_OFF_POLICY_TEAM, {"loss/q", "epsilon"}),
    "iql": (_OFF_POLICY_TEAM, {"loss/q", "epsilon"}),
    "maddpg": (_OFF_POLICY_TEAM, {"loss/actor", "loss/critic"}),
}
#: MPE takes actions between 0 and 1 and clips others.
_STEP_OUT_OF_BOUNDS = """
import sys
from pathlib import Path
import numpy as np
from xuance.environment import make_envs
from mosaic_xuance.config import XuanCeConfig
from mosaic_xuance.library import arguments
config = XuanCeConfig("bounds", algo=sys.argv[1], env_id=sys.argv[2], num_envs=1)
envs = make_envs(arguments(config, config.overrides(1, log_dir=Path(), model_dir=Path())))
envs.reset()
actions = [{agent: np.full(5, 2.0, dtype=np.float32) for agent in envs.agents}]
envs.step(actions)
print(min(float(action.min()) for action in actions[0].values()))
"""
#: What the motor of Pendulum-v1, which takes -2 to 2, gets when the policy wants all there is.
_PUSH_AS_HARD_AS_IT_GETS = """
from pathlib import Path
import numpy as np
from xuance.environment import make_envs
from mosaic_xuance.config import XuanCeConfig
from mosaic_xuance.library import arguments
config = XuanCeConfig("push", algo="sac", env_id="Pendulum-v1", num_envs=1)
envs = make_envs(arguments(config, config.overrides(1, log_dir=Path(), model_dir=Path())))
envs.reset()
envs.step(np.ones((1, 1), dtype=np.float32))
bare = envs.envs[0]
while not hasattr(bare, "last_u"):
    bare = bare.env
print(float(bare.last_u))
"""
#: Agents that XuanCe lets draw even when it tests them: how many returns three times the same episode gives, and
#: whose weights have changed by it.
_ACT_TWICE = """
import json
from pathlib import Path
import torch
from xuance.common import MultiAgentBaseCallback
from mosaic_xuance.acting import acting
from mosaic_xuance.config import XuanCeConfig
from mosaic_xuance.library import arguments, make_agent, make_test_envs
answers = {"greedy": {}, "sample": {}, "changed": []}
teams = dict.fromkeys(("masac", "mfac", "mfq"), "simple_spread_v3")
for algo, env_id in {"sac": "Pendulum-v1", "noisydqn": "CartPole-v1", **teams}.items():
    config = XuanCeConfig("acts", algo=algo, env_id=env_id, num_envs=4)
    settings = arguments(config, config.overrides(1, log_dir=Path("logs"), model_dir=Path("models")))
    agent = make_agent(config, settings, MultiAgentBaseCallback())
    before = {name: value.clone() for name, value in agent.policy.state_dict().items()}
    for eval_policy in ("greedy", "sample"):
        returns = set()
        for _ in range(3):
            with acting(agent, eval_policy):
                envs = make_test_envs(settings, 7)
                returns.add(float(agent.test(test_episodes=1, test_envs=envs, close_envs=True)[-1]))
        answers[eval_policy][algo] = len(returns)
    if any(not torch.equal(value, before[name]) for name, value in agent.policy.state_dict().items()):
        answers["changed"].append(algo)
print(json.dumps(answers))
"""
SMALL = {"seed": 1, "keep_checkpoints": 9, "num_envs": 4, "metrics_every": 100, "eval_episodes": 1}


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_the_algorithm_learns_from_what_it_plays(xuance: InstalledWorker, algo: str) -> None:
    config, losses = ALGORITHMS[algo]

    run = xuance.run(f"train-{algo}", {"algo": algo, **SMALL, **config})

    assert 0 == run.exit_code, run.stderr[-2000:]
    assert losses | {"learning_rate", "steps_per_s"} <= {payload["name"] for payload in run.of("metric")}
    assert run.of("run_completed")[0]["updates"] > 0
    assert changed_weights(xuance, run)
    assert list((run.run_dir / "tensorboard").rglob("events.out.*"))


def test_episodes_of_a_team_are_told_for_the_team_and_for_each_agent(xuance: InstalledWorker) -> None:
    config = {"algo": "ippo", **SMALL, **_ON_POLICY_TEAM, "total_steps": 200, "eval_episodes": 5}

    run = xuance.run("team", config)

    told = [one for one in run.of("episode") if one["episode_index"] == 0 and "seed" not in one]
    parts = {one["agent_id"]: one["total_reward"] for one in told if "agent_id" in one}
    assert {"agent_0", "agent_1", "agent_2"} == set(parts)
    assert pytest.approx(sum(parts.values())) == next(one["total_reward"] for one in told if "agent_id" not in one)
    # An agent that has learned nothing gets about -28.
    assert fmean(one["total_reward"] for one in run.of("episode") if "seed" in one) < -50


@pytest.mark.parametrize("algo", ["mappo", "commnet"])
def test_every_episode_of_a_team_is_told_once_with_what_it_paid(
    xuance: InstalledWorker, tmp_path: Path, algo: str
) -> None:
    config = {"algo": algo, **SMALL, "env_id": "simple_spread_v3", "total_steps": 800, "eval_episodes": 2}

    run = xuance.run(f"paid-{algo}", config, PYTHONPATH=disturbed(xuance, "paid_by_mpe", tmp_path))

    paid = [json.loads(line) for line in (run.run_dir / "paid.jsonl").read_text().splitlines()]
    told = run.of("episode")
    whole = [sum(by_agent.values()) for by_agent in paid]
    assert (32, 2) == (len(run.returns), sum(one.get("evaluation", False) for one in told))
    assert whole == [*run.returns, *(one["total_reward"] for one in told if one.get("evaluation"))]
    shares = [(one["agent_id"], one["total_reward"]) for one in told if "agent_id" in one]
    assert [share for by_agent in paid[:32] for share in by_agent.items()] == shares
    assert pytest.approx(sum(run.returns)) == run.of("run_completed")[0]["total_reward"]
    assert 800 == told[-1]["step"]


def test_a_greedy_agent_leaves_nothing_to_chance_and_is_found_as_it_was(xuance: InstalledWorker) -> None:
    answers = xuance.answer(_ACT_TWICE)

    assert {"sac": 1, "masac": 1, "mfac": 1, "mfq": 1, "noisydqn": 1} == answers["greedy"]
    assert all(different > 1 for different in answers["sample"].values()), answers
    assert [] == answers["changed"]


def test_a_team_remembers_its_actions_as_it_drew_them(xuance: InstalledWorker) -> None:
    assert 2.0 == xuance.answer(_STEP_OUT_OF_BOUNDS, "ippo", "simple_spread_v3")


def test_who_cannot_use_the_whole_range_of_actions_is_told(xuance: InstalledWorker) -> None:
    config = {"algo": "ddpg", **SMALL, "total_steps": 8, "eval_episodes": 0}

    told, untold = (xuance.run(f"range-{one}", {**config, "env_id": one}) for one in ("Pendulum-v1", "Hopper-v5"))

    assert any("Pendulum-v1 takes -2 to 2" in one["text"] for one in told.of("log"))
    assert not any("stretch" in one["text"] for one in untold.of("log"))
    assert 1.0 == xuance.answer(_PUSH_AS_HARD_AS_IT_GETS), "XuanCe stretches actions now: unused_range() must go"


@pytest.mark.parametrize("env_id", ["Hopper-v5", "BipedalWalker-v3", "Acrobot-v1", "MiniGrid-Empty-5x5-v0"])
def test_ppo_trains_on_every_family_of_small_environments(xuance: InstalledWorker, env_id: str) -> None:
    config = {"algo": "ppo", "env_id": env_id, "total_steps": 300, "algo_params": {"horizon_size": 32}}

    run = xuance.run(f"family-{env_id}", {**SMALL, **config, "eval_episodes": 0})

    assert 0 == run.exit_code, run.stderr[-2000:]
    assert run.values("loss/policy")


def test_ppo_balances_better_than_it_began(xuance: InstalledWorker) -> None:
    config = {"algo": "ppo", "env_id": "CartPole-v1", "total_steps": 20_000, "seed": 1, "eval_episodes": 0}

    run = xuance.run("rise-ppo", config)

    assert fmean(run.returns[-20:]) > 3 * fmean(run.returns[:20])


def test_sac_balances_two_poles_better_than_it_began(xuance: InstalledWorker) -> None:
    config = {"algo": "sac", "env_id": "InvertedDoublePendulum-v5", "total_steps": 8_000, "seed": 1, "eval_episodes": 0}

    run = xuance.run("rise-sac", {**config, "algo_params": {"start_training": 1_000}})

    assert fmean(run.returns[-20:]) > 3 * fmean(run.returns[:20])


def test_a_team_spreads_better_than_it_began(xuance: InstalledWorker) -> None:
    sooner = {"decay_step_greedy": 10_000, "training_frequency": 4}
    config = {"algo": "vdn", "env_id": "simple_spread_v3", "total_steps": 20_000, "seed": 1, "eval_episodes": 0}

    run = xuance.run("rise-vdn", {**config, "algo_params": sooner})

    assert fmean(run.returns[-200:]) > fmean(run.returns[:200]) + 12
