"""The CleanRL worker, and what its checkpoints hold."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.workers.conftest import InstalledWorker, WorkerRun

#: With the script's own settings, to be compared with the bare script.
PPO = {
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "seed": 1,
    "total_steps": 2_048,
    "checkpoint_every": 1_024,
    "preset": "none",
    "eval_episodes": 0,
}
DQN = {
    "algo": "dqn",
    "env_id": "CartPole-v1",
    "seed": 1,
    "total_steps": 1_000,
    "checkpoint_every": 500,
    "eval_episodes": 0,
    "algo_params": {"learning_starts": 200, "buffer_size": 2_000},
}
SAC = {
    "algo": "sac",
    "env_id": "Pendulum-v1",
    "seed": 1,
    "total_steps": 300,
    "checkpoint_every": 150,
    "eval_episodes": 0,
    "algo_params": {"learning_starts": 100, "buffer_size": 1_000},
}
#: A policy that is a Gaussian, over observations that are normalised by what was seen.
GAUSSIAN = {
    "algo": "ppo_continuous_action",
    "env_id": "Pendulum-v1",
    "seed": 1,
    "num_envs": 2,
    "total_steps": 512,
    "eval_episodes": 0,
    "algo_params": {"num_steps": 64, "num_minibatches": 4},
}

_COMPARE = """
import json, sys
from pathlib import Path
import torch
from mosaic.worker.library.checkpoints import undump
first, last = (undump(Path(path) / "policy.pt")["modules"] for path in sys.argv[1:])
same = lambda name: all(torch.equal(first[name][key], last[name][key]) for key in first[name])
print(json.dumps({name: not same(name) for name in first}))
"""


@pytest.fixture(scope="session")
def cleanrl(installed_worker: Callable[[str], InstalledWorker]) -> InstalledWorker:
    """The worker in its own environment."""
    return installed_worker("cleanrl")


@pytest.fixture(scope="session")
def trained(cleanrl: InstalledWorker) -> WorkerRun:
    """A short run of PPO with two checkpoints."""
    return cleanrl.run("trained", PPO)


def checkpoints_of(run: WorkerRun) -> list[Path]:
    """Return the checkpoints that a run has told of, oldest first."""
    return [run.run_dir / payload["checkpoint_path"] for payload in run.of("checkpoint_saved")]


def changed_networks(worker: InstalledWorker, run: WorkerRun) -> dict[str, bool]:
    """Tell of each network whether its weights differ between the first and the last checkpoint."""
    first, *_, last = checkpoints_of(run)
    answer = subprocess.run(
        [worker.python, "-c", _COMPARE, str(first), str(last)],
        env=worker.env(run.run_dir),
        capture_output=True,
        text=True,
        check=True,
    )
    changed: dict[str, bool] = json.loads(answer.stdout)
    return changed


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
