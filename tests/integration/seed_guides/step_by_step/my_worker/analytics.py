"""Analytics manifest generation for My Worker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Optional

try:
    from gym_gui.core.worker import (
        WorkerAnalyticsManifest,
        ArtifactsMetadata,
        CheckpointMetadata,
    )
    _HAS_GYM_GUI = True
except ImportError:
    _HAS_GYM_GUI = False
    WorkerAnalyticsManifest = None
    ArtifactsMetadata = None
    CheckpointMetadata = None

if TYPE_CHECKING:
    from my_worker.config import MyWorkerConfig


def write_analytics_manifest(
    config: "MyWorkerConfig",
    *,
    notes: Optional[str] = None,
    tensorboard_dir: Optional[str] = None,
    checkpoints_dir: Optional[str] = None,
) -> Path:
    """Build and write analytics manifest for a training run.

    Args:
        config: Worker configuration
        notes: Optional notes about the run
        tensorboard_dir: Optional TensorBoard directory (relative to run dir)
        checkpoints_dir: Optional checkpoints directory (relative to run dir)

    Returns:
        Path to the written manifest file
    """
    if not _HAS_GYM_GUI:
        raise ImportError(
            "gym_gui.core.worker not available. "
            "Cannot generate standardized analytics manifest."
        )

    # Build checkpoint metadata
    checkpoints = CheckpointMetadata(
        directory=checkpoints_dir or "checkpoints",
        format="pytorch",  # or "tensorflow", "jax", etc.
    )

    # Build artifacts metadata
    artifacts = ArtifactsMetadata(
        tensorboard=tensorboard_dir,
        wandb=None,
        checkpoints=checkpoints,
        logs_dir="logs",
        videos_dir=None,
    )

    # Build worker-specific metadata
    metadata = {
        "worker_type": "myworker",
        "env_id": config.env_id,
        "algorithm": config.algorithm,
        "total_steps": config.total_steps,
        "learning_rate": config.learning_rate,
        "seed": config.seed,
    }

    if notes:
        metadata["notes"] = notes

    # Determine manifest path
    manifest_path = Path.cwd() / f"{config.run_id}_analytics.json"

    # Create manifest
    manifest = WorkerAnalyticsManifest(
        run_id=config.run_id,
        worker_type="myworker",
        artifacts=artifacts,
        metadata=metadata,
    )

    # Save manifest
    manifest.save(manifest_path)
    return manifest_path


__all__ = ["write_analytics_manifest"]
