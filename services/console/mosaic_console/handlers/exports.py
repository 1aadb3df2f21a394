"""Tables of what runs said, as streams of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum

from mosaic.client import Curve, Episodes, EventLine, RunDetail, SeriesInfo
from mosaic.client.export import Table, csv_lines, json_lines, parquet_bytes, tables
from mosaic_console.ports import Platform

#: So much is gathered before it is sent.
_CHUNK = 64 * 1024


class Format(str, Enum):
    """How a table is written."""

    NDJSON = "ndjson"
    CSV = "csv"
    PARQUET = "parquet"


class TableName(str, Enum):
    """What can be exported."""

    RUNS = "runs"
    EVENTS = "events"
    EPISODES = "episodes"
    METRICS = "metrics"


_WRITERS: Mapping[Format, Callable[[Table], Iterator[bytes]]] = {
    Format.NDJSON: json_lines,
    Format.CSV: csv_lines,
    Format.PARQUET: parquet_bytes,
}


class Export:
    """One table as bytes. A `mosaic_console.ports.Stream`."""

    def __init__(
        self, platform: Platform, run_ids: Sequence[str], table: TableName, form: Format, *, all_attempts: bool
    ) -> None:
        chosen = tables(_Source(platform), run_ids, all_attempts=all_attempts)[table.value]
        self._parts = _gathered(_WRITERS[form](chosen))
        self._is_closed = False

    def __iter__(self) -> Export:
        return self

    def __next__(self) -> bytes:
        if self._is_closed:
            raise StopIteration
        return next(self._parts)

    def close(self) -> None:
        """Want no more; what is being read at this moment is the last."""
        self._is_closed = True


class _Source:
    """A platform as exports read one: event by event."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def run(self, run_id: str) -> RunDetail:
        return self._platform.run(run_id)

    def events(self, run_id: str) -> Iterable[EventLine]:
        return (line for lines in self._platform.events(run_id) for line in lines)

    def episodes(self, run_id: str, *, kind: str, include_lost: bool) -> Episodes:
        return self._platform.episodes(run_id, kind=kind, include_lost=include_lost)

    def series(self, run_id: str, *, attempt: int) -> list[SeriesInfo]:
        return self._platform.series(run_id, attempt=attempt)

    def curve(self, run_id: str, name: str, *, agent: str, attempt: int, resolution: int) -> Curve:
        return self._platform.curve(run_id, name, agent=agent, attempt=attempt, resolution=resolution)


def _gathered(parts: Iterator[bytes]) -> Iterator[bytes]:
    waiting = bytearray()
    for part in parts:
        waiting += part
        if len(waiting) >= _CHUNK:
            yield bytes(waiting)
            waiting.clear()
    yield bytes(waiting)
