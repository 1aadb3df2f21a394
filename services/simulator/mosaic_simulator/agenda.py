"""What is due and when: the events of a simulation in order of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from heapq import heappop, heappush

from mosaic.ids import RunId
from mosaic_simulator.trace import NodeEvent, Trace, TracedRun


class Due(IntEnum):
    """What becomes due for an attempt; at the same moment in this order."""

    FINISH = 0  #: its work is done
    TIME_LIMIT = 1
    GONE = 2  #: it was asked to leave and has left
    CHECKPOINT = 3  #: the scheduler hears of its latest checkpoint
    WAKE = 4  #: its run may be tried again


@dataclass(frozen=True, slots=True)
class AttemptEvent:
    """Something that happens to one attempt, unless the attempt has ended before."""

    due: Due
    run_id: RunId
    attempt: int


Event = TracedRun | NodeEvent | AttemptEvent


class Agenda:
    """Merges the trace with what the simulation itself schedules; equal inputs give an equal order."""

    def __init__(self, trace: Trace) -> None:
        events: list[TracedRun | NodeEvent] = [*trace.node_events, *trace.runs]
        self._trace = sorted(events, key=lambda event: event.at)
        self._next = 0
        self._heap: list[tuple[float, Due, RunId, int]] = []

    def add(self, at: float, event: AttemptEvent) -> None:
        """Make *event* due at the moment *at*."""
        heappush(self._heap, (at, event.due, event.run_id, event.attempt))

    def next_at(self) -> float | None:
        """Return the moment of the next event; None when nothing is due any more."""
        traced = self._trace[self._next].at if self._next < len(self._trace) else None
        scheduled = self._heap[0][0] if self._heap else None
        if traced is None or scheduled is None:
            return traced if scheduled is None else scheduled
        return min(traced, scheduled)

    def pop_until(self, moment: float) -> Iterator[tuple[float, Event]]:
        """Yield what is due up to *moment* in order of time; what is added meanwhile takes part."""
        at = self.next_at()
        while at is not None and at <= moment:
            yield at, self._pop(at)
            at = self.next_at()

    def _pop(self, at: float) -> Event:
        if self._heap and self._heap[0][0] <= at:
            _, due, run_id, attempt = heappop(self._heap)
            return AttemptEvent(due, run_id, attempt)
        self._next += 1
        return self._trace[self._next - 1]
