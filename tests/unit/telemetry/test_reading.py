from __future__ import annotations

from mosaic_telemetry.domain.outlook import Outlook, Stretch, outlook
from mosaic_telemetry.domain.ranges import SeqRanges
from mosaic_telemetry.domain.timeline import StreamId, Timeline


def a_timeline(attempt: int, *ranges: tuple[int, int], has_ended: bool = False) -> Timeline:
    counts = {"attempt_ended": 1} if has_ended else {}
    return Timeline(StreamId("run-1", attempt), SeqRanges(ranges), counts)


def test_a_reader_gets_everything_that_is_there() -> None:
    seen = outlook([a_timeline(1, (0, 9))], 1, 4, past_gaps=False)

    assert Outlook((Stretch(1, 4, 9),), False) == seen


def test_a_gap_holds_a_reader_up() -> None:
    seen = outlook([a_timeline(1, (0, 4), (8, 9))], 0, 0, past_gaps=False)

    assert Outlook((Stretch(1, 0, 4),), True) == seen


def test_an_impatient_reader_steps_over_gaps() -> None:
    seen = outlook([a_timeline(1, (2, 4), (8, 9)), a_timeline(2, (0, 3))], 0, 0, past_gaps=True)

    assert Outlook((Stretch(1, 2, 4), Stretch(1, 8, 9), Stretch(2, 0, 3)), False) == seen


def test_an_attempt_that_may_still_speak_holds_up_the_next() -> None:
    seen = outlook([a_timeline(1, (0, 4)), a_timeline(2, (0, 3))], 1, 0, past_gaps=False)

    assert Outlook((Stretch(1, 0, 4),), True) == seen


def test_an_attempt_that_has_ended_lets_the_next_one_speak() -> None:
    seen = outlook([a_timeline(1, (0, 4), has_ended=True), a_timeline(2, (0, 3))], 1, 5, past_gaps=False)

    assert Outlook((Stretch(2, 0, 3),), False) == seen


def test_there_may_be_nothing_new() -> None:
    assert Outlook((), False) == outlook([a_timeline(1, (0, 4))], 1, 5, past_gaps=False)
    assert Outlook((), False) == outlook([], 0, 0, past_gaps=False)
