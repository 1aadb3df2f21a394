"""Every event once, in SQLite or PostgreSQL."""

from __future__ import annotations

import math
import operator
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import ColumnElement, Connection, Engine, Select, false, func, not_, or_, select, text, update

from mosaic.errors import BadInput, DatabaseUnavailable
from mosaic.events.sealed import RunSealed
from mosaic.hosting.database import migrate, transaction
from mosaic_telemetry.adapters import rows, tables
from mosaic_telemetry.adapters.sql_writer import SqlWriter
from mosaic_telemetry.domain.downsample import Bucket
from mosaic_telemetry.domain.facts import Episode, EpisodeSummary, Fact
from mosaic_telemetry.domain.series import Series
from mosaic_telemetry.domain.timeline import StreamId, Timeline
from mosaic_telemetry.ports import EventWriter, Position, SealRecord, StepRange, StoredFrame

log = structlog.get_logger(__name__)

_MIGRATIONS = "mosaic_telemetry.adapters.migrations"

#: Frames fetched at a time: enough to keep a reader busy, little enough to hold in memory.
_PAGE = 16

_RECENT_EPISODES = 100


class SqlEvents:
    """An `EventStore` over an engine of `mosaic.hosting.database`."""

    def __init__(self, engine: Engine) -> None:
        """Bring the schema up to date."""
        self.engine = engine
        self._reader = engine.execution_options(read_only=True)
        migrate(engine, _MIGRATIONS)

    @contextmanager
    def writing(self, streams: Collection[StreamId]) -> Iterator[EventWriter]:
        """Open a transaction over *streams*."""
        with transaction(self.engine) as connection:
            writer = SqlWriter(connection, streams)
            yield writer
            writer.flush()

    def timelines(self, run_id: str) -> list[Timeline]:
        """Return the streams of a run, by attempt."""
        table = tables.streams
        query = select(table).where(table.c.run_id == run_id).order_by(table.c.attempt)
        timelines = [rows.timeline_of(row) for row in self._read(query)]
        # A stream that another transaction has locked and not yet written to is not there.
        return [timeline for timeline in timelines if timeline.heard.ranges]

    def frames(
        self, run_id: str, start: Position, *, attempt: int = 0, kinds: Collection[str] = ()
    ) -> Iterator[StoredFrame]:
        """Yield the frames that end at or after *start*, in order."""
        for timeline in self.timelines(run_id):
            number = timeline.stream.attempt
            if number >= start.attempt and attempt in (0, number):
                first = start.seq if number == start.attempt else 0
                yield from self._frames_of(timeline.stream, first, kinds)

    def frames_backwards(self, run_id: str, *, attempt: int = 0, kinds: Collection[str] = ()) -> Iterator[StoredFrame]:
        """Yield the frames of a run from its end to its start."""
        table = tables.frames
        for timeline in reversed(self.timelines(run_id)):
            before = timeline.heard.last + 1
            while attempt in (0, timeline.stream.attempt):
                query = _frames_query(timeline.stream, kinds).where(table.c.first_seq < before)
                page = self._read(query.order_by(table.c.first_seq.desc()).limit(_PAGE))
                yield from map(rows.frame_of, page)
                if len(page) < _PAGE:
                    break
                before = page[-1].first_seq

    def series(self, run_id: str, *, attempt: int = 0) -> list[Series]:
        """Return the series of a run, by name and attempt."""
        table = tables.series
        query = select(table).where(table.c.run_id == run_id)
        if attempt:
            query = query.where(table.c.attempt == attempt)
        found = [rows.series_of(row) for row in self._read(query)]
        return sorted(found, key=lambda series: (series.key, series.stream.attempt))

    def points(self, series: Series, wanted: StepRange) -> tuple[array[float], array[float]]:
        """Return steps and values of the points within *wanted*."""
        c = tables.points.c
        query = select(c.step_first, c.step_last, c.packed).where(c.series_id == series.series_id)
        steps, values = array("d"), array("d")
        for first, last, packed in self._read(_touching(query, tables.points, wanted).order_by(c.first_seq)):
            more_steps, more_values = rows.unpack_points(packed)
            if not (wanted.includes(first) and wanted.includes(last)):
                more_steps, more_values = _clipped(more_steps, more_values, wanted)
            steps += more_steps
            values += more_values
        return steps, values

    def buckets(self, series: Series, level: int, wanted: StepRange) -> list[Bucket]:
        """Return the buckets of *level* that touch *wanted*, in order."""
        c = tables.rollups.c
        columns = (c.step_first, c.step_last, c.points, c.numbers, c.minimum, c.maximum, c.total)
        query = select(*columns).where(c.series_id == series.series_id, c.level == level)
        found = self._read(_touching(query, tables.rollups, wanted).order_by(c.place))
        return sorted(map(rows.bucket_of_row, found), key=lambda bucket: bucket.step_first)

    def episodes(self, run_id: str, after: Position, *, attempt: int = 0, last: int = 0) -> list[Episode]:
        """Return the episodes behind *after*, in order."""
        c = tables.episodes.c
        behind = or_(c.attempt > after.attempt, (c.attempt == after.attempt) & (c.seq > after.seq))
        query = select(tables.episodes).where(c.run_id == run_id, behind)
        if attempt:
            query = query.where(c.attempt == attempt)
        if not last:
            return [rows.episode_of(row) for row in self._read(query.order_by(c.attempt, c.seq))]
        newest = self._read(query.order_by(c.attempt.desc(), c.seq.desc()).limit(last))
        return [rows.episode_of(row) for row in reversed(newest)]

    def episode_count(self, run_id: str, *, attempt: int = 0) -> int:
        """Return how many episodes there are."""
        timelines = self.timelines(run_id)
        wanted = (timeline for timeline in timelines if attempt in (0, timeline.stream.attempt))
        return sum(timeline.counts.get("episode", 0) for timeline in wanted)

    def episode_summary(self, run_id: str) -> EpisodeSummary:
        """Return the returns of a run in short; where a later attempt repeated steps, the later one counts."""
        c = tables.episodes.c
        counts = (c.run_id == run_id) & self._not_repeated(run_id)
        newest = select(tables.episodes).where(counts).order_by(c.attempt.desc(), c.seq.desc())
        recent = [rows.episode_of(row) for row in reversed(self._read(newest.limit(_RECENT_EPISODES)))]
        if not recent:
            return EpisodeSummary()
        ranked = select(c.episode_return, c.step).where(counts, c.episode_return.is_not(None))
        best = self._read(ranked.order_by(c.episode_return.desc(), c.attempt, c.seq).limit(1))
        ((count,),) = self._read(select(func.count()).select_from(tables.episodes).where(counts))
        returns = [episode.episode_return for episode in recent]
        return EpisodeSummary(
            count=count,
            last_return=returns[-1],
            recent_mean=sum(returns) / len(returns),
            best_return=best[0].episode_return if best else None,
            best_step=best[0].step if best else None,
        )

    def _not_repeated(self, run_id: str) -> ColumnElement[bool]:
        """Return the condition that no later attempt went over an episode's steps again."""
        c = tables.episodes.c
        firsts = select(c.attempt, func.min(c.step)).where(c.run_id == run_id).group_by(c.attempt)
        repeated: list[ColumnElement[bool]] = []
        before = math.inf
        for attempt, first in sorted(self._read(firsts), reverse=True):
            if before < math.inf:
                repeated.append((c.attempt == attempt) & func.coalesce(c.step >= before, false()))
            before = before if first is None else min(before, first)
        return not_(or_(false(), *repeated))

    def facts(self, run_id: str) -> list[Fact]:
        """Return the facts of a run, in order."""
        c = tables.facts.c
        query = select(tables.facts).where(c.run_id == run_id).order_by(c.attempt, c.seq)
        return [rows.fact_of(row) for row in self._read(query)]

    def put_seal(self, seal: RunSealed, due_at: datetime) -> None:
        """Keep the seal of a run; a second one replaces the first unless it knows fewer attempts."""
        c = tables.seals.c
        values: rows.Row = {"seal": seal.to_json().decode(), "due_at": due_at.timestamp()}
        with transaction(self.engine) as connection:
            known = self._seal_row(connection, seal.run_id)
            if known is None:
                fresh = {"revision": 0, "written_revision": -1, "manifest_json": "", "digest": "", "path": ""}
                connection.execute(tables.seals.insert(), {"run_id": seal.run_id, **values, **fresh})
            elif len(seal.attempts) >= len(known.seal.attempts) and seal != known.seal:
                changed = {**values, "revision": c.revision + 1}
                connection.execute(update(tables.seals).where(c.run_id == seal.run_id).values(changed))

    def seal_of(self, run_id: str) -> SealRecord | None:
        """Return the seal of a run, None while it is open."""
        found = self._read(select(tables.seals).where(tables.seals.c.run_id == run_id))
        return rows.seal_record_of(found[0]) if found else None

    def stale_seals(self) -> list[SealRecord]:
        """Return the seals whose manifest is missing or older than their events."""
        c = tables.seals.c
        query = select(tables.seals).where(c.written_revision < c.revision).order_by(c.due_at)
        return [record for row in self._read(query) if (record := _readable_seal(row)) is not None]

    def manifest_written(self, record: SealRecord, manifest_json: str, digest: str, path: str) -> None:
        """Note that the manifest of ``record.revision`` is written."""
        c = tables.seals.c
        newer = (c.run_id == record.seal.run_id) & (c.written_revision < record.revision)
        values = {
            "written_revision": record.revision,
            "manifest_json": manifest_json,
            "digest": digest,
            "path": path,
        }
        with transaction(self.engine) as connection:
            connection.execute(update(tables.seals).where(newer).values(values))

    def fault(self) -> str | None:
        """Return what is wrong with the store, None when it answers."""
        try:
            self._read(select(text("1")))
        except DatabaseUnavailable as error:
            return str(error)
        return None

    def _frames_of(self, stream: StreamId, seq: int, kinds: Collection[str]) -> Iterator[StoredFrame]:
        c = tables.frames.c
        while True:
            # Frames do not overlap, so the one that holds seq is the last that begins at or before it.
            begin = select(func.coalesce(func.max(c.first_seq), 0)).where(
                c.run_id == stream.run_id, c.attempt == stream.attempt, c.first_seq <= seq
            )
            query = _frames_query(stream, kinds).where(c.first_seq >= begin.scalar_subquery(), c.last_seq >= seq)
            page = self._read(query.order_by(c.first_seq).limit(_PAGE))
            yield from map(rows.frame_of, page)
            if len(page) < _PAGE:
                return
            seq = page[-1].last_seq + 1

    def _seal_row(self, connection: Connection, run_id: str) -> SealRecord | None:
        query = select(tables.seals).where(tables.seals.c.run_id == run_id).with_for_update()
        row = connection.execute(query).first()
        return rows.seal_record_of(row) if row is not None else None

    def _read(self, query: Select[Any]) -> Sequence[Any]:
        with transaction(self._reader) as connection:
            return connection.execute(query).all()


