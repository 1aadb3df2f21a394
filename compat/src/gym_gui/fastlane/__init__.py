"""Frames in shared memory, under the name that existing workers import them by."""

from __future__ import annotations

from mosaic.compat.fastlane import (
    FastLaneBase,
    FastLaneConfig,
    FastLaneFrame,
    FastLaneMetrics,
    FastLaneReader,
    FastLaneWriter,
    create_fastlane_name,
)

__all__ = [
    "FastLaneBase",
    "FastLaneConfig",
    "FastLaneFrame",
    "FastLaneMetrics",
    "FastLaneReader",
    "FastLaneWriter",
    "create_fastlane_name",
]
