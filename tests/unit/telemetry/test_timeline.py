from __future__ import annotations

from random import Random

from mosaic_telemetry.domain.timeline import Hearing, StreamId, Timeline

STREAM = StreamId("run-1", 1)


def a_hearing(first_seq: int, last_seq: int, *, time: float = 0.0, last_step: float | None = None) -> Hearing:
    return Hearing(first_seq, last_seq, time, time, {"metric": last_seq - first_seq + 1}, last_step)


def test_any_order_of_hearings_folds_to_the_same_knowledge() -> None:
    hearings = [a_hearing(number * 10, number * 10 + 9, time=number, last_step=number) for number in range(20)]
    shuffled = list(hearings)
    Random(1).shuffle(shuffled)

    folded = [Timeline(STREAM), Timeline(STREAM)]
    for number, order in enumerate((hearings, shuffled)):
        for hearing in order:
            folded[number] = folded[number].hear(hearing)

    assert folded[0].heard == folded[1].heard
    assert folded[0].counts == folded[1].counts == {"metric": 200}
    assert folded[0].first_time == folded[1].first_time == 0.0
    assert folded[0].last_time == folded[1].last_time == 19.0
    assert folded[0].last_step == folded[1].last_step == 19.0


def test_the_speed_is_that_of_the_newest_minutes() -> None:
    timeline = Timeline(STREAM)
    for second in range(100):
        step = second if second < 50 else 50 + (second - 50) * 10
        timeline = timeline.hear(a_hearing(second, second, time=second, last_step=step))

    assert timeline.steps_per_s() == 10.0


def test_a_stream_that_names_no_step_has_no_speed() -> None:
    timeline = Timeline(STREAM).hear(a_hearing(0, 9, time=1.0)).hear(a_hearing(10, 19, time=9.0))

    assert timeline.steps_per_s() == 0.0


def test_the_speed_of_a_short_stream_is_its_mean() -> None:
    timeline = Timeline(STREAM).hear(Hearing(0, 9, 10.0, 10.5, {"metric": 10}, 100.0))

    assert timeline.steps_per_s() == 200.0


def test_lines_up_to_the_last_one_stamped_are_missed() -> None:
    timeline = Timeline(STREAM).hear(a_hearing(3, 5))

    assert [(0, 2)] == timeline.gaps()
    assert [(0, 2), (6, 8)] == timeline.gaps(8)
