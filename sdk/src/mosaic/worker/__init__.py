"""The worker contract: what an RL library's shim imports, and all it needs of us.

Only the standard library is used and importing has no effect beyond defining names, so a worker's
environment belongs to its library alone. A name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOMES = {
    "command": ("WorkerCLI", "run_worker"),
    "config": ("extract_worker_config", "load_worker_config_from_file"),
    "discovery": ("WORKER_ENTRY_POINT_GROUP", "DiscoveredWorker", "WorkerDiscovery", "discover_workers"),
    "emitter": ("LifecycleEvent", "LifecycleEventType", "TelemetryEmitter"),
    "manifest": (
        "ArtifactsMetadata",
        "CheckpointMetadata",
        "TensorBoardMetadata",
        "WandBMetadata",
        "WorkerAnalyticsManifest",
    ),
    "metadata": ("WorkerCapabilities", "WorkerMetadata"),
    "protocol": ("Evaluable", "Pausable", "Resumable", "Stoppable", "WorkerConfig", "WorkerRuntime"),
    "schema": ("config_schema",),
    "validation": ("validate_config",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
