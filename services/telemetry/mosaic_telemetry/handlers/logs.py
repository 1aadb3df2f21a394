"""Read what a run said to people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from mosaic.events import Log, LogLine, read_line
from mosaic.events.scan import TEXT
from mosaic_telemetry.handlers.lines import Line, Lines, follow_lines, lines_of, read_lines
from mosaic_telemetry.ports import EventStore, LiveFeed, Position

LOG_KINDS = frozenset({TEXT, "log"})


class LogEntry(NamedTuple):
    """A line of log text; ``stream`` is stdout, stderr or worker."""

    attempt: int
    seq: int
    time: float
    stream: str
    level: str
    text: str


def read_logs(run_id: str, *, attempt: int = 0, tail: int = 0, store: EventStore) -> Iterator[list[LogEntry]]:
    """Yield the log lines stored now, or only the newest *tail* of them."""
    if tail:
        yield _tail(run_id, attempt, tail, store)
        return
    for lines in read_lines(run_id, Position(0, 0), attempt=attempt, kinds=LOG_KINDS, store=store):
        yield entries_of(lines)


def follow_logs(
    run_id: str,
    *,
    attempt: int = 0,
    tail: int = 0,
    store: EventStore,
    feed: LiveFeed,
    is_wanted: Callable[[], bool] = lambda: True,
) -> Iterator[list[LogEntry]]:
    """Yield log lines and go on until the run has ended; with *tail*, begin with its newest lines."""
    start = Position(0, 0)
    if tail:
        timelines = [line for line in store.timelines(run_id) if attempt in (0, line.stream.attempt)]
        if timelines:
            start = Position(timelines[-1].stream.attempt, timelines[-1].heard.last + 1)
        yield [entry for entry in _tail(run_id, attempt, tail, store) if (entry.attempt, entry.seq) < start]
    following = follow_lines(
        run_id, start, attempt=attempt, kinds=LOG_KINDS, store=store, feed=feed, is_wanted=is_wanted
    )
    for lines in following:
        yield entries_of(lines)


def entries_of(lines: Lines) -> list[LogEntry]:
    """Return *lines* as log entries."""
    return [_entry(lines.attempt, line) for line in lines.lines]


def _tail(run_id: str, attempt: int, tail: int, store: EventStore) -> list[LogEntry]:
    newest: list[LogEntry] = []
    for frame in store.frames_backwards(run_id, attempt=attempt, kinds=LOG_KINDS):
        lines = lines_of(frame, frame.first_seq, frame.last_seq, LOG_KINDS)
        newest = entries_of(Lines(frame.stream.attempt, lines)) + newest
        if len(newest) >= tail:
            break
    return newest[-tail:]


def _entry(attempt: int, line: Line) -> LogEntry:
    match read_line(line.line):
        case Log(payload=said):
            return LogEntry(attempt, line.seq, line.time, said.stream or "worker", said.level, said.text)
        case LogLine() as printed:
            return LogEntry(attempt, line.seq, line.time, "stdout", printed.level, printed.text)
        case _:
            shown = line.line.decode("utf-8", "replace")
            return LogEntry(attempt, line.seq, line.time, "stdout", "info", shown)
