"""Read the curves of a run and what its table shows of it."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from mosaic.errors import NotFound, did_you_mean
from mosaic_telemetry.domain.downsample import Bucket, bucket_of, thin, thin_points
from mosaic_telemetry.domain.series import LEVELS, Series, SeriesKey
from mosaic_telemetry.ports import EventStore, Position, StepRange

_RECENT_EPISODES = 100


@dataclass(frozen=True, slots=True)
class Curve:
    """A series, thinned."""

    buckets: list[Bucket]
    #: Points of the whole series, wanted or not.
    total_points: int
    unit: str


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in one row of a table."""

    run_id: str
    events: int = 0
    last_step: float = 0.0
    steps_per_s: float = 0.0
    episodes: int = 0
    #: Of the newest hundred episodes; None when there are none.
    mean_return: float | None = None
    last_event_time: float | None = None
    is_sealed: bool = False


def read_curve(
    run_id: str,
    key: SeriesKey,
    *,
    resolution: int,
    wanted: StepRange,
    attempt: int = 0,
    store: EventStore,
) -> Curve:
    """Return at most *resolution* buckets of a series (0 = every point).

    Over all attempts (0) it is the curve of the run: where a later attempt has repeated steps of an
    earlier one, the later one counts.

    Raises:
        NotFound: the run has no such series; the nearest name is suggested.

    """
    series = store.series(run_id, attempt=attempt)
    parts = [one for one in series if one.key == key]
    if not parts:
        raise NotFound(_no_such_series(run_id, key, {one.key.name for one in series}))
    spans = _without_repetition(parts, wanted)
    level = _level(spans, resolution, store)
    total, unit = sum(part.count for part in parts), parts[-1].unit or parts[0].unit
    if not level:
        return Curve(_thinned_points(spans, resolution, store), total, unit)
    buckets = [bucket for part, span in spans for bucket in _buckets(part, level, span, store)]
    return Curve(thin(buckets, resolution), total, unit)


def summarise(run_ids: Collection[str], *, store: EventStore) -> list[RunSummary]:
    """Return a row for each run; one that was never heard of has an empty row."""
    return [_summary(run_id, store) for run_id in run_ids]


def _no_such_series(run_id: str, key: SeriesKey, names: Collection[str]) -> str:
    of = f" of agent {key.agent!r}" if key.agent else ""
    known = ", ".join(sorted(names)[:20]) or "none yet"
    return f"run {run_id} has no series {key.name!r}{of}{did_you_mean(key.name, names)} (known: {known})"


def _without_repetition(parts: Sequence[Series], wanted: StepRange) -> list[tuple[Series, StepRange]]:
    spans: list[tuple[Series, StepRange]] = []
    before: float | None = None
    for part in reversed(parts):
        if before is None or part.first_step < before:
            spans.append((part, replace(wanted, before=before)))
            before = part.first_step
    return spans[::-1]


def _level(spans: Sequence[tuple[Series, StepRange]], resolution: int, store: EventStore) -> int:
    """Return the coarsest level that still has *resolution* buckets; 0 = the points themselves."""
    if resolution <= 0:
        return 0
    points = sum(_points_in(part, span, store) for part, span in spans)
    return max((level for level in LEVELS if points / level >= resolution), default=0)


def _points_in(series: Series, span: StepRange, store: EventStore) -> int:
    if span == StepRange():
        return series.count
    return sum(bucket.points for bucket in store.buckets(series, LEVELS[-1], span))


def _thinned_points(spans: Sequence[tuple[Series, StepRange]], resolution: int, store: EventStore) -> list[Bucket]:
    steps, values = array("d"), array("d")
    for series, span in spans:
        more_steps, more_values = store.points(series, span)
        steps.extend(more_steps)
        values.extend(more_values)
    return thin_points(steps, values, resolution)


def _buckets(series: Series, level: int, span: StepRange, store: EventStore) -> list[Bucket]:
    buckets: list[Bucket] = []
    for bucket in store.buckets(series, level, span):
        buckets += [bucket] if _is_inside(bucket, span) else _clipped(series, bucket, span, store)
    return buckets


def _is_inside(bucket: Bucket, span: StepRange) -> bool:
    return span.includes(bucket.step_first) and span.includes(bucket.step_last)


def _clipped(series: Series, bucket: Bucket, span: StepRange, store: EventStore) -> list[Bucket]:
    """Return a bucket of those points of *bucket* that are within *span*, if any."""
    firsts = [bucket.step_first, span.first]
    lasts = [bucket.step_last, span.last]
    clip = StepRange(
        max(first for first in firsts if first is not None),
        min(last for last in lasts if last is not None),
        span.before,
    )
    steps, values = store.points(series, clip)
    return [bucket_of(steps, values)] if steps else []


def _summary(run_id: str, store: EventStore) -> RunSummary:
    timelines = store.timelines(run_id)
    if not timelines:
        return RunSummary(run_id, is_sealed=store.seal_of(run_id) is not None)
    newest = timelines[-1]
    episodes = sum(timeline.counts.get("episode", 0) for timeline in timelines)
    recent = store.episodes(run_id, Position(0, -1), last=_RECENT_EPISODES) if episodes else []
    return RunSummary(
        run_id,
        events=sum(timeline.heard.count for timeline in timelines),
        last_step=newest.last_step or 0.0,
        steps_per_s=newest.steps_per_s,
        episodes=episodes,
        mean_return=sum(one.episode_return for one in recent) / len(recent) if recent else None,
        last_event_time=newest.last_time,
        is_sealed=store.seal_of(run_id) is not None,
    )
