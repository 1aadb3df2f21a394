"""Analytics manifest generation."""

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

if TYPE_CHECKING:
    from barlog_worker.config import BarlogWorkerConfig


def write_analytics_manifest(
    config: "BarlogWorkerConfig",
    *,
    notes: Optional[str] = None,
) -> Path:
    if not _HAS_GYM_GUI:
        raise ImportError("gym_gui.core.worker not available")

    checkpoints = CheckpointMetadata(directory="checkpoints", format="pytorch")
    artifacts = ArtifactsMetadata(checkpoints=checkpoints, logs_dir="logs")

    metadata = {
        "worker_type": "barlog",
        "env_id": config.env_id,
        "algorithm": config.algorithm,
    }
    if notes:
        metadata["notes"] = notes

    manifest_path = Path.cwd() / f"{config.run_id}_analytics.json"

    manifest = WorkerAnalyticsManifest(
        run_id=config.run_id,
        worker_type="barlog",
        artifacts=artifacts,
        metadata=metadata,
    )

    manifest.save(manifest_path)
    return manifest_path
