"""A MOSAIC worker around Stable-Baselines3 and its contrib package."""

from __future__ import annotations

from typing import Any

from mosaic.worker import WorkerCapabilities, WorkerMetadata
from mosaic.worker.shim import described

__version__ = "1.0.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Say who this worker is and what it can do."""
    return described(
        "sb3",
        name="Stable-Baselines3 worker",
        version=__version__,
        description="PPO, A2C, DQN, SAC, TD3, DDPG, and contrib's RecurrentPPO, MaskablePPO, QR-DQN and TQC",
        homepage="https://github.com/DLR-RM/stable-baselines3",
        library="stable-baselines3",
        resume_grade="A",
    )


def get_config_schema() -> dict[str, Any]:
    """Return the settings of a run, with the arguments of every algorithm."""
    from mosaic_sb3.schema import published_schema

    return published_schema()


def get_check_config() -> dict[str, Any]:
    """Return a config whose run ends in seconds and saves a checkpoint midway."""
    run = {"algo": "ppo", "env_id": "CartPole-v1", "seed": 1, "total_steps": 1_536, "checkpoint_every": 512}
    return {**run, "algo_params": {"n_steps": 256}, "eval_every": 512, "eval_episodes": 2}


__all__ = ["get_check_config", "get_config_schema", "get_worker_metadata"]
