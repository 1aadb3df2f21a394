"""``analytics.json``: what a run of this worker leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.worker import (
    ArtifactsMetadata,
    CheckpointMetadata,
    TensorBoardMetadata,
    WandBMetadata,
    WorkerAnalyticsManifest,
)
from mosaic.worker.checkpoints import shown
from mosaic_xuance.config import XuanCeConfig


def write_manifest(
    run_dir: Path,
    config: XuanCeConfig,
    summary: Mapping[str, Any],
    *,
    checkpoints: Path,
    tensorboard: Path,
    wandb_path: str | None,
) -> None:
    """Name the files of a run and its summary in *run_dir*."""
    names = sorted(path.name for path in checkpoints.glob("step-*"))
    kept = (
        CheckpointMetadata(shown(checkpoints, run_dir), "xuance", names, final_checkpoint=names[-1]) if names else None
    )
    artifacts = ArtifactsMetadata(
        tensorboard=TensorBoardMetadata(shown(tensorboard, run_dir), enabled=True),
        wandb=_wandb(config, wandb_path) if config.track_wandb else None,
        checkpoints=kept,
        videos_dir="videos" if (run_dir / "videos").is_dir() else None,
    )
    WorkerAnalyticsManifest(
        run_id=config.run_id,
        worker_type="xuance",
        artifacts=artifacts,
        metadata={"seed": summary["seed"], "notes": config.notes, "summary": dict(summary)},
    ).save(run_dir / "analytics.json")


def _wandb(config: XuanCeConfig, run_path: str | None) -> WandBMetadata:
    return WandBMetadata(
        project=config.wandb_project,
        entity=config.wandb_entity,
        run_id=(run_path or "").rpartition("/")[2],
        run_name=config.wandb_run_name or config.run_id,
        url=run_path or "",
        enabled=run_path is not None,
    )
