"""Everything a run said, as files that other tools read."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mosaic.client.platform import Mosaic
from mosaic.errors import MosaicError
from mosaic.worker.plain import to_json

Written = tuple[Path, int]

_ROWS_AT_ONCE = 50_000


def write_jsonl(platform: Mosaic, run_id: str, folder: Path) -> Iterator[Written]:
    """Write one ``.jsonl`` file per table and yield each with its number of rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in _tables(platform, run_id).items():
        path, count = folder / f"{name}.jsonl", 0
        draft = path.with_suffix(".part")
        with draft.open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(to_json(row) + "\n")
                count += 1
        draft.replace(path)
        yield path, count


def write_parquet(platform: Mosaic, run_id: str, folder: Path) -> Iterator[Written]:
    """Write one ``.parquet`` file per table and yield each with its number of rows.

    Raises:
        MosaicError: pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MosaicError("Parquet needs pyarrow: pip install 'mosaic-sdk[export]'") from error
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in _tables(platform, run_id).items():
        path, count = folder / f"{name}.parquet", 0
        draft = path.with_suffix(".part")
        writer = None
        for batch in _batches(rows):
            table = pyarrow.Table.from_pylist([_flat(row) for row in batch])
            writer = writer or pyarrow.parquet.ParquetWriter(draft, table.schema)
            writer.write_table(table.cast(writer.schema))
            count += len(batch)
        if writer is not None:
            writer.close()
            draft.replace(path)
            yield path, count


def _tables(platform: Mosaic, run_id: str) -> Mapping[str, Iterable[dict[str, Any]]]:
    return {
        "events": (event.as_json() for event in platform.events(run_id)),
        "episodes": (dataclasses.asdict(episode) for episode in platform.episodes(run_id)),
        "metrics": _points(platform, run_id),
    }


def _points(platform: Mosaic, run_id: str) -> Iterator[dict[str, Any]]:
    for key in sorted({(info.name, info.agent) for info in platform.series(run_id)}):
        curve = platform.curve(run_id, key[0], agent=key[1], resolution=0)
        for step, value in zip(curve.steps, curve.means, strict=True):
            yield {"name": key[0], "agent": key[1], "step": step, "value": value, "unit": curve.unit}


def _batches(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _ROWS_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Events differ in shape, columns may not: what is nested is kept as JSON text."""
    return {key: to_json(value) if isinstance(value, dict) else value for key, value in row.items()}
