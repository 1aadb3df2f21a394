"""How far a reader may go without missing a line that is still on its way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mosaic_telemetry.domain.timeline import Timeline


class Stretch(NamedTuple):
    """Consecutive lines of one attempt."""

    attempt: int
    first_seq: int
    last_seq: int


class Outlook(NamedTuple):
    """What a reader can have now."""

    stretches: tuple[Stretch, ...]
    #: There is more behind a gap, or in a later attempt; it waits for lines that may still come.
    is_held_up: bool


def outlook(timelines: Sequence[Timeline], attempt: int, seq: int, *, past_gaps: bool) -> Outlook:
    """Return what can be read from *(attempt, seq)* on, in order.

    A gap holds a reader up, because its lines may only be late; with *past_gaps* it is stepped over.
    An attempt that has not said its last word holds up the next one in the same way.
    """
    stretches: list[Stretch] = []
    later = [timeline for timeline in timelines if timeline.stream.attempt >= attempt]
    for number, timeline in enumerate(later):
        first = seq if timeline.stream.attempt == attempt else 0
        missing = timeline.heard.missing(first, max(first - 1, timeline.heard.last))
        stretches += _between(timeline, first, missing, past_gaps=past_gaps)
        has_ended = bool(timeline.counts.get("attempt_ended"))
        is_last = number == len(later) - 1
        if not past_gaps and (missing or not (has_ended or is_last)):
            return Outlook(tuple(stretches), True)
    return Outlook(tuple(stretches), False)


def _between(timeline: Timeline, first: int, missing: Sequence[tuple[int, int]], *, past_gaps: bool) -> list[Stretch]:
    attempt, last = timeline.stream.attempt, timeline.heard.last
    stretches: list[Stretch] = []
    for gap_first, gap_last in missing:
        if gap_first > first:
            stretches.append(Stretch(attempt, first, gap_first - 1))
        if not past_gaps:
            return stretches
        first = gap_last + 1
    return [*stretches, Stretch(attempt, first, last)] if first <= last else stretches
