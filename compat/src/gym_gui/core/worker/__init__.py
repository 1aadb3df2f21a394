"""The worker contract under the name that existing workers import it by."""

from __future__ import annotations

from mosaic.worker import (
    WORKER_ENTRY_POINT_GROUP,
    ArtifactsMetadata,
    CheckpointMetadata,
    DiscoveredWorker,
    LifecycleEvent,
    LifecycleEventType,
    TelemetryEmitter,
    TensorBoardMetadata,
    WandBMetadata,
    WorkerAnalyticsManifest,
    WorkerCapabilities,
    WorkerCLI,
    WorkerConfig,
    WorkerDiscovery,
    WorkerMetadata,
    WorkerRuntime,
    discover_workers,
    extract_worker_config,
    load_worker_config_from_file,
)

__version__ = "1.0.0"

__all__ = [
    "WORKER_ENTRY_POINT_GROUP",
    "ArtifactsMetadata",
    "CheckpointMetadata",
    "DiscoveredWorker",
    "LifecycleEvent",
    "LifecycleEventType",
    "TelemetryEmitter",
    "TensorBoardMetadata",
    "WandBMetadata",
    "WorkerAnalyticsManifest",
    "WorkerCLI",
    "WorkerCapabilities",
    "WorkerConfig",
    "WorkerDiscovery",
    "WorkerMetadata",
    "WorkerRuntime",
    "discover_workers",
    "extract_worker_config",
    "load_worker_config_from_file",
]
