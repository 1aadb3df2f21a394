"""Ray RLlib as a MOSAIC worker, on its new API stack and a Ray instance of its own."""

from __future__ import annotations

from typing import Any

from mosaic.worker import WorkerCapabilities, WorkerMetadata
from mosaic_rllib.catalog import SINGLE_AGENT_FAMILIES

__version__ = "1.0.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Say who this worker is and what it can do."""
    metadata = WorkerMetadata(
        name="Ray RLlib worker",
        version=__version__,
        description="PPO, DQN, SAC, IMPALA and APPO of Ray RLlib; PPO also for many agents, sharing a policy or not",
        author="MOSAIC Fleet",
        homepage="https://docs.ray.io/en/latest/rllib/",
        upstream_library="ray",
        upstream_version=None,
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="rllib",
        supported_paradigms=("single_agent", "multi_agent", "training", "evaluation"),
        env_families=(*SINGLE_AGENT_FAMILIES, "pettingzoo"),
        action_spaces=("discrete", "continuous", "multi_discrete"),
        observation_spaces=("vector", "image", "structured"),
        max_agents=100,
        supports_checkpointing=True,
        supports_pause_resume=True,
        cpu_cores=1,
        estimated_memory_mb=1536,
        resume_grade="A",
    )
    return metadata, capabilities


def get_config_schema() -> dict[str, Any]:
    """Return the schema of a run's settings, with the real arguments of the installed RLlib."""
    from mosaic_rllib.schema import published_schema

    return published_schema()


def get_check_config() -> dict[str, Any]:
    """Return a config whose run ends soon and saves checkpoints midway."""
    return {
        "env_id": "CartPole-v1",
        "algo": "ppo",
        "seed": 1,
        "total_steps": 2_400,
        "num_env_runners": 0,
        "checkpoint_every": 800,
        "eval_episodes": 2,
        "algo_params": {"train_batch_size_per_learner": 400, "minibatch_size": 100, "num_epochs": 2},
    }


__all__ = ["get_check_config", "get_config_schema", "get_worker_metadata"]
