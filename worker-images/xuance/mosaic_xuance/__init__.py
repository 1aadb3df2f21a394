"""XuanCe as a MOSAIC worker: its single-agent and multi-agent algorithms, unmodified, in this process."""

from __future__ import annotations

from typing import Any

from mosaic.worker import WorkerCapabilities, WorkerMetadata

__version__ = "1.0.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Say who this worker is and what it can do."""
    metadata = WorkerMetadata(
        name="XuanCe worker",
        version=__version__,
        description="Deep reinforcement learning with XuanCe: PPO, DQN, SAC, MAPPO, QMIX, VDN, MADDPG, COMA and others",
        author="MOSAIC Fleet",
        homepage="https://github.com/agi-brain/xuance",
        upstream_library="xuance",
        upstream_version="1.4.4",
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="xuance",
        supported_paradigms=(
            *("single_agent", "multi_agent", "parameter_sharing", "independent", "centralized_critic"),
            *("value_decomposition", "training", "evaluation"),
        ),
        env_families=("classic_control", "box2d", "mujoco", "atari", "minigrid", "mpe"),
        action_spaces=("discrete", "continuous"),
        observation_spaces=("vector", "image"),
        max_agents=16,
        supports_checkpointing=True,
        supports_pause_resume=True,
        estimated_memory_mb=700,
        resume_grade="A",
    )
    return metadata, capabilities


def get_config_schema() -> dict[str, Any]:
    """Return the schema of the config, with the algorithms and parameters of the installed XuanCe."""
    from mosaic_xuance.config import published_schema

    return published_schema()


def get_check_config() -> dict[str, Any]:
    """Return a config whose run ends in a moment and saves a checkpoint midway."""
    return {
        "algo": "ppo",
        "env_id": "CartPole-v1",
        "seed": 1,
        "total_steps": 2_000,
        "num_envs": 4,
        "algo_params": {"horizon_size": 64, "n_epochs": 2},
        "checkpoint_every": 900,
        "metrics_every": 200,
        "eval_episodes": 2,
    }


__all__ = ["get_check_config", "get_config_schema", "get_worker_metadata"]
