"""Part of the worker contract, under upstream's module name."""

from __future__ import annotations

from mosaic.worker import WORKER_ENTRY_POINT_GROUP, DiscoveredWorker, WorkerDiscovery, discover_workers

__all__ = ["WORKER_ENTRY_POINT_GROUP", "DiscoveredWorker", "WorkerDiscovery", "discover_workers"]
