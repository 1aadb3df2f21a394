"""Part of the worker contract, under upstream's module name."""

from __future__ import annotations

from mosaic.worker import (
    ArtifactsMetadata,
    CheckpointMetadata,
    TensorBoardMetadata,
    WandBMetadata,
    WorkerAnalyticsManifest,
)

__all__ = [
    "ArtifactsMetadata",
    "CheckpointMetadata",
    "TensorBoardMetadata",
    "WandBMetadata",
    "WorkerAnalyticsManifest",
]
