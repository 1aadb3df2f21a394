"""Part of the worker contract, under upstream's module name."""

from __future__ import annotations

from mosaic.worker import WorkerCLI

__all__ = ["WorkerCLI"]
