"""One transaction of the event store: rows are gathered and written together at its end."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, insert, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from mosaic_telemetry.adapters import rows, tables
from mosaic_telemetry.domain.facts import Episode, Fact
from mosaic_telemetry.domain.series import Rollup, Series, SeriesKey
from mosaic_telemetry.domain.timeline import StreamId, Timeline
from mosaic_telemetry.ports import PointBlock, StoredFrame


class SqlWriter:
    """Gathers what a transaction adds. An `EventWriter`; `flush` writes it."""

    def __init__(self, connection: Connection, streams: Collection[StreamId]) -> None:
        """Lock *streams* until the transaction ends, always in the same order."""
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
        table = tables.series
        query = select(table).where(table.c.run_id == stream.run_id, table.c.attempt == stream.attempt)
        found = (rows.series_of(row) for row in self._connection.execute(query))
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
        """Write everything; the manifests of sealed runs become stale."""
        for table, added in self._added.items():
            self._connection.execute(insert(table), added)
        self._upsert(tables.rollups, list(self._rollups.values()))
        self._upsert(tables.series, [rows.series_row(series) for series in self._series.values()])
        self._upsert(tables.streams, [rows.timeline_row(timeline) for timeline in self._changed.values()])
        if self._changed:
            seals = tables.seals
            run_ids = {stream.run_id for stream in self._changed}
            stale = update(seals).where(seals.c.run_id.in_(run_ids)).values(revision=seals.c.revision + 1)
            self._connection.execute(stale)

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
        self._connection.execute(self._insert(tables.streams).on_conflict_do_nothing(), empty)
        return self._select_for_update(streams)

    def _select_for_update(self, streams: Sequence[StreamId]) -> dict[StreamId, Timeline]:
        table = tables.streams
        wanted = tuple_(table.c.run_id, table.c.attempt).in_([tuple(stream) for stream in streams])
        query = select(table).where(wanted).order_by(table.c.run_id, table.c.attempt).with_for_update()
        found = (rows.timeline_of(row) for row in self._connection.execute(query))
        return {timeline.stream: timeline for timeline in found}

    def _upsert(self, table: Table, values: Sequence[rows.Row]) -> None:
        if not values:
            return
        statement = self._insert(table)
        keys = [column.name for column in table.primary_key.columns]
        rest = {name: statement.excluded[name] for name in values[0] if name not in keys}
        self._connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=rest), values)

    def _insert(self, table: Table) -> Any:
        make = postgresql_insert if self._connection.dialect.name == "postgresql" else sqlite_insert
        return make(table)
