"""What the service needs from the world."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from mosaic.events.episodes import EPISODE_KINDS
from mosaic.model.attempt import RunFinished
from mosaic.model.run import RunAccepted
from mosaic_telemetry.domain.counting import EVERYTHING, Counted
from mosaic_telemetry.domain.downsample import Bucket
from mosaic_telemetry.domain.facts import Episode, Fact
from mosaic_telemetry.domain.series import Rollup, Series, SeriesKey
from mosaic_telemetry.domain.tally import Tally
from mosaic_telemetry.domain.thinning import Floats
from mosaic_telemetry.domain.timeline import StreamId, Timeline


class Clock(Protocol):
    """The time, aware and in UTC."""

    def __call__(self) -> datetime:
        """Return the present moment."""


class Position(NamedTuple):
    """A place among the events of a run; they are ordered by it."""

    attempt: int
    seq: int


BEFORE_ALL = Position(0, -1)


@dataclass(frozen=True, slots=True)
class StoredFrame:
    """A frame in the store; its bytes are as the agent packed them, unless a part was known already."""

    stream: StreamId
    first_seq: int
    last_seq: int
    #: Lines per kind.
    kinds: Mapping[str, int]
    first_time: float
    last_time: float
    body: bytes


class PointBlock(NamedTuple):
    """The points of a series that came together."""

    series: Series
    first_seq: int
    steps: list[float]
    values: list[float]
    #: When the first and the last of them were printed.
    first_time: float
    last_time: float


class Points(NamedTuple):
    """Points of a series in the order they were printed."""

    steps: Floats
    values: Floats
    #: Unix seconds; of points that came together only the first and the last are known, the others lie evenly between.
    times: Floats


@dataclass(frozen=True, slots=True)
class StepRange:
    """The part of a curve that is wanted; None = no limit. Both ends belong to it."""

    first: float | None = None
    last: float | None = None
    #: If set, only steps below this: a later attempt has repeated the rest.
    before: float | None = None

    def includes(self, step: float) -> bool:
        """Tell whether *step* is wanted."""
        return (
            (self.first is None or step >= self.first)
            and (self.last is None or step <= self.last)
            and (self.before is None or step < self.before)
        )


@dataclass(frozen=True, slots=True)
class EpisodeFilter:
    """Which episodes of a run are wanted."""

    kinds: frozenset[str] = frozenset(EPISODE_KINDS)
    #: How much of each attempt is wanted.
    counted: Counted = EVERYTHING
    #: 0 = of every attempt.
    attempt: int = 0
    #: None = of any agent, or of none.
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """How a run ended, and what became of its manifest."""

    finished: RunFinished
    #: Until then late events are waited for.
    due_at: datetime
    #: Counts every reason to write the manifest again.
    revision: int
    #: The revision that the manifest has; -1 before the first.
    written_revision: int = -1
    manifest_json: str = ""
    digest: str = ""
    path: str = ""


class EventWriter(Protocol):
    """One transaction over some streams, which nobody else can write meanwhile."""

    #: How many manifests became stale with it; known when the transaction has ended.
    stale_manifests: int

    def timeline(self, stream: StreamId) -> Timeline:
        """Return what is known of *stream*; an empty timeline at first."""

    def series(self, stream: StreamId) -> Mapping[SeriesKey, Series]:
        """Return the series of *stream*."""

    def put_timeline(self, timeline: Timeline) -> None:
        """Replace the timeline of its stream."""

    def put_series(self, series: Series) -> None:
        """Replace the summary of a series."""

    def put_rollups(self, series: Series, rollups: Sequence[Rollup]) -> None:
        """Add or replace buckets of a series."""

    def add_frame(self, frame: StoredFrame) -> None:
        """Add a frame whose numbers are all new."""

    def add_points(self, block: PointBlock) -> None:
        """Add points of a series."""

    def add_episodes(self, episodes: Sequence[Episode]) -> None:
        """Add episodes."""

    def add_facts(self, facts: Sequence[Fact]) -> None:
        """Add facts."""


class EventStore(Protocol):
    """Every event once. Reading sees whole transactions only."""

    def writing(self, streams: Collection[StreamId]) -> AbstractContextManager[EventWriter]:
        """Open a transaction over *streams*; it is durable when the block ends.

        The manifests of ended runs among them become stale with it.

        Raises:
            DatabaseUnavailable: nothing was kept.
        """

    def timelines(self, run_id: str) -> list[Timeline]:
        """Return the streams of a run, by attempt."""

    def frames(
        self, run_id: str, start: Position, *, attempt: int = 0, kinds: Collection[str] = ()
    ) -> Iterator[StoredFrame]:
        """Yield the frames that end at or after *start*, in order, of one attempt or of all (0).

        With *kinds*, frames that hold none of them are left out.
        """

    def frames_backwards(self, run_id: str, *, attempt: int = 0, kinds: Collection[str] = ()) -> Iterator[StoredFrame]:
        """Yield the frames of a run from its end to its start."""

    def series(self, run_id: str, *, attempt: int = 0) -> list[Series]:
        """Return the series of a run, by name and attempt."""

    def points(self, series: Series, wanted: StepRange) -> Points:
        """Return the points within *wanted*."""

    def buckets(self, series: Series, level: int, wanted: StepRange) -> list[Bucket]:
        """Return the buckets of *level* that touch *wanted*, in order."""

    def episodes(
        self, run_id: str, wanted: EpisodeFilter, *, after: Position = BEFORE_ALL, last: int = 0
    ) -> list[Episode]:
        """Return the episodes behind *after*, in order; only the newest *last* if that is not 0."""

    def newest_returns(self, run_id: str, wanted: EpisodeFilter, last: int) -> list[float]:
        """Return the returns of the newest *last* episodes, in order."""

    def tally(self, run_id: str, wanted: EpisodeFilter) -> Tally:
        """Return episodes in short, by reading them all."""

    def agents(self, run_id: str, wanted: EpisodeFilter) -> list[str]:
        """Return the agents whose episodes they are, by name."""

    def facts(self, run_id: str, *, kinds: Collection[str] = ()) -> list[Fact]:
        """Return the facts of a run, in order; only those of *kinds* if there are any."""

    def put_owners(self, runs: Sequence[RunAccepted]) -> None:
        """Keep whose *runs* are; what is known already stays as it is."""

    def owners(self, run_ids: Collection[str]) -> Mapping[str, RunAccepted]:
        """Return whose runs are, as far as it is known."""

    def put_finished(self, finished: RunFinished, due_at: datetime) -> None:
        """Keep how a run ended; a second word replaces the first unless it knows fewer attempts."""

    def finished_run(self, run_id: str) -> FinishedRun | None:
        """Return how a run ended, None before it has."""

    def stale_manifests(self) -> list[FinishedRun]:
        """Return the ended runs whose manifest is missing or older than their events."""

    def manifest_written(self, record: FinishedRun, manifest_json: str, digest: str, path: str) -> None:
        """Note that the manifest of ``record.revision`` is written."""

    def fault(self) -> str | None:
        """Return what is wrong with the store, None when it answers."""


class ManifestStore(Protocol):
    """Where manifests lie for people and tools."""

    def write(self, run_id: str, manifest_json: str) -> str:
        """Write atomically, replacing an older one, and return where it is."""


class Subscription(Protocol):
    """An ear for the news of one run."""

    def wait(self, timeout_s: float) -> bool:
        """Wait for news since the last call; tell whether there was any."""


class LiveFeed(Protocol):
    """Tells followers, in whatever replica, that a run has new events. A hint: news may be missed."""

    def publish(self, run_ids: Collection[str]) -> None:
        """Wake everybody who follows one of *run_ids*."""

    def subscribe(self, run_id: str) -> AbstractContextManager[Subscription]:
        """Listen for the news of a run."""

    def close(self) -> None:
        """End it; those who wait are woken."""
