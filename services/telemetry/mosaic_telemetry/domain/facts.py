"""The rare events that say how a run went, and the episodes: what a manifest is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from mosaic_telemetry.domain.timeline import StreamId

#: Kinds of events kept as facts. All others are lines, points or episodes only.
FACT_KINDS = frozenset(
    {
        "run_started",
        "run_completed",
        "run_failed",
        "run_cancelled",
        "checkpoint_saved",
        "checkpoint_loaded",
        "artifact",
        "attempt_started",
        "attempt_ended",
        "telemetry_starved",
        "telemetry_resumed",
        "protocol_violated",
    }
)


@dataclass(frozen=True, slots=True)
class Fact:
    """One such event."""

    stream: StreamId
    seq: int
    time: float
    kind: str
    payload: Mapping[str, Any]


class Episode(NamedTuple):
    """How one episode went; what a worker did not say is None."""

    stream: StreamId
    seq: int
    time: float
    number: int | None
    agent: str
    episode_return: float
    length: int | None
    step: float | None


@dataclass(frozen=True, slots=True)
class EpisodeSummary:
    """The returns of a run, without reading them all again."""

    count: int = 0
    last_return: float | None = None
    #: Over the newest hundred.
    recent_mean: float | None = None
    best_return: float | None = None
    best_step: float | None = None
