"""A MOSAIC worker that runs CleanRL's scripts as they are published."""

from __future__ import annotations

from typing import Any

from mosaic.worker import WorkerCapabilities, WorkerMetadata
from mosaic.worker.shim import described

__version__ = "1.0.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Say who this worker is and what it can do."""
    return described(
        "cleanrl",
        name="CleanRL worker",
        version=__version__,
        description="CleanRL's PPO, DQN, C51, SAC, TD3, DDPG and every other script of the installed release",
        homepage="https://github.com/vwxyzjn/cleanrl",
        library="cleanrl",
        resume_grade="A",
    )


def get_config_schema() -> dict[str, Any]:
    """Return the settings of a run, with the arguments of every installed script."""
    from mosaic_cleanrl.schema import published_schema

    return published_schema()


def get_check_config() -> dict[str, Any]:
    """Return a config whose run ends in seconds and saves a checkpoint midway."""
    run = {"algo": "ppo", "env_id": "CartPole-v1", "seed": 1, "total_steps": 3_072, "checkpoint_every": 1_024}
    return {**run, "eval_every": 1_024, "eval_episodes": 2}


__all__ = ["get_check_config", "get_config_schema", "get_worker_metadata"]
