"""Every event once, in SQLite or PostgreSQL."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Executable,
    Select,
    and_,
    false,
    func,
    not_,
    or_,
    select,
    text,
    true,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from mosaic.errors import BadInput, DatabaseUnavailable
from mosaic.events.episodes import AGENT, EPISODE_KINDS, EVALUATION, EVALUATION_AGENT, TRAINING
from mosaic.hosting.database import migrate, transaction
from mosaic.ids import RunId, TeamName, UserName
from mosaic.model.attempt import RunFinished
from mosaic.model.codec import to_json
from mosaic.model.run import RunAccepted
from mosaic_telemetry.adapters import rows, tables
from mosaic_telemetry.adapters.sql_writer import SqlWriter
from mosaic_telemetry.domain.counting import WHOLE, Cut
from mosaic_telemetry.domain.downsample import Bucket
from mosaic_telemetry.domain.facts import Episode, Fact
from mosaic_telemetry.domain.series import Series
from mosaic_telemetry.domain.tally import Tally
from mosaic_telemetry.domain.timeline import StreamId, Timeline
from mosaic_telemetry.ports import (
    BEFORE_ALL,
    EpisodeFilter,
    EventWriter,
    FinishedRun,
    Points,
    Position,
    StepRange,
    StoredFrame,
)

log = structlog.get_logger(__name__)

_MIGRATIONS = "mosaic_telemetry.adapters.migrations"

#: Frames fetched at a time: enough to keep a reader busy, little enough to hold in memory.
_PAGE = 16

_has_agent, _evaluates = tables.episodes.c.agent != "", tables.episodes.c.evaluation
#: `mosaic.events.episodes.kind_of` for the database.
_IS_OF_KIND = {
    TRAINING: not_(_evaluates) & not_(_has_agent),
    AGENT: not_(_evaluates) & _has_agent,
    EVALUATION: _evaluates & not_(_has_agent),
    EVALUATION_AGENT: _evaluates & _has_agent,
}


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

    def points(self, series: Series, wanted: StepRange) -> Points:
        """Return the points within *wanted*."""
        c = tables.points.c
        query = select(c.packed, c.first_time, c.last_time).where(c.series_id == series.series_id)
        found = self._read(_touching(query, tables.points, wanted).order_by(c.first_seq))
        points = rows.points_of(found)
        if wanted == StepRange():
            return points
        low, high, before = (
            default if limit is None else limit
            for limit, default in ((wanted.first, -math.inf), (wanted.last, math.inf), (wanted.before, math.inf))
        )
        is_wanted = (points.steps >= low) & (points.steps <= high) & (points.steps < before)
        return Points(*(column[is_wanted] for column in points))

    def buckets(self, series: Series, level: int, wanted: StepRange) -> list[Bucket]:
        """Return the buckets of *level* that touch *wanted*, in order."""
        c = tables.rollups.c
        columns = (c.step_first, c.step_last, c.points, c.numbers, c.minimum, c.maximum, c.total)
        query = select(*columns).where(c.series_id == series.series_id, c.level == level)
        found = self._read(_touching(query, tables.rollups, wanted).order_by(c.place))
        return sorted(map(rows.bucket_of_row, found), key=lambda bucket: bucket.step_first)

    def episodes(
        self, run_id: str, wanted: EpisodeFilter, *, after: Position = BEFORE_ALL, last: int = 0
    ) -> list[Episode]:
        """Return the episodes behind *after*, in order."""
        c = tables.episodes.c
        query = select(tables.episodes).where(_wanted_episodes(run_id, wanted))
        if after > BEFORE_ALL:
            query = query.where(or_(c.attempt > after.attempt, (c.attempt == after.attempt) & (c.seq > after.seq)))
        if not last:
            return [rows.episode_of(row) for row in self._read(query.order_by(c.attempt, c.seq))]
        newest = self._read(query.order_by(c.attempt.desc(), c.seq.desc()).limit(last))
        return [rows.episode_of(row) for row in reversed(newest)]

    def newest_returns(self, run_id: str, wanted: EpisodeFilter, last: int) -> list[float]:
        """Return the returns of the newest *last* episodes, in order."""
        c = tables.episodes.c
        query = select(c.episode_return).where(_wanted_episodes(run_id, wanted))
        newest = self._read(query.order_by(c.attempt.desc(), c.seq.desc()).limit(last))
        return [rows.number_of(value) for (value,) in reversed(newest)]

    def tally(self, run_id: str, wanted: EpisodeFilter) -> Tally:
        """Return episodes in short, by reading them all."""
        c = tables.episodes.c
        condition = _wanted_episodes(run_id, wanted)
        ((number, last_seq),) = self._read(select(func.count(c.seq), func.max(c.seq)).where(condition))
        ranked = select(c.episode_return, c.step, c.seq).where(condition, c.episode_return.is_not(None))
        best = self._read(ranked.order_by(c.episode_return.desc(), c.attempt, c.seq).limit(1)) if number else []
        return Tally(number, last_seq, *best[0]) if best else Tally(number, -1 if last_seq is None else last_seq)

    def agents(self, run_id: str, wanted: EpisodeFilter) -> list[str]:
        """Return the agents whose episodes they are, by name."""
        c = tables.episodes.c
        query = select(c.agent).distinct().where(_wanted_episodes(run_id, wanted))
        return sorted(agent for (agent,) in self._read(query))

    def facts(self, run_id: str, *, kinds: Collection[str] = ()) -> list[Fact]:
        """Return the facts of a run, in order."""
        c = tables.facts.c
        query = select(tables.facts).where(c.run_id == run_id).order_by(c.attempt, c.seq)
        if kinds:
            query = query.where(c.kind.in_(sorted(kinds)))
        return [rows.fact_of(row) for row in self._read(query)]

    def put_owners(self, runs: Sequence[RunAccepted]) -> None:
        """Keep whose *runs* are; what is known already stays as it is."""
        dialect = postgresql if self.engine.dialect.name == "postgresql" else sqlite
        values = [{"run_id": run.run_id, "team": run.team, "user_name": run.user} for run in runs]
        if values:
            with transaction(self.engine) as connection:
                connection.execute(dialect.insert(tables.owners).values(values).on_conflict_do_nothing())

    def owners(self, run_ids: Collection[str]) -> Mapping[str, RunAccepted]:
        """Return whose runs are, as far as it is known."""
        found = self._read(select(tables.owners).where(tables.owners.c.run_id.in_(sorted(run_ids))))
        return {
            row.run_id: RunAccepted(RunId(row.run_id), TeamName(row.team), UserName(row.user_name)) for row in found
        }

    def put_finished(self, finished: RunFinished, due_at: datetime) -> None:
        """Keep how a run ended; a second word replaces the first unless it knows fewer attempts."""
        c, run_id = tables.finished_runs.c, finished.run.run_id
        values: rows.Row = {"finished": json.dumps(to_json(finished)), "due_at": due_at.timestamp()}
        with transaction(self.engine) as connection:
            known = self._finished_row(connection, run_id)
            if known is None:
                fresh = {"revision": 0, "written_revision": -1, "manifest_json": "", "digest": "", "path": ""}
                connection.execute(tables.finished_runs.insert(), {"run_id": run_id, **values, **fresh})
            elif len(finished.attempts) >= len(known.finished.attempts) and finished != known.finished:
                changed = {**values, "revision": c.revision + 1}
                connection.execute(update(tables.finished_runs).where(c.run_id == run_id).values(changed))

    def finished_run(self, run_id: str) -> FinishedRun | None:
        """Return how a run ended, None before it has."""
        found = self._read(select(tables.finished_runs).where(tables.finished_runs.c.run_id == run_id))
        return rows.finished_run_of(found[0]) if found else None

    def stale_manifests(self) -> list[FinishedRun]:
        """Return the ended runs whose manifest is missing or older than their events."""
        c = tables.finished_runs.c
        query = select(tables.finished_runs).where(c.written_revision < c.revision).order_by(c.due_at)
        return [record for row in self._read(query) if (record := _readable(row)) is not None]

    def manifest_written(self, record: FinishedRun, manifest_json: str, digest: str, path: str) -> None:
        """Note that the manifest of ``record.revision`` is written."""
        c = tables.finished_runs.c
        newer = (c.run_id == record.finished.run.run_id) & (c.written_revision < record.revision)
        values = {
            "written_revision": record.revision,
            "manifest_json": manifest_json,
            "digest": digest,
            "path": path,
        }
        with transaction(self.engine) as connection:
            connection.execute(update(tables.finished_runs).where(newer).values(values))

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

    def _finished_row(self, connection: Connection, run_id: str) -> FinishedRun | None:
        query = select(tables.finished_runs).where(tables.finished_runs.c.run_id == run_id).with_for_update()
        row = connection.execute(query).first()
        return rows.finished_run_of(row) if row is not None else None

    def _read(self, query: Executable) -> Sequence[Any]:
        with transaction(self._reader) as connection:
            return connection.execute(query).all()


def _readable(row: Any) -> FinishedRun | None:
    try:
        return rows.finished_run_of(row)
    except BadInput as error:
        # One damaged row must not keep all other runs from their manifests.
        log.error("end of run cannot be read, it gets no manifest", run_id=row.run_id, reason=str(error))
        return None


def _frames_query(stream: StreamId, kinds: Collection[str]) -> Select[Any]:
    c = tables.frames.c
    query = select(tables.frames).where(c.run_id == stream.run_id, c.attempt == stream.attempt)
    if kinds:
        query = query.where(or_(*(c.kinds.contains(f'"{kind}"', autoescape=True) for kind in sorted(kinds))))
    return query


def _wanted_episodes(run_id: str, wanted: EpisodeFilter) -> ColumnElement[bool]:
    c = tables.episodes.c
    conditions = [c.run_id == run_id]
    if wanted.attempt:
        conditions.append(c.attempt == wanted.attempt)
    if wanted.agent is not None:
        conditions.append(c.agent == wanted.agent)
    if len(wanted.kinds) < len(EPISODE_KINDS):
        conditions.append(or_(false(), *(_IS_OF_KIND[kind] for kind in sorted(wanted.kinds))))
    for attempt, cut in wanted.counted.cuts.items():
        if cut != WHOLE and wanted.attempt in (0, attempt):
            conditions.append(or_(c.attempt != attempt, _until(cut)))
    return and_(*conditions)


def _until(cut: Cut) -> ColumnElement[bool]:
    """Return `Cut.includes` for the database."""
    c = tables.episodes.c
    return c.seq <= cut.last_seq if cut.last_seq is not None else func.coalesce(c.step <= cut.last_step, true())


def _touching(query: Select[Any], table: Any, wanted: StepRange) -> Select[Any]:
    if wanted.first is not None:
        query = query.where(table.c.step_last >= wanted.first)
    if wanted.last is not None:
        query = query.where(table.c.step_first <= wanted.last)
    if wanted.before is not None:
        query = query.where(table.c.step_first < wanted.before)
    return query