def _readable_seal(row: Any) -> SealRecord | None:
    try:
        return rows.seal_record_of(row)
    except BadInput as error:
        # One damaged row must not keep all other runs from their manifests.
        log.error("a seal cannot be read, its run gets no manifest", run_id=row.run_id, reason=str(error))
        return None


def _frames_query(stream: StreamId, kinds: Collection[str]) -> Select[Any]:
    c = tables.frames.c
    query = select(tables.frames).where(c.run_id == stream.run_id, c.attempt == stream.attempt)
    if kinds:
        query = query.where(or_(*(c.kinds.contains(f'"{kind}"', autoescape=True) for kind in sorted(kinds))))
    return query


def _touching(query: Select[Any], table: Any, wanted: StepRange) -> Select[Any]:
    if wanted.first is not None:
        query = query.where(table.c.step_last >= wanted.first)
    if wanted.last is not None:
        query = query.where(table.c.step_first <= wanted.last)
    if wanted.before is not None:
        query = query.where(table.c.step_first < wanted.before)
    return query


def _clipped(steps: array[float], values: array[float], wanted: StepRange) -> tuple[array[float], array[float]]:
    if all(map(operator.le, steps, steps[1:])):
        begin = 0 if wanted.first is None else bisect_left(steps, wanted.first)
        end = len(steps) if wanted.last is None else bisect_right(steps, wanted.last)
        end = end if wanted.before is None else min(end, bisect_left(steps, wanted.before))
        return steps[begin:end], values[begin:end]
    kept = [place for place, step in enumerate(steps) if wanted.includes(step)]
    return array("d", (steps[place] for place in kept)), array("d", (values[place] for place in kept))
