"""The worker contract: what an RL library's shim imports, and all it needs of us.

Only the standard library is used and importing has no effect beyond defining names, so a worker's
environment belongs to its library alone.
"""

from __future__ import annotations

from mosaic.worker.command import WorkerCLI, run_worker
from mosaic.worker.config import extract_worker_config, load_worker_config_from_file
from mosaic.worker.discovery import (
    WORKER_ENTRY_POINT_GROUP,
    DiscoveredWorker,
    WorkerDiscovery,
    discover_workers,
)
from mosaic.worker.emitter import LifecycleEvent, LifecycleEventType, TelemetryEmitter
from mosaic.worker.manifest import (
    ArtifactsMetadata,
    CheckpointMetadata,
    TensorBoardMetadata,
    WandBMetadata,
    WorkerAnalyticsManifest,
)
from mosaic.worker.metadata import WorkerCapabilities, WorkerMetadata
from mosaic.worker.protocol import Evaluable, Pausable, Resumable, Stoppable, WorkerConfig, WorkerRuntime
from mosaic.worker.schema import config_schema
from mosaic.worker.validation import validate_config

__version__ = "1.0.0"

__all__ = [
    "WORKER_ENTRY_POINT_GROUP",
    "ArtifactsMetadata",
    "CheckpointMetadata",
    "DiscoveredWorker",
    "Evaluable",
    "LifecycleEvent",
    "LifecycleEventType",
    "Pausable",
    "Resumable",
    "Stoppable",
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
    "config_schema",
    "discover_workers",
    "extract_worker_config",
    "load_worker_config_from_file",
    "run_worker",
    "validate_config",
]
