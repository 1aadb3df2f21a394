"""``analytics.json``: what a run of this worker leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.worker import ArtifactsMetadata, CheckpointMetadata, WorkerAnalyticsManifest


def write_manifest(run_dir: Path, run_id: str, checkpoint_dir: Path, summary: Mapping[str, Any]) -> None:
    """Name the checkpoints and the summary in *run_dir*."""
    files = sorted(path.name for path in checkpoint_dir.glob("step-*.npz"))
    directory = checkpoint_dir.name if checkpoint_dir.parent == run_dir else str(checkpoint_dir)
    newest = files[-1] if files else None
    checkpoints = CheckpointMetadata(directory, "numpy", files, final_checkpoint=newest) if files else None
    WorkerAnalyticsManifest(
        run_id=run_id,
        worker_type="reference",
        artifacts=ArtifactsMetadata(checkpoints=checkpoints),
        metadata={"seed": summary["seed"], "summary": dict(summary)},
    ).save(run_dir / "analytics.json")
