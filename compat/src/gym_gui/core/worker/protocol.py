"""Part of the worker contract, under upstream's module name."""

from __future__ import annotations

from mosaic.worker import WorkerCapabilities, WorkerConfig, WorkerMetadata, WorkerRuntime

__all__ = ["WorkerCapabilities", "WorkerConfig", "WorkerMetadata", "WorkerRuntime"]
