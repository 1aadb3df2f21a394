"""Read the curves of a run and what its table shows of it."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from mosaic.errors import NotFound, did_you_mean
from mosaic_telemetry.domain.counting import EVERYTHING, NOTHING, Counted
from mosaic_telemetry.domain.downsample import Bucket, bucket_of, thin, thin_points
from mosaic_telemetry.domain.facts import EpisodeSummary
from mosaic_telemetry.domain.series import LEVELS, Series, SeriesKey
from mosaic_telemetry.handlers.episodes import Standing, standing_of, summarise_episodes
from mosaic_telemetry.ports import EventStore, StepRange


@dataclass(frozen=True, slots=True)
class Curve:
    """A series, thinned."""

    buckets: list[Bucket]
    #: Points of the whole series that count, wanted or not.
    total_points: int
    unit: str


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in one row of a table."""

    run_id: str
    events: int = 0
    #: The furthest that counts.
    last_step: float = 0.0
    steps_per_s: float = 0.0
    episodes: EpisodeSummary = EpisodeSummary()
    last_event_time: float | None = None
    is_finished: bool = False


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

    Over all attempts (0) it is the curve of the run: of each attempt that part which counts.

    Raises:
        NotFound: the run has no such series; the nearest name is suggested.

    """
    series = store.series(run_id, attempt=attempt)
    parts = [one for one in series if one.key == key]
    if not parts:
        raise NotFound(_no_such_series(run_id, key, {one.key.name for one in series}))
    counted = EVERYTHING if attempt else standing_of(run_id, store).counted
    spans = _counted_spans(parts, counted, wanted)
    level = _level(spans, resolution, store)
    total = sum(_points_of(part, span, store) for part, span in _counted_spans(parts, counted, StepRange()))
    unit = parts[-1].unit or parts[0].unit
    if not level:
        return Curve(_thinned_points(spans, resolution, store), total, unit)
    buckets = [bucket for part, span in spans for bucket in _buckets(part, level, span, store)]
    return Curve(thin(buckets, resolution), total, unit)


def run_series(standing: Standing, store: EventStore) -> list[Series]:
    """Return each series of a run once, by name, with what counts of it; its attempt is the newest that has it."""
    by_key = groupby(store.series(standing.run_id), key=lambda series: series.key)
    series = (_as_counted(list(parts), standing.counted, store) for _, parts in by_key)
    return [one for one in series if one is not None]


def summarise(run_ids: Collection[str], *, store: EventStore) -> list[RunSummary]:
    """Return a row for each run; one that was never heard of has an empty row."""
    return [_summary(run_id, store) for run_id in run_ids]


def _no_such_series(run_id: str, key: SeriesKey, names: Collection[str]) -> str:
    of = f" of agent {key.agent!r}" if key.agent else ""
    known = ", ".join(sorted(names)[:20]) or "none yet"
    return f"run {run_id} has no series {key.name!r}{of}{did_you_mean(key.name, names)} (known: {known})"


def _counted_spans(parts: Sequence[Series], counted: Counted, wanted: StepRange) -> list[tuple[Series, StepRange]]:
    """Return what counts of each of *parts*, which are one series in several attempts, in order."""
    spans: list[tuple[Series, StepRange]] = []
    before: float | None = None
    for part in reversed(parts):
        cut = counted.of(part.stream.attempt)
        # A later attempt may say once more what was said at the very step of the checkpoint.
        if cut == NOTHING or not (before is None or part.first_step < before):
            continue
        last = cut.last_step if part.is_in_training_steps else None
        lasts = [one for one in (wanted.last, last) if one is not None]
        spans.append((part, replace(wanted, last=min(lasts, default=None), before=before)))
        before = part.first_step if before is None else min(before, part.first_step)
    return spans[::-1]


def _as_counted(parts: Sequence[Series], counted: Counted, store: EventStore) -> Series | None:
    whole: Series | None = None
    for part, span in _counted_spans(parts, counted, StepRange()):
        kept = part if span == StepRange() else _part_within(part, span, store)
        if kept is not None:
            whole = kept if whole is None else kept.continuing(whole)
    return whole


def _part_within(series: Series, span: StepRange, store: EventStore) -> Series | None:
    steps, values = store.points(series, span)
    return Series(series.stream, series.key, series.unit).extend(steps, values)[0] if steps else None


def _points_of(series: Series, span: StepRange, store: EventStore) -> int:
    if span == StepRange():
        return series.count
    return sum(bucket.points for bucket in _buckets(series, LEVELS[-1], span, store))


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
    standing = standing_of(run_id, store)
    is_finished = store.finished_run(run_id) is not None
    if not standing.timelines:
        return RunSummary(run_id, is_finished=is_finished)
    newest, counted = standing.timelines[-1], standing.counted
    return RunSummary(
        run_id,
        events=sum(timeline.heard.count for timeline in standing.timelines),
        last_step=counted.furthest_step(standing.timelines) or 0.0,
        steps_per_s=newest.steps_per_s(counted.went_on_at.get(newest.stream.attempt, 0.0)),
        episodes=summarise_episodes(standing, store),
        last_event_time=newest.last_time,
        is_finished=is_finished,
    )
