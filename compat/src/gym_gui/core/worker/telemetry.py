"""Part of the worker contract, under upstream's module name."""

from __future__ import annotations

from mosaic.worker import LifecycleEvent, LifecycleEventType, TelemetryEmitter

__all__ = ["LifecycleEvent", "LifecycleEventType", "TelemetryEmitter"]
