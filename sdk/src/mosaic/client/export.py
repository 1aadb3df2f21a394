"""Everything that runs said, as files that other tools read: runs, events, episodes and metrics.

Each table holds the rows of all runs, told apart by ``run_id``.
"""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from mosaic.client.values import Curve, Episode, Episodes, EventLine, SeriesInfo
from mosaic.errors import Refused
from mosaic.model.attempt import RunDetail
from mosaic.model.run import Run, RunSpec
from mosaic.worker.plain import plain, to_json

Written = tuple[Path, int]
Row = dict[str, Any]

_ROWS_AT_ONCE = 50_000
#: The columns of a table without rows, and their order in CSV.
_EVENT_COLUMNS = ("run_id", "attempt", "seq", "time", "kind", "event")
_METRIC_COLUMNS = ("run_id", "name", "agent", "step", "value", "unit", "attempt")
_EPISODE_COLUMNS = ("run_id", *(field.name for field in dataclasses.fields(Episode)))
_OF_SPEC = tuple(field.name for field in dataclasses.fields(RunSpec) if field.name != "not_before")
_OF_RUN = tuple(field.name for field in dataclasses.fields(Run) if field.name != "spec")
_DIGESTS = ("config_digest", "run_digest")
#: What was asked for and how it stands, side by side.
_RUN_COLUMNS = (*_OF_RUN, *_OF_SPEC, *_DIGESTS)


class Source(Protocol):
    """What is exported from: a `mosaic.client.Mosaic`, or what stands behind one."""

    def run(self, run_id: str) -> RunDetail:
        """Return a run with its attempts."""

    def events(self, run_id: str) -> Iterable[EventLine]:
        """Return its events in order."""

    def episodes(self, run_id: str, *, kind: str, include_lost: bool) -> Episodes:
        """Return its episodes."""

    def series(self, run_id: str, *, attempt: int) -> list[SeriesInfo]:
        """Return its curves."""

    def curve(self, run_id: str, name: str, *, agent: str, attempt: int, resolution: int) -> Curve:
        """Return one of them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """Rows of all runs, read when they are asked for."""

    columns: Sequence[str]
    rows: Iterable[Row]


def write_jsonl(
    platform: Source, runs: str | Sequence[str], folder: Path, *, all_attempts: bool = False
) -> Iterator[Written]:
    """Write one ``.jsonl`` file per table and yield each with its number of rows.

    Episodes and metrics are those that count; with *all_attempts* all of them, with the attempt that told them.
    """
    yield from _write(platform, runs, folder, all_attempts, "jsonl", json_lines)


def write_csv(
    platform: Source, runs: str | Sequence[str], folder: Path, *, all_attempts: bool = False
) -> Iterator[Written]:
    """Write one ``.csv`` file per table, as `write_jsonl` does; what is nested stands in its cell as JSON."""
    yield from _write(platform, runs, folder, all_attempts, "csv", csv_lines)


def write_parquet(
    platform: Source, runs: str | Sequence[str], folder: Path, *, all_attempts: bool = False
) -> Iterator[Written]:
    """Write one ``.parquet`` file per table that has rows, as `write_jsonl` does.

    Raises:
        Refused: pyarrow is not installed.
    """
    for path, count in _write(platform, runs, folder, all_attempts, "parquet", parquet_bytes):
        if count:
            yield path, count
        else:
            path.unlink()


def tables(platform: Source, run_ids: Sequence[str], *, all_attempts: bool = False) -> Mapping[str, Table]:
    """Return what can be exported, by name."""

    def each(read: Callable[[Source, str, bool], Iterable[Row]]) -> Iterable[Row]:
        return chain.from_iterable(read(platform, run_id, all_attempts) for run_id in run_ids)

    return {
        "runs": Table(_RUN_COLUMNS, each(_run)),
        "events": Table(_EVENT_COLUMNS, each(_events)),
        "episodes": Table(_EPISODE_COLUMNS, each(_episodes)),
        "metrics": Table(_METRIC_COLUMNS if all_attempts else _METRIC_COLUMNS[:-1], each(_points)),
    }


def json_lines(table: Table) -> Iterator[bytes]:
    """Yield the table as JSON, one row a line."""
    for row in table.rows:
        yield to_json(row).encode() + b"\n"


def csv_lines(table: Table) -> Iterator[bytes]:
    """Yield the table as CSV with its columns in the first line; what is nested stands in its cell as JSON."""
    for row in chain([dict(zip(table.columns, table.columns, strict=True))], table.rows):
        line = io.StringIO(newline="")
        csv.writer(line).writerow(_flat({column: row.get(column) for column in table.columns}).values())
        yield line.getvalue().encode()


def parquet_bytes(table: Table) -> Iterator[bytes]:
    """Yield the table as Parquet; one without rows has columns of no type.

    Raises:
        Refused: pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise Refused("Parquet needs pyarrow: pip install 'mosaic-sdk[export]', or take csv") from error
    sink = _Sink()
    writer = None
    nothing: Iterable[list[Row]] = [[]]
    for batch in chain(_batches(table.rows), nothing):
        if batch or writer is None:
            part = pyarrow.Table.from_pylist([_flat(row) for row in batch]) if batch else _empty(pyarrow, table)
            writer = writer or pyarrow.parquet.ParquetWriter(sink, part.schema)
            writer.write_table(part.cast(writer.schema))
            yield sink.drain()
    assert writer is not None
    writer.close()
    yield sink.drain()


