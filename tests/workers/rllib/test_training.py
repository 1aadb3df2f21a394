"""Every algorithm really learns: weights change, losses are told, and returns rise."""

from __future__ import annotations

import math
from statistics import fmean
from typing import Any

import pytest

from tests.workers.conftest import InstalledWorker, WorkerRun
from tests.workers.rllib.conftest import changed_networks

pytestmark = pytest.mark.slow

#: Learns sooner than RLlib's own settings, which are for more patient people.
EAGER = {"lr": 0.0005, "train_batch_size_per_learner": 1000, "minibatch_size": 125, "num_epochs": 8}
#: Iterations as short as can be, else the first checkpoint would be the last.
ASYNCHRONOUS = {
    "total_steps": 3_000,
    "checkpoint_every": 500,
    "keep_checkpoints": 100,
    "algo_params": {"min_time_s_per_iteration": 0},
}
TEAM = {"agent_0", "agent_1", "agent_2"}


@pytest.fixture(scope="module")
def ppo(rllib: InstalledWorker) -> WorkerRun:
    """PPO with one agent."""
    config = {"seed": 1, "total_steps": 12_000, "checkpoint_every": 4_000, "eval_episodes": 0, "algo_params": EAGER}
    return rllib.run("ppo", config)


@pytest.fixture(scope="module")
def team(rllib: InstalledWorker) -> WorkerRun:
    """PPO with agents that share a policy."""
    config = {
        "env_id": "mpe/simple_spread_v3",
        "env_kwargs": {"N": 2, "local_ratio": 0.0},
        "policies": "shared",
        "total_steps": 15_000,
        "checkpoint_every": 5_000,
        "algo_params": {**EAGER, "lr": 0.001, "minibatch_size": 250, "num_epochs": 10, "gamma": 0.9},
    }
    return rllib.run("team", {"seed": 1, "eval_episodes": 0, **config})


def test_ppo_makes_gradient_updates(rllib: InstalledWorker, ppo: WorkerRun) -> None:
    losses = {"loss/policy", "loss/value", "entropy", "approx_kl", "explained_variance", "learning_rate"}

    assert_learned(rllib, ppo, losses, policies={"default_policy"})


def test_the_return_of_one_agent_rises(ppo: WorkerRun) -> None:
    assert fmean(ppo.returns[-20:]) > 3 * fmean(ppo.returns[:20])


@pytest.mark.parametrize(
    ("config", "losses"),
    [
        (
            {
                "algo": "dqn",
                "total_steps": 200,
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
                "total_steps": 300,
                "checkpoint_every": 220,
                "algo_params": {
                    "num_steps_sampled_before_learning_starts": 200,
                    "min_sample_timesteps_per_iteration": 20,
                    "train_batch_size_per_learner": 32,
                    "min_time_s_per_iteration": 0,
                },
            },
            {"loss/actor", "loss/critic", "loss/alpha", "learning_rate"},
        ),
        ({"algo": "impala", **ASYNCHRONOUS}, {"loss/policy", "loss/value", "entropy"}),
        ({"algo": "appo", **ASYNCHRONOUS}, {"loss/policy", "loss/value", "entropy"}),
    ],
    ids=lambda value: value["algo"] if isinstance(value, dict) else "",
)
def test_an_algorithm_makes_gradient_updates(rllib: InstalledWorker, config: dict[str, Any], losses: set[str]) -> None:
    run = rllib.run(str(config["algo"]), {"seed": 1, "eval_episodes": 0, **config})

    assert_learned(rllib, run, losses, policies={"default_policy"})


def test_agents_that_share_a_policy_train_it(rllib: InstalledWorker, team: WorkerRun) -> None:
    assert_learned(rllib, team, {"loss/policy", "loss/value"}, policies={"shared"})


def test_episodes_of_several_agents_are_told_for_all_and_for_each(team: WorkerRun) -> None:
    told = [one for one in team.of("episode") if one["episode_index"] == 0]

    parts = {one["agent_id"]: one["total_reward"] for one in told if "agent_id" in one}
    assert {"agent_0", "agent_1"} == set(parts)
    assert pytest.approx(sum(parts.values())) == next(one["total_reward"] for one in told if "agent_id" not in one)


def test_the_return_of_several_agents_rises(team: WorkerRun) -> None:
    fifth = len(team.returns) // 5

    # About -86 at first and -72 at the end; a fifth has a standard error of two or three.
    assert fmean(team.returns[-fifth:]) > fmean(team.returns[:fifth]) + 7


def test_agents_with_policies_of_their_own_train_each_played_by_several_processes(rllib: InstalledWorker) -> None:
    config = {
        "env_id": "mpe/simple_spread_v3",
        "policies": "independent",
        "num_env_runners": 2,
        "total_steps": 400,
        "checkpoint_every": 200,
        "algo_params": {"train_batch_size_per_learner": 200, "minibatch_size": 100, "num_epochs": 2},
    }

    run = rllib.run("independent", {"seed": 1, "eval_episodes": 0, **config})

    assert_learned(rllib, run, {"loss/policy", "loss/value"}, policies=TEAM)
    assert TEAM == {payload["agent"] for payload in run.of("metric") if payload["name"] == "loss/policy"}


@pytest.mark.parametrize(
    ("env_id", "env_kwargs", "policies"),
    [
        ("FrozenLake-v1", {}, {"default_policy"}),
        ("butterfly/pistonball_v6", {"n_pistons": 3, "max_cycles": 20}, {"shared"}),
        ("simple_tag_v3", {}, {"adversary_0", "adversary_1", "adversary_2", "agent_0"}),
    ],
    ids=["a-number", "a-large-picture", "agents-that-differ"],
)
def test_ppo_learns_from_whatever_is_seen(
    rllib: InstalledWorker, env_id: str, env_kwargs: dict[str, Any], policies: set[str]
) -> None:
    config = {
        "env_id": env_id,
        "env_kwargs": env_kwargs,
        "total_steps": 160,
        "checkpoint_every": 80,
        "eval_episodes": 1,
        "capture_video": env_id != "FrozenLake-v1",
        "algo_params": {"train_batch_size_per_learner": 80, "minibatch_size": 40, "num_epochs": 1},
    }

    run = rllib.run(f"sees-{env_id.replace('/', '-')}", {"seed": 1, "num_env_runners": 0, **config})

    assert_learned(rllib, run, {"loss/policy", "loss/value"}, policies=policies)
    assert config["capture_video"] == any((run.run_dir / "videos").glob("*.mp4"))


def assert_learned(worker: InstalledWorker, run: WorkerRun, losses: set[str], *, policies: set[str]) -> None:
    """Hold that *run* ended well, changed the weights of all *policies* and told finite *losses*."""
    assert 0 == run.exit_code, run.stderr[-2000:]
    assert dict.fromkeys(policies, True) == changed_networks(worker, run)
    assert losses <= {payload["name"] for payload in run.of("metric")}
    assert all(math.isfinite(value) for name in losses for value in run.values(name))
    assert run.returns
