"""The Stable-Baselines3 worker, and short runs of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.workers.conftest import InstalledWorker, WorkerRun

PPO: dict[str, Any] = {
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "seed": 1,
    "total_steps": 1_024,
    "checkpoint_every": 512,
    "metrics_every": 128,
    "eval_episodes": 0,
    "algo_params": {"n_steps": 128, "n_epochs": 2},
}
_REPLAY = {"learning_starts": 100, "buffer_size": 1_000, "batch_size": 32}
_CONTINUOUS = {"env_id": "Pendulum-v1", "total_steps": 400, "checkpoint_every": 200, "algo_params": _REPLAY}
_DISCRETE = {**_CONTINUOUS, "env_id": "CartPole-v1"}

#: Every algorithm, in a run that learns in seconds.
SHORT: Mapping[str, dict[str, Any]] = {
    "ppo": PPO,
    "a2c": {**PPO, "algo_params": {"n_steps": 16}},
    "recurrent_ppo": {**PPO, "total_steps": 512, "checkpoint_every": 256},
    "maskable_ppo": {**PPO, "env_id": "Taxi-v4"},
    "dqn": {**PPO, **_DISCRETE},
    "qrdqn": {**PPO, **_DISCRETE},
    "sac": {**PPO, **_CONTINUOUS},
    "td3": {**PPO, **_CONTINUOUS, "algo_params": {**_REPLAY, "action_noise": 0.1}},
    "ddpg": {**PPO, **_CONTINUOUS},
    "tqc": {**PPO, **_CONTINUOUS},
}
SHORT = {algo: {**config, "algo": algo} for algo, config in SHORT.items()}


@pytest.fixture(scope="session")
def sb3(installed_worker: Callable[[str], InstalledWorker]) -> InstalledWorker:
    """The worker in its own environment."""
    return installed_worker("sb3")


@pytest.fixture(scope="session")
def trained(sb3: InstalledWorker) -> WorkerRun:
    """A short run of PPO with two checkpoints."""
    return sb3.run("trained", PPO)


def checkpoints_of(run: WorkerRun) -> list[Path]:
    """Return the checkpoints that a run has told of, oldest first."""
    return [run.run_dir / payload["checkpoint_path"] for payload in run.of("checkpoint_saved")]


def told_points(run: WorkerRun, *, after: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """Return all that follows from the seed, in order; of what was said *after* a checkpoint, if that is given."""
    kinds = ("episode", "metric", "checkpoint_saved")
    lines = [(one["event"], one["payload"]) for one in run.events if one["event"] in kinds]
    first = 0 if after is None else lines.index(("checkpoint_saved", after)) + 1
    names = ("name", "step", "value", "total_reward", "evaluation")
    return [
        tuple(payload.get(name) for name in names)
        for event, payload in lines[first:]
        if event != "checkpoint_saved" and payload.get("name") != "steps_per_s"
    ]
