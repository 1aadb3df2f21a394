"""Between rows and the domain's values."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from mosaic.messaging.event_messages import read_run_finished
from mosaic_telemetry.domain.downsample import Bucket
from mosaic_telemetry.domain.facts import Episode, Fact
from mosaic_telemetry.domain.ranges import SeqRanges
from mosaic_telemetry.domain.series import Extreme, Rollup, Series, SeriesKey
from mosaic_telemetry.domain.tally import Tallies, Tally
from mosaic_telemetry.domain.timeline import Mark, StreamId, Timeline
from mosaic_telemetry.ports import FinishedRun, PointBlock, Points, StoredFrame

Row = dict[str, Any]


def timeline_row(timeline: Timeline) -> Row:
    """Return *timeline* as a row."""
    return {
        "run_id": timeline.stream.run_id,
        "attempt": timeline.stream.attempt,
        "heard": json.dumps(timeline.heard.ranges),
        "counts": json.dumps(dict(timeline.counts)),
        "marks": json.dumps(timeline.marks),
        "first_time": timeline.first_time,
        "last_time": timeline.last_time,
        "last_step": timeline.last_step,
        "episodes": _tallies_json(timeline.episodes),
    }


def timeline_of(row: Any) -> Timeline:
    """Return the timeline in *row*."""
    return Timeline(
        StreamId(row.run_id, row.attempt),
        SeqRanges(tuple((first, last) for first, last in json.loads(row.heard))),
        json.loads(row.counts),
        row.first_time,
        row.last_time,
        row.last_step,
        tuple(Mark(*mark) for mark in json.loads(row.marks)),
        _tallies_in(row.episodes),
    )


def series_row(series: Series) -> Row:
    """Return *series* as a row."""
    lowest, highest = series.lowest, series.highest
    return {
        "series_id": series.series_id,
        "run_id": series.stream.run_id,
        "attempt": series.stream.attempt,
        "name": series.key.name,
        "agent": series.key.agent,
        "unit": series.unit,
        "points": series.count,
        "first_step": series.first_step,
        "last_step": series.last_step,
        "last_value": _nullable(series.last_value),
        "lowest_value": lowest.value if lowest else None,
        "lowest_step": lowest.step if lowest else None,
        "highest_value": highest.value if highest else None,
        "highest_step": highest.step if highest else None,
        "open_buckets": json.dumps(series.open_buckets),
    }


def series_of(row: Any) -> Series:
    """Return the series in *row*."""
    return Series(
        StreamId(row.run_id, row.attempt),
        SeriesKey(row.name, row.agent),
        row.unit,
        row.points,
        row.first_step,
        row.last_step,
        number_of(row.last_value),
        Extreme(row.lowest_value, row.lowest_step) if row.lowest_value is not None else None,
        Extreme(row.highest_value, row.highest_step) if row.highest_value is not None else None,
        tuple(Bucket(*bucket) if bucket else None for bucket in json.loads(row.open_buckets)),
    )


def rollup_row(series_id: int, rollup: Rollup) -> Row:
    """Return *rollup* as a row."""
    bucket = rollup.bucket
    return {
        "series_id": series_id,
        "level": rollup.level,
        "place": rollup.place,
        "step_first": bucket.step_first,
        "step_last": bucket.step_last,
        "points": bucket.points,
        "numbers": bucket.numbers,
        "minimum": _nullable(bucket.minimum),
        "maximum": _nullable(bucket.maximum),
        "total": _nullable(bucket.total),
    }


def bucket_of_row(row: Any) -> Bucket:
    """Return the bucket in *row*: step_first, step_last, points, numbers, minimum, maximum, total."""
    first, last, points, numbers, minimum, maximum, total = row
    return Bucket(first, last, points, numbers, number_of(minimum), number_of(maximum), number_of(total))


def points_row(block: PointBlock) -> Row:
    """Return *block* as a row."""
    return {
        "series_id": block.series.series_id,
        "first_seq": block.first_seq,
        "step_first": min(block.steps),
        "step_last": max(block.steps),
        "first_time": block.first_time,
        "last_time": block.last_time,
        "packed": _little_endian(block.steps) + _little_endian(block.values),
    }


def points_of(found: Sequence[Any]) -> Points:
    """Return all the points of rows ``(packed, first_time, last_time)``, however few each of very many holds."""
    numbers = np.frombuffer(b"".join(packed for packed, _, _ in found), "<f8")
    sizes = np.array([len(packed) // 16 for packed, _, _ in found], np.int64)
    begins, ends = (np.array([row[column] for row in found], np.float64) for column in (1, 2))
    starts, each = np.cumsum(sizes) - sizes, np.repeat(sizes, sizes)
    within = np.arange(len(numbers) // 2) - np.repeat(starts, sizes)
    place = within + np.repeat(2 * starts, sizes)
    share = within / np.maximum(each - 1, 1)
    return Points(
        numbers[place], numbers[place + each], np.repeat(begins, sizes) + share * np.repeat(ends - begins, sizes)
    )


def frame_row(frame: StoredFrame) -> Row:
    """Return *frame* as a row."""
    return {
        "run_id": frame.stream.run_id,
        "attempt": frame.stream.attempt,
        "first_seq": frame.first_seq,
        "last_seq": frame.last_seq,
        "kinds": json.dumps(dict(frame.kinds)),
        "first_time": frame.first_time,
        "last_time": frame.last_time,
        "body": frame.body,
    }


def frame_of(row: Any) -> StoredFrame:
    """Return the frame in *row*."""
    return StoredFrame(
        StreamId(row.run_id, row.attempt),
        row.first_seq,
        row.last_seq,
        json.loads(row.kinds),
        row.first_time,
        row.last_time,
        bytes(row.body),
    )


def episode_row(episode: Episode) -> Row:
    """Return *episode* as a row."""
    fields = episode._asdict()
    stream = fields.pop("stream")
    fields["episode_return"] = _nullable(episode.episode_return)
    return {"run_id": stream.run_id, "attempt": stream.attempt, **fields}


def episode_of(row: Any) -> Episode:
    """Return the episode in *row*."""
    return Episode(
        StreamId(row.run_id, row.attempt),
        row.seq,
        row.time,
        row.number,
        row.agent,
        number_of(row.episode_return),
        row.length,
        row.step,
        row.evaluation,
    )


def fact_row(fact: Fact) -> Row:
    """Return *fact* as a row."""
    return {
        "run_id": fact.stream.run_id,
        "attempt": fact.stream.attempt,
        "seq": fact.seq,
        "time": fact.time,
        "kind": fact.kind,
        "payload": json.dumps(dict(fact.payload)),
    }


def fact_of(row: Any) -> Fact:
    """Return the fact in *row*."""
    return Fact(StreamId(row.run_id, row.attempt), row.seq, row.time, row.kind, json.loads(row.payload))


def finished_run_of(row: Any) -> FinishedRun:
    """Return the ended run in *row*."""
    return FinishedRun(
        read_run_finished(row.finished.encode()),
        datetime.fromtimestamp(row.due_at, UTC),
        row.revision,
        row.written_revision,
        row.manifest_json,
        row.digest,
        row.path,
    )


def _tallies_json(tallies: Tallies) -> str:
    return json.dumps({"by_kind": tallies.by_kind, "agents": tallies.agents}) if tallies.by_kind else "{}"


def _tallies_in(text: str) -> Tallies:
    if text == "{}":
        return Tallies()
    stored = json.loads(text)
    return Tallies({kind: Tally(*tally) for kind, tally in stored["by_kind"].items()}, tuple(stored["agents"]))


def _little_endian(numbers: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(numbers)}d", *numbers)


def _nullable(number: float) -> float | None:
    # SQLite stores NaN as NULL; saying so ourselves keeps both databases alike.
    return None if number != number else number


def number_of(stored: float | None) -> float:
    """Return the number that was stored, which may be none."""
    return math.nan if stored is None else stored
