"""A MOSAIC worker that runs CleanRL's scripts as they are published."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from mosaic.worker import WorkerCapabilities, WorkerMetadata

__version__ = "1.0.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Say who this worker is and what it can do."""
    metadata = WorkerMetadata(
        name="CleanRL worker",
        version=__version__,
        description="CleanRL's PPO, DQN, C51, SAC, TD3, DDPG and every other script of the installed release",
        author="MOSAIC Fleet",
        homepage="https://github.com/vwxyzjn/cleanrl",
        upstream_library="cleanrl",
        upstream_version=_installed_version("cleanrl"),
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="cleanrl",
        supported_paradigms=("single_agent", "sequential", "training", "evaluation"),
        env_families=("gymnasium", "classic_control", "toy_text", "box2d", "mujoco", "atari", "minigrid", "babyai"),
        action_spaces=("discrete", "continuous"),
        observation_spaces=("vector", "image"),
        supports_checkpointing=True,
        supports_pause_resume=True,
        estimated_memory_mb=1024,
        resume_grade="A",
    )
    return metadata, capabilities


def get_config_schema() -> dict[str, Any]:
    """Return the settings of a run, with the arguments of every installed script."""
    from mosaic_cleanrl.schema import published_schema

    return published_schema()


def get_check_config() -> dict[str, Any]:
    """Return a config whose run ends in seconds and saves a checkpoint midway."""
    return {"algo": "ppo", "env_id": "CartPole-v1", "seed": 1, "total_steps": 3_072, "checkpoint_every": 1_024}


def _installed_version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


__all__ = ["get_check_config", "get_config_schema", "get_worker_metadata"]
