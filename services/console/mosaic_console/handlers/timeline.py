"""The attempts of a run as bars on one line of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from mosaic.client import Attempt, Run

#: Length of the whole line, in its own units.
WHOLE = 1000.0
_LEAST = 2.0


@dataclass(frozen=True)
class Bar:
    """A stretch of the line."""

    #: ``waiting``, ``starting``, or the state of the attempt.
    kind: str
    start: float
    length: float


def bars_of(run: Run, attempts: Sequence[Attempt], *, now: datetime) -> list[list[Bar]]:
    """Return the bars of each attempt; the line reaches from the submit to the end, or to *now*."""
    end = run.ended_at or now
    whole_s = max((end - run.submitted_at).total_seconds(), 1e-3)

    def bar(kind: str, begins: datetime, ends: datetime) -> Bar:
        start = WHOLE * (begins - run.submitted_at).total_seconds() / whole_s
        length = WHOLE * (ends - begins).total_seconds() / whole_s
        return Bar(kind, round(min(max(start, 0.0), WHOLE - _LEAST), 1), round(min(max(length, _LEAST), WHOLE), 1))

    def bars(attempt: Attempt, waited_from: datetime) -> Iterator[Bar]:
        yield bar("waiting", waited_from, attempt.admitted_at)
        ended = attempt.ended_at or end
        yield bar("starting", attempt.admitted_at, attempt.started_at or ended)
        if attempt.started_at is not None:
            yield bar(attempt.state.value, attempt.started_at, ended)

    befores = [run.submitted_at, *((attempt.ended_at or end) for attempt in attempts)]
    return [list(bars(attempt, before)) for attempt, before in zip(attempts, befores, strict=False)]
