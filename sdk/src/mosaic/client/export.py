"""Everything that runs said, as files that other tools read: runs, events, episodes and metrics.

Each table holds the rows of all runs, told apart by ``run_id``.
"""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from mosaic.client.platform import Mosaic
from mosaic.client.values import Episode
from mosaic.errors import MosaicError
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


@dataclasses.dataclass(frozen=True, slots=True)
class _Table:
    columns: Sequence[str]
    rows: Iterable[Row]


def write_jsonl(
    platform: Mosaic, runs: str | Sequence[str], folder: Path, *, all_attempts: bool = False
) -> Iterator[Written]:
    """Write one ``.jsonl`` file per table and yield each with its number of rows.

    Episodes and metrics are those that count; with *all_attempts* all of them, with the attempt that told them.
    """
    for name, table in _tables(platform, runs, all_attempts).items():
        yield _write_lines(folder, f"{name}.jsonl", table, lambda file, row: file.write(to_json(row) + "\n"))


def write_csv(
    platform: Mosaic, runs: str | Sequence[str], folder: Path, *, all_attempts: bool = False
) -> Iterator[Written]:
    """Write one ``.csv`` file per table, as `write_jsonl` does; what is nested stands in its cell as JSON."""
    for name, table in _tables(platform, runs, all_attempts).items():
        yield _write_lines(folder, f"{name}.csv", table, _csv_row, head=table.columns)


def write_parquet(
    platform: Mosaic, runs: str | Sequence[str], folder: Path, *, all_attempts: bool = False
) -> Iterator[Written]:
    """Write one ``.parquet`` file per table that has rows, as `write_jsonl` does.

    Raises:
        MosaicError: pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MosaicError("Parquet needs pyarrow: pip install 'mosaic-sdk[export]'") from error
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in _tables(platform, runs, all_attempts).items():
        path, count = folder / f"{name}.parquet", 0
        draft = path.with_suffix(".part")
        writer = None
        for batch in _batches(table.rows):
            part = pyarrow.Table.from_pylist([_flat(row) for row in batch])
            writer = writer or pyarrow.parquet.ParquetWriter(draft, part.schema)
            writer.write_table(part.cast(writer.schema))
            count += len(batch)
        if writer is not None:
            writer.close()
            draft.replace(path)
            yield path, count


def _write_lines(
    folder: Path, name: str, table: _Table, write: Callable[[Any, Row], object], *, head: Sequence[str] = ()
) -> Written:
    folder.mkdir(parents=True, exist_ok=True)
    path, count = folder / name, 0
    draft = path.with_suffix(".part")
    with draft.open("w", encoding="utf-8", newline="") as file:
        if head:
            csv.writer(file).writerow(head)
        for row in table.rows:
            write(file, {column: row.get(column) for column in table.columns} if head else row)
            count += 1
    draft.replace(path)
    return path, count


def _csv_row(file: Any, row: Row) -> None:
    csv.writer(file).writerow(_flat(row).values())


def _tables(platform: Mosaic, runs: str | Sequence[str], all_attempts: bool) -> Mapping[str, _Table]:
    run_ids = [runs] if isinstance(runs, str) else list(runs)

    def each(read: Callable[[Mosaic, str, bool], Iterable[Row]]) -> Iterable[Row]:
        return chain.from_iterable(read(platform, run_id, all_attempts) for run_id in run_ids)

    return {
        "runs": _Table(_RUN_COLUMNS, each(_run)),
        "events": _Table(_EVENT_COLUMNS, each(_events)),
        "episodes": _Table(_EPISODE_COLUMNS, each(_episodes)),
        "metrics": _Table(_METRIC_COLUMNS if all_attempts else _METRIC_COLUMNS[:-1], each(_points)),
    }


def _run(platform: Mosaic, run_id: str, _all_attempts: bool) -> Iterator[Row]:
    run = platform.run(run_id).run
    told = {name: getattr(run, name) for name in _OF_RUN}
    yield plain({**told, **{name: getattr(run.spec, name) for name in (*_OF_SPEC, *_DIGESTS)}})


def _events(platform: Mosaic, run_id: str, _all_attempts: bool) -> Iterator[Row]:
    for event in platform.events(run_id):
        yield {"run_id": run_id, **event.as_json()}


def _episodes(platform: Mosaic, run_id: str, all_attempts: bool) -> Iterator[Row]:
    for episode in platform.episodes(run_id, kind="all", include_lost=all_attempts):
        yield {"run_id": run_id, **dataclasses.asdict(episode)}


def _points(platform: Mosaic, run_id: str, all_attempts: bool) -> Iterator[Row]:
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