def _write(
    platform: Source,
    runs: str | Sequence[str],
    folder: Path,
    all_attempts: bool,
    suffix: str,
    written: Callable[[Table], Iterable[bytes]],
) -> Iterator[Written]:
    folder.mkdir(parents=True, exist_ok=True)
    run_ids = [runs] if isinstance(runs, str) else list(runs)
    for name, table in tables(platform, run_ids, all_attempts=all_attempts).items():
        counted = _Counted(table.rows)
        path = folder / f"{name}.{suffix}"
        draft = path.with_suffix(".part")
        with draft.open("wb") as file:
            for part in written(Table(table.columns, counted)):
                file.write(part)
        draft.replace(path)
        yield path, counted.count


class _Counted(Iterable[Row]):
    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = rows
        self.count = 0

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            self.count += 1
            yield row


def _empty(pyarrow: Any, table: Table) -> Any:
    return pyarrow.table({column: pyarrow.array([], pyarrow.null()) for column in table.columns})


class _Sink(io.RawIOBase):
    """A file that is read while it is written, and keeps nothing that was read."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, part: Any) -> int:
        self._parts.append(bytes(part))
        self._size += len(part)
        return len(part)

    def drain(self) -> bytes:
        """Return what was written since the last time."""
        told, self._parts = b"".join(self._parts), []
        return told


def _run(platform: Source, run_id: str, _all_attempts: bool) -> Iterator[Row]:
    run = platform.run(run_id).run
    told = {name: getattr(run, name) for name in _OF_RUN}
    yield plain({**told, **{name: getattr(run.spec, name) for name in (*_OF_SPEC, *_DIGESTS)}})


def _events(platform: Source, run_id: str, _all_attempts: bool) -> Iterator[Row]:
    for event in platform.events(run_id):
        yield {"run_id": run_id, **event.as_json()}


def _episodes(platform: Source, run_id: str, all_attempts: bool) -> Iterator[Row]:
    for episode in platform.episodes(run_id, kind="all", include_lost=all_attempts):
        yield {"run_id": run_id, **dataclasses.asdict(episode)}


def _points(platform: Source, run_id: str, all_attempts: bool) -> Iterator[Row]:
    attempts = [one.attempt for one in platform.run(run_id).attempts] if all_attempts else [0]
    for attempt in attempts:
        told = {"attempt": attempt} if all_attempts else {}
        for info in platform.series(run_id, attempt=attempt):
            curve = platform.curve(run_id, info.name, agent=info.agent, attempt=attempt, resolution=0)
            named = {"run_id": run_id, "name": info.name, "agent": info.agent}
            for step, value in zip(curve.steps, curve.means, strict=True):
                yield {**named, "step": step, "value": value, "unit": curve.unit, **told}


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _ROWS_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def _flat(row: Row) -> Row:
    """Events differ in shape, columns may not: what is nested is kept as JSON text."""
    return {key: to_json(value) if isinstance(value, (dict, list, tuple)) else value for key, value in row.items()}
