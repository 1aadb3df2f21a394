"""Every algorithm really learns: weights change, losses are told, and returns rise."""

from __future__ import annotations

import math
from statistics import fmean
from typing import Any

import pytest

from tests.workers.conftest import InstalledWorker
from tests.workers.rllib.conftest import changed_networks

pytestmark = pytest.mark.slow

SMALL_BATCHES = {"train_batch_size_per_learner": 200, "minibatch_size": 100, "num_epochs": 2}
#: Iterations as short as can be, else the first checkpoint would be the last.
ASYNCHRONOUS = {
    "total_steps": 3_000,
    "checkpoint_every": 500,
    "keep_checkpoints": 100,
    "algo_params": {"min_time_s_per_iteration": 0},
}
TOGETHER = {"algo": "ppo", "env_id": "mpe/simple_spread_v3", "total_steps": 400, "checkpoint_every": 200}


@pytest.mark.parametrize(
    ("config", "losses"),
    [
        (
            {"algo": "ppo", "total_steps": 400, "checkpoint_every": 200, "algo_params": SMALL_BATCHES},
            {"loss/policy", "loss/value", "entropy", "approx_kl", "explained_variance", "learning_rate"},
        ),
        (
            {
                "algo": "dqn",
                "total_steps": 300,
                "checkpoint_every": 100,
                "algo_params": {
                    "num_steps_sampled_before_learning_starts": 100,
                    "min_sample_timesteps_per_iteration": 100,
                },
            },
            {"loss/q", "learning_rate"},
        ),
        (
            {
                "algo": "sac",
                "env_id": "Pendulum-v1",
                # Its episodes take 200 steps, and a checkpoint begins new ones.
                "total_steps": 500,
                "checkpoint_every": 250,
                "algo_params": {
                    "num_steps_sampled_before_learning_starts": 100,
                    "train_batch_size_per_learner": 32,
                    "min_time_s_per_iteration": 0,
                },
            },
            {"loss/actor", "loss/critic", "loss/entropy"},
        ),
        ({"algo": "impala", **ASYNCHRONOUS}, {"loss/policy", "loss/value", "entropy"}),
        ({"algo": "appo", **ASYNCHRONOUS}, {"loss/policy", "loss/value", "entropy"}),
    ],
    ids=lambda value: value["algo"] if isinstance(value, dict) else "",
)
def test_an_algorithm_makes_gradient_updates(rllib: InstalledWorker, config: dict[str, Any], losses: set[str]) -> None:
    run = rllib.run(f"trains-{config['algo']}", {"seed": 1, "eval_episodes": 0, **config})

    assert 0 == run.exit_code, run.stderr[-2000:]
    assert {"default_policy": True} == changed_networks(rllib, run)
    assert losses <= {payload["name"] for payload in run.of("metric")}
    assert all(math.isfinite(value) for name in losses for value in run.values(name))
    assert run.returns


@pytest.mark.parametrize(
    ("policies", "env_runners", "names"),
    [("shared", 2, {"shared"}), ("independent", 0, {"agent_0", "agent_1", "agent_2"})],
)
def test_several_agents_learn(rllib: InstalledWorker, policies: str, env_runners: int, names: set[str]) -> None:
    config = {**TOGETHER, "policies": policies, "num_env_runners": env_runners, "algo_params": SMALL_BATCHES}

    run = rllib.run(f"together-{policies}", {"seed": 1, "eval_episodes": 1, **config})

    assert 0 == run.exit_code, run.stderr[-2000:]
    assert dict.fromkeys(names, True) == changed_networks(rllib, run)
    assert names == {payload["agent"] for payload in run.of("metric") if payload["name"] == "loss/policy"}
    played = [one for one in run.of("episode") if "agent_id" not in one]
    assert all({"agent_0", "agent_1", "agent_2"} == set(one["agent_returns"]) for one in played)


def test_the_return_of_one_agent_rises(rllib: InstalledWorker) -> None:
    faster = {"lr": 0.0005, "train_batch_size_per_learner": 1000, "minibatch_size": 125, "num_epochs": 8}

    run = rllib.run("rises", {"seed": 1, "total_steps": 12_000, "eval_episodes": 0, "algo_params": faster})

    assert fmean(run.returns[-20:]) > 3 * fmean(run.returns[:20])


def test_the_return_of_several_agents_rises(rllib: InstalledWorker) -> None:
    faster = {"lr": 0.001, "train_batch_size_per_learner": 1000, "minibatch_size": 500, "num_epochs": 10, "gamma": 0.9}
    config = {"env_id": "mpe/simple_spread_v3", "env_kwargs": {"N": 2, "local_ratio": 1.0}, "total_steps": 15_000}

    run = rllib.run("rises-together", {"seed": 1, **config, "eval_episodes": 0, "algo_params": faster})

    tenth = len(run.returns) // 10
    assert fmean(run.returns[-tenth:]) > fmean(run.returns[:tenth]) + 5
