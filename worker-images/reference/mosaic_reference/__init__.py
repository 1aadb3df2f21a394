"""A MOSAIC worker without heavy dependencies: tabular and linear methods on small environments."""

from __future__ import annotations

from typing import Any

from mosaic.worker import WorkerCapabilities, WorkerMetadata

__version__ = "1.0.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Say who this worker is and what it can do."""
    metadata = WorkerMetadata(
        name="Reference worker",
        version=__version__,
        description="Q-learning, SARSA and expected SARSA on FrozenLake, CliffWalking, Taxi, CartPole and MountainCar",
        author="MOSAIC Fleet",
        homepage="https://github.com/Abdulhamid97Mousa/MOSAIC",
        upstream_library="gymnasium",
        upstream_version=None,
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="reference",
        supported_paradigms=("single_agent", "training", "evaluation"),
        env_families=("gymnasium", "toy_text", "classic_control"),
        action_spaces=("discrete",),
        observation_spaces=("vector", "structured"),
        supports_checkpointing=True,
        supports_pause_resume=True,
        estimated_memory_mb=128,
        resume_grade="A",
    )
    return metadata, capabilities


def get_check_config() -> dict[str, Any]:
    """Return a config whose run ends in a moment and saves a checkpoint midway."""
    return {"env_id": "CartPole-v1", "seed": 1, "total_steps": 1_500, "checkpoint_every": 500, "metrics_every": 100}


__all__ = ["get_check_config", "get_worker_metadata"]
