"""One transaction of the event store: rows are gathered and written together at its end."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table, bindparam, insert, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from mosaic_telemetry.adapters import rows, tables
from mosaic_telemetry.domain.facts import Episode, Fact
from mosaic_telemetry.domain.series import Rollup, Series, SeriesKey
from mosaic_telemetry.domain.timeline import StreamId, Timeline
from mosaic_telemetry.ports import PointBlock, StoredFrame

# Every batch runs these; to build them anew each time would cost more than to execute them.
_LOCK_STREAMS = (
    select(tables.streams)
    .where(tuple_(tables.streams.c.run_id, tables.streams.c.attempt).in_(bindparam("wanted", expanding=True)))
    .order_by(tables.streams.c.run_id, tables.streams.c.attempt)
    .with_for_update()
)
_SERIES_OF_STREAM = select(tables.series).where(
    tables.series.c.run_id == bindparam("run_id"), tables.series.c.attempt == bindparam("attempt")
)
_NEW_REVISION = (
    update(tables.finished_runs)
    .where(tables.finished_runs.c.run_id.in_(bindparam("run_ids", expanding=True)))
    .values(revision=tables.finished_runs.c.revision + 1)
)


class SqlWriter:
    """Gathers what a transaction adds. An `EventWriter`; `flush` writes it."""

    def __init__(self, connection: Connection, streams: Collection[StreamId]) -> None:
        """Lock *streams* until the transaction ends, always in the same order."""
        self.stale_manifests = 0
        self._connection = connection
        self._timelines = self._locked(sorted(streams))
        self._added: dict[Table, list[rows.Row]] = {}
        self._changed: dict[StreamId, Timeline] = {}
        self._series: dict[int, Series] = {}
        self._rollups: dict[tuple[int, int, int], rows.Row] = {}

    def timeline(self, stream: StreamId) -> Timeline:
        """Return what is known of *stream*."""
        return self._changed.get(stream) or self._timelines[stream]

    def series(self, stream: StreamId) -> Mapping[SeriesKey, Series]:
        """Return the series of *stream* as the transaction found them."""
        found = map(rows.series_of, self._connection.execute(_SERIES_OF_STREAM, stream._asdict()))
        return {series.key: series for series in found}

    def put_timeline(self, timeline: Timeline) -> None:
        """Replace the timeline of its stream."""
        self._changed[timeline.stream] = timeline

    def put_series(self, series: Series) -> None:
        """Replace the summary of a series."""
        self._series[series.series_id] = series

    def put_rollups(self, series: Series, rollups: Sequence[Rollup]) -> None:
        """Add or replace buckets of a series."""
        series_id = series.series_id
        for rollup in rollups:
            self._rollups[series_id, rollup.level, rollup.place] = rows.rollup_row(series_id, rollup)

    def add_frame(self, frame: StoredFrame) -> None:
        """Add a frame whose numbers are all new."""
        self._add(tables.frames, rows.frame_row(frame))

    def add_points(self, block: PointBlock) -> None:
        """Add points of a series."""
        self._add(tables.points, rows.points_row(block))

    def add_episodes(self, episodes: Sequence[Episode]) -> None:
        """Add episodes."""
        self._add(tables.episodes, *map(rows.episode_row, episodes))

    def add_facts(self, facts: Sequence[Fact]) -> None:
        """Add facts."""
        self._add(tables.facts, *map(rows.fact_row, facts))

    def flush(self) -> None:
        """Write everything; the manifests of ended runs become stale."""
        for table, added in self._added.items():
            self._connection.execute(insert(table), added)
        self._upsert(tables.rollups, list(self._rollups.values()))
        self._upsert(tables.series, [rows.series_row(series) for series in self._series.values()])
        self._upsert(tables.streams, [rows.timeline_row(timeline) for timeline in self._changed.values()])
        if self._changed:
            run_ids = sorted({stream.run_id for stream in self._changed})
            self.stale_manifests = self._connection.execute(_NEW_REVISION, {"run_ids": run_ids}).rowcount

    def _add(self, table: Table, *added: rows.Row) -> None:
        if added:
            self._added.setdefault(table, []).extend(added)

    def _locked(self, streams: Sequence[StreamId]) -> dict[StreamId, Timeline]:
        known = self._select_for_update(streams)
        new = [stream for stream in streams if stream not in known]
        if not new:
            return known
        # Another replica may insert the same stream at this moment: whoever comes second waits here.
        empty = [rows.timeline_row(Timeline(stream)) for stream in new]
        statement = _inserting(self._connection.dialect.name)(tables.streams).on_conflict_do_nothing()
        self._connection.execute(statement, empty)
        return self._select_for_update(streams)

    def _select_for_update(self, streams: Sequence[StreamId]) -> dict[StreamId, Timeline]:
        wanted = [tuple(stream) for stream in streams]
        found = map(rows.timeline_of, self._connection.execute(_LOCK_STREAMS, {"wanted": wanted}))
        return {timeline.stream: timeline for timeline in found}

    def _upsert(self, table: Table, values: Sequence[rows.Row]) -> None:
        if values:
            self._connection.execute(_upserting(self._connection.dialect.name, table), values)


@cache
def _upserting(dialect: str, table: Table) -> Any:
    statement = _inserting(dialect)(table)
    rest = {column.name: statement.excluded[column.name] for column in table.columns if not column.primary_key}
    return statement.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=rest)


def _inserting(dialect: str) -> Any:
    return postgresql_insert if dialect == "postgresql" else sqlite_insert
