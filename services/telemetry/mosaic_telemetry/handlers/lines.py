"""Read the lines of a run, from any position, as they are or live."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from mosaic.events import LogLine, Scan, read_line, scan_lines
from mosaic.events.frame import decode
from mosaic.events.scan import TEXT, VIOLATION
from mosaic_telemetry.domain.outlook import Outlook, Stretch, outlook
from mosaic_telemetry.ports import EventStore, LiveFeed, Position, StoredFrame

#: How long a follower waits for lines that are late before it goes on without them.
_PATIENCE_S = 3.0
#: A hint of news can be missed; this often a follower looks without one.
_LOOK_ANYWAY_S = 2.0


class Line(NamedTuple):
    """A line with its stamp and what it is."""

    seq: int
    time: float
    kind: str
    line: bytes


class Lines(NamedTuple):
    """Lines of one attempt, in order."""

    attempt: int
    lines: list[Line]
    #: No more will come.
    is_end: bool = False


def read_lines(
    run_id: str, start: Position, *, attempt: int = 0, kinds: Collection[str] = (), store: EventStore
) -> Iterator[Lines]:
    """Yield the lines stored now, from *start* on; gaps are stepped over and show in the numbers."""
    timelines = [line for line in store.timelines(run_id) if attempt in (0, line.stream.attempt)]
    seen = outlook(timelines, start.attempt, start.seq, past_gaps=True)
    yield from _read(run_id, seen, kinds, store)


def follow_lines(
    run_id: str,
    start: Position,
    *,
    attempt: int = 0,
    kinds: Collection[str] = (),
    store: EventStore,
    feed: LiveFeed,
    is_wanted: Callable[[], bool] = lambda: True,
    monotonic: Callable[[], float] = time.monotonic,
) -> Iterator[Lines]:
    """Yield lines from *start* on and go on as they arrive, until the run has ended and all was sent.

    The last item has ``is_end``. *is_wanted* is asked between looks, so that a follower can leave.
    """
    position, held_up_since = start, monotonic()
    with feed.subscribe(run_id) as news:
        while is_wanted():
            is_final = _is_finished(run_id, store)
            past_gaps = is_final or monotonic() - held_up_since > _PATIENCE_S
            timelines = [line for line in store.timelines(run_id) if attempt in (0, line.stream.attempt)]
            seen = outlook(timelines, position.attempt, position.seq, past_gaps=past_gaps)
            yield from _read(run_id, seen, kinds, store)
            if is_final:
                yield Lines(timelines[-1].stream.attempt if timelines else 0, [], is_end=True)
                return
            if seen.stretches:
                position = Position(seen.stretches[-1].attempt, seen.stretches[-1].last_seq + 1)
            if seen.stretches or not seen.is_held_up:
                held_up_since = monotonic()
            news.wait(_LOOK_ANYWAY_S)


def kinds_of(lines: list[bytes], scan: Scan | None = None) -> list[str]:
    """Return what each of *lines* is, by the names `Scan.counts` uses."""
    scan = scan or scan_lines(lines)
    # A scan keeps the points of metrics, not their lines; whatever is nothing else is one.
    kinds = ["metric"] * len(lines)
    for number in scan.heartbeats:
        kinds[number] = "heartbeat"
    for row in scan.episodes:
        kinds[row.line] = "episode"
    for number in scan.steps:
        kinds[number] = "step"
    for number, event in scan.events:
        kinds[number] = event.event
    for number, _ in scan.violations:
        kinds[number] = VIOLATION
    for number in scan.logs:
        is_text = isinstance(read_line(lines[number]), LogLine)
        kinds[number] = TEXT if is_text else "log"
    return kinds


def lines_of(frame: StoredFrame, first: int, last: int, kinds: Collection[str] = ()) -> list[Line]:
    """Return the lines *first* to *last* of a stored frame that are of *kinds* (all, when empty)."""
    unpacked = decode(frame.body)
    lines = unpacked.lines
    names = list(frame.kinds) * len(lines) if len(frame.kinds) == 1 else kinds_of(lines)
    numbers = range(frame.first_seq, frame.last_seq + 1)
    return [
        Line(seq, moment, kind, line)
        for seq, moment, kind, line in zip(numbers, unpacked.line_times(), names, lines, strict=True)
        if first <= seq <= last and (not kinds or kind in kinds)
    ]


def _is_finished(run_id: str, store: EventStore) -> bool:
    """Tell whether the run has its manifest and no newer attempt was heard of."""
    ended = store.finished_run(run_id)
    if ended is None or ended.written_revision < 0:
        return False
    newest = max((attempt.attempt for attempt in ended.finished.attempts), default=0)
    return all(timeline.stream.attempt <= newest for timeline in store.timelines(run_id))


def _read(run_id: str, seen: Outlook, kinds: Collection[str], store: EventStore) -> Iterator[Lines]:
    for stretch in seen.stretches:
        yield from _read_stretch(run_id, stretch, kinds, store)


def _read_stretch(run_id: str, stretch: Stretch, kinds: Collection[str], store: EventStore) -> Iterator[Lines]:
    start = Position(stretch.attempt, stretch.first_seq)
    for frame in store.frames(run_id, start, attempt=stretch.attempt, kinds=kinds):
        if frame.first_seq > stretch.last_seq:
            return
        lines = lines_of(frame, stretch.first_seq, stretch.last_seq, kinds)
        if lines:
            yield Lines(stretch.attempt, lines)
