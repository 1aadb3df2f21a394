"""Read the curves of a run and what its table shows of it."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

import numpy as np

from mosaic.errors import BadInput, NotFound, did_you_mean
from mosaic_telemetry.domain.counting import EVERYTHING, NOTHING, Counted
from mosaic_telemetry.domain.downsample import Bucket
from mosaic_telemetry.domain.facts import EpisodeSummary
from mosaic_telemetry.domain.series import LEVELS, Series, SeriesKey
from mosaic_telemetry.domain.thinning import Buckets, Cut, as_buckets, as_points, cut_for, gathered, smooth
from mosaic_telemetry.handlers.episodes import Standing, standing_of, summarise_episodes
from mosaic_telemetry.ports import EventStore, Points, StepRange

#: A series of one attempt, and what counts of it.
Span: TypeAlias = tuple[Series, StepRange]


#: What a curve can be drawn over: its own steps, the time of day, or the seconds since the run was first heard of.
STEP, TIME, RELATIVE = "step", "time", "relative"
AXES = (STEP, TIME, RELATIVE)
#: Rollups of which fewer than so many would be in a bucket are too coarse: their points are read instead.
_ROLLUPS_PER_BUCKET = 16


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be seen of a curve."""

    #: Buckets at the most; 0 = every point.
    resolution: int = 0
    first: float | None = None
    last: float | None = None
    x: str = STEP
    #: Cut x by its logarithm; points at or below 0 are then not shown.
    is_log: bool = False
    #: Weight of the past in a moving average over every point, below 1; 0 = none.
    smoothing: float = 0.0

    @property
    def is_part(self) -> bool:
        """Whether a stretch of the curve is wanted."""
        return self.first is not None or self.last is not None

    def check(self) -> None:
        """Return if it can be answered.

        Raises:
            BadInput: lists what cannot.
        """
        faults = [] if self.x in AXES else [f"x is {self.x!r}{did_you_mean(self.x, AXES)} (one of {', '.join(AXES)})"]
        ends = (("from", self.first), ("to", self.last))
        faults += [
            f"{name} is {end}: a finite number" for name, end in ends if end is not None and not math.isfinite(end)
        ]
        if self.resolution < 0:
            faults.append(f"resolution is {self.resolution}: at least 0, which is every point")
        if not 0 <= self.smoothing < 1:
            faults.append(f"smoothing is {self.smoothing:g}: at least 0, below 1")
        if faults:
            raise BadInput("curve", faults)


@dataclass(frozen=True, slots=True)
class Curve:
    """A series, thinned."""

    buckets: Buckets
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


def read_curve(run_id: str, key: SeriesKey, wanted: Wanted, *, attempt: int = 0, store: EventStore) -> Curve:
    """Return a series as it is *wanted*, in whole buckets: those at the ends reach beyond what was asked for.

    Over all attempts (0) it is the curve of the run: of each attempt that part which counts.

    Raises:
        NotFound: the run has no such series; the nearest name is suggested.
        BadInput: nothing can be wanted so.

    """
    wanted.check()
    series = store.series(run_id, attempt=attempt)
    parts = [one for one in series if one.key == key]
    if not parts:
        raise NotFound(_no_such_series(run_id, key, {one.key.name for one in series}))
    spans = _counted_spans(parts, EVERYTHING if attempt else standing_of(run_id, store).counted)
    total = sum(_points_of(part, span, store) for part, span in spans)
    unit = parts[-1].unit or parts[0].unit
    return Curve(_thinned(run_id, spans, wanted, store), total, unit)


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


def _counted_spans(parts: Sequence[Series], counted: Counted) -> list[Span]:
    """Return what counts of each of *parts*, which are one series in several attempts, in order."""
    spans: list[Span] = []
    before: float | None = None
    for part in reversed(parts):
        cut = counted.of(part.stream.attempt)
        # A later attempt may say once more what was said at the very step of the checkpoint.
        if cut == NOTHING or not (before is None or part.first_step < before):
            continue
        last = cut.last_step if part.is_in_training_steps else None
        spans.append((part, StepRange(last=last, before=before)))
        before = part.first_step if before is None else min(before, part.first_step)
    return spans[::-1]


def _as_counted(parts: Sequence[Series], counted: Counted, store: EventStore) -> Series | None:
    whole: Series | None = None
    for part, span in _counted_spans(parts, counted):
        kept = part if span == StepRange() else _part_within(part, span, store)
        if kept is not None:
            whole = kept if whole is None else kept.continuing(whole)
    return whole


def _part_within(series: Series, span: StepRange, store: EventStore) -> Series | None:
    points = store.points(series, span)
    fresh = Series(series.stream, series.key, series.unit)
    return fresh.extend(points.steps.tolist(), points.values.tolist())[0] if len(points.steps) else None


