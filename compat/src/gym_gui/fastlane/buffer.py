"""Frames in shared memory, by upstream's module name."""

from __future__ import annotations

from mosaic.compat.fastlane import (
    FLAG_INVALIDATED,
    MAGIC,
    VERSION,
    FastLaneBase,
    FastLaneConfig,
    FastLaneFrame,
    FastLaneMetrics,
    FastLaneReader,
    FastLaneWriter,
    create_fastlane_name,
)

__all__ = [
    "FLAG_INVALIDATED",
    "MAGIC",
    "VERSION",
    "FastLaneBase",
    "FastLaneConfig",
    "FastLaneFrame",
    "FastLaneMetrics",
    "FastLaneReader",
    "FastLaneWriter",
    "create_fastlane_name",
]