def _points_of(series: Series, span: StepRange, store: EventStore) -> int:
    if span == StepRange():
        return series.count
    touching = store.buckets(series, LEVELS[-1], span)
    inside = [bucket for bucket in touching if span.includes(bucket.step_first) and span.includes(bucket.step_last)]
    cut = [bucket for bucket in touching if bucket not in inside]
    return sum(bucket.points for bucket in inside) + sum(_points_within(series, bucket, span, store) for bucket in cut)


def _points_within(series: Series, bucket: Bucket, span: StepRange, store: EventStore) -> int:
    last = bucket.step_last if span.last is None else min(bucket.step_last, span.last)
    return len(store.points(series, StepRange(bucket.step_first, last, span.before)).steps)


def _thinned(run_id: str, spans: Sequence[Span], wanted: Wanted, store: EventStore) -> Buckets:
    ends = _known_ends(spans, wanted)
    cut = cut_for(*ends, wanted.resolution, is_log=wanted.is_log) if ends and wanted.resolution else None
    # A rollup that is cut where a later attempt begins would show what does not count.
    is_whole = all(span == StepRange() for _, span in spans)
    spans = _narrowed(spans, wanted, ends, cut)
    level = _level(spans, wanted, store) if is_whole else 0
    if level:
        found = as_buckets([bucket for part, span in spans for bucket in store.buckets(part, level, span)])
    else:
        found = _points(run_id, spans, wanted, store)
    is_shown = np.isfinite(found.first) & (found.first > (0.0 if wanted.is_log else -np.inf))
    found = found if is_shown.all() else found.taken(is_shown)
    if not len(found) or not (wanted.resolution or wanted.is_part):
        return found
    low = found.first[0] if wanted.first is None or (wanted.is_log and wanted.first <= 0) else wanted.first
    high = max(low, found.final.max() if wanted.last is None else wanted.last)
    most = wanted.resolution or len(found)
    cut = cut or cut_for(low, high, most, is_log=wanted.is_log)
    if wanted.is_part:
        places, (begin, end) = cut.places(found.first), cut.places(np.array([low, high]))
        found = found.taken((places >= begin) & (places <= end))
    return found if not level and len(found) <= most else gathered(found, cut)


def _known_ends(spans: Sequence[Span], wanted: Wanted) -> tuple[float, float] | None:
    """Return from where to where on x, if that is known before any point is read."""
    if wanted.x != STEP or wanted.is_log or not spans:
        return None
    low = min(part.first_step for part, _ in spans) if wanted.first is None else wanted.first
    lasts = [part.last_step if span.last is None else min(part.last_step, span.last) for part, span in spans]
    high = max(lasts) if wanted.last is None else wanted.last
    return (low, max(low, high)) if math.isfinite(low) and math.isfinite(high) else None


def _narrowed(
    spans: Sequence[Span], wanted: Wanted, ends: tuple[float, float] | None, cut: Cut | None
) -> Sequence[Span]:
    """Return *spans* as far as they must be read; a moving average begins at the beginning."""
    if ends is None or cut is None or wanted.smoothing or not wanted.is_part:
        return spans
    begin, end = cut.places(np.array(ends))
    low, high = cut.border(begin), cut.border(end + 1)
    return [
        (part, StepRange(low, high if span.last is None else min(high, span.last), span.before)) for part, span in spans
    ]


def _level(spans: Sequence[Span], wanted: Wanted, store: EventStore) -> int:
    """Return the coarsest level that still has enough rollups in every bucket; 0 = the points themselves."""
    if not wanted.resolution or wanted.x != STEP or wanted.smoothing:
        return 0
    least = wanted.resolution * _ROLLUPS_PER_BUCKET
    if sum(part.count for part, _ in spans) < least * LEVELS[0]:
        return 0
    points = sum(bucket.points for part, span in spans for bucket in store.buckets(part, LEVELS[-1], span))
    return max((level for level in LEVELS if points / level >= least), default=0)


def _points(run_id: str, spans: Sequence[Span], wanted: Wanted, store: EventStore) -> Buckets:
    found = [store.points(part, span) for part, span in spans] or [Points(*(np.empty(0),) * 3)]
    steps, values, times = (np.concatenate(column) for column in zip(*found, strict=True))
    if wanted.x == RELATIVE:
        times = times - min((one.first_time or 0.0 for one in store.timelines(run_id)), default=0.0)
    smoothed = smooth(values, wanted.smoothing) if wanted.smoothing else None
    return as_points(steps if wanted.x == STEP else times, values, smoothed)


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
