"""Which part of which attempt counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic_telemetry.domain.counting import NOTHING, WHOLE, Counted, Cut, count
from mosaic_telemetry.domain.facts import Fact
from mosaic_telemetry.domain.ranges import SeqRanges
from mosaic_telemetry.domain.timeline import StreamId, Timeline
from tests.fakes.telemetry import RUN


def a_timeline(attempt: int, *, last_step: float | None = 1000.0) -> Timeline:
    return Timeline(StreamId(RUN, attempt), SeqRanges(((0, 99),)), last_step=last_step)


def a_fact(attempt: int, seq: int, kind: str, **payload: Any) -> Fact:
    return Fact(StreamId(RUN, attempt), seq, 0.0, kind, payload)


def started(attempt: int, resumed_from: str | None = None) -> Fact:
    return a_fact(attempt, 0, "attempt_started", resumed_from=resumed_from)


def went_on(attempt: int, path: str, step: float | None = None) -> tuple[Fact, Fact]:
    loaded = a_fact(attempt, 1, "checkpoint_loaded", checkpoint_path=f"/runs/r/{path}", step=step)
    return started(attempt, path), loaded


def saved(attempt: int, seq: int, path: str, step: float | None = None) -> Fact:
    return a_fact(attempt, seq, "checkpoint_saved", checkpoint_path=path, step=step)


def counted(timelines: Sequence[Timeline], *facts: Fact) -> Counted:
    return count(timelines, facts)


def test_one_attempt_counts_whole() -> None:
    assert WHOLE == counted([a_timeline(1)], started(1)).of(1)


def test_what_was_said_after_the_checkpoint_is_lost_when_a_later_attempt_goes_on_from_it() -> None:
    facts = (started(1), saved(1, 40, "c/1.pt", 200), saved(1, 70, "c/2.pt", 400), *went_on(2, "c/1.pt", 200))

    found = counted([a_timeline(1), a_timeline(2)], *facts)

    assert (Cut(40, 200.0), WHOLE) == (found.of(1), found.of(2))
    assert found.of(1).includes(40, 900.0)
    assert not found.of(1).includes(41, 1.0)
    assert {2: 200.0} == found.went_on_at


def test_an_attempt_that_begins_anew_makes_all_before_it_lost() -> None:
    found = counted([a_timeline(1), a_timeline(2)], started(1), saved(1, 40, "c/1.pt", 200), started(2))

    assert (NOTHING, WHOLE) == (found.of(1), found.of(2))
    assert not found.of(1).includes(0, None)


def test_a_worker_that_was_offered_a_checkpoint_and_cannot_load_it_begins_anew() -> None:
    facts = (started(1), saved(1, 40, "c/1.pt", 200), started(2, "c/1.pt"))

    assert NOTHING == counted([a_timeline(1), a_timeline(2)], *facts).of(1)


def test_a_policy_that_is_loaded_to_be_judged_is_no_way_to_go_on() -> None:
    loaded = a_fact(2, 1, "checkpoint_loaded", checkpoint_path="/elsewhere/policy.pt", step=5000)

    assert NOTHING == counted([a_timeline(1), a_timeline(2)], started(1), started(2), loaded).of(1)


def test_an_attempt_that_says_nothing_of_training_changes_nothing() -> None:
    silent = a_timeline(2, last_step=None)

    assert WHOLE == counted([a_timeline(1), silent], started(1), started(2)).of(1)


def test_three_attempts_follow_one_line_back() -> None:
    facts = (
        *(started(1), saved(1, 10, "c/1.pt", 100), saved(1, 20, "c/2.pt", 200)),
        *(*went_on(2, "c/2.pt", 200), saved(2, 30, "c/3.pt", 300)),
        *went_on(3, "c/3.pt", 300),
    )

    found = counted([a_timeline(number) for number in (1, 2, 3)], *facts)

    assert [Cut(20, 200.0), Cut(30, 300.0), WHOLE] == [found.of(number) for number in (1, 2, 3)]


def test_an_attempt_beside_the_line_is_lost_as_a_whole() -> None:
    facts = (
        *(started(1), saved(1, 10, "c/1.pt", 100), saved(1, 20, "c/2.pt", 200)),
        *(*went_on(2, "c/2.pt", 200), saved(2, 30, "c/3.pt", 300)),
        *went_on(3, "c/1.pt", 100),
    )

    found = counted([a_timeline(number) for number in (1, 2, 3)], *facts)

    assert [Cut(10, 100.0), NOTHING, WHOLE] == [found.of(number) for number in (1, 2, 3)]


def test_a_checkpoint_that_was_saved_twice_is_that_of_whoever_saved_it_last() -> None:
    facts = (
        *(started(1), saved(1, 10, "c/1.pt", 100), saved(1, 20, "c/2.pt", 200)),
        *(*went_on(2, "c/1.pt", 100), saved(2, 30, "c/2.pt", 200)),
        *went_on(3, "c/2.pt", 200),
    )

    found = counted([a_timeline(number) for number in (1, 2, 3)], *facts)

    assert [Cut(10, 100.0), Cut(30, 200.0)] == [found.of(1), found.of(2)]


def test_a_file_that_is_always_the_same_is_known_by_its_step() -> None:
    facts = (started(1), saved(1, 10, "latest.pt", 100), saved(1, 20, "latest.pt", 200))

    older = counted([a_timeline(1), a_timeline(2)], *facts, *went_on(2, "latest.pt", 100))
    unsaid = counted([a_timeline(1), a_timeline(2)], *facts, *went_on(2, "latest.pt", 300))

    assert Cut(10, 100.0) == older.of(1)
    assert Cut(None, 300.0) == unsaid.of(1), "it was written once more, and nobody came to say so"


def test_where_the_line_of_the_checkpoint_was_lost_its_step_decides() -> None:
    found = counted([a_timeline(1), a_timeline(2)], started(1), *went_on(2, "c/9.pt", 900))

    assert Cut(None, 900.0) == found.of(1)
    assert found.of(1).includes(77, 900.0)
    assert not found.of(1).includes(77, 901.0)


def test_a_run_that_begins_with_the_checkpoint_of_another_loses_what_it_trains_twice() -> None:
    facts = (*went_on(1, "/other/run/c/5.pt", 500), *went_on(2, "/other/run/c/5.pt", 500))

    found = counted([a_timeline(1), a_timeline(2)], *facts)

    assert (NOTHING, WHOLE, 500.0) == (found.of(1), found.of(2), found.went_on_at[2])


def test_the_step_of_a_checkpoint_may_stand_in_its_passport_only() -> None:
    passport = {"step": 200}
    told = a_fact(1, 40, "checkpoint_saved", checkpoint_path="c/1.pt", passport=passport)

    assert Cut(40, 200.0) == counted([a_timeline(1), a_timeline(2)], started(1), told, *went_on(2, "c/1.pt")).of(1)


def test_the_furthest_step_does_not_fall_when_an_attempt_has_only_begun() -> None:
    begun = [a_timeline(1, last_step=350.0), a_timeline(2, last_step=None)]
    facts = (started(1), saved(1, 40, "c/1.pt", 200), *went_on(2, "c/1.pt", 200))
    trained = [a_timeline(1, last_step=350.0), a_timeline(2, last_step=210.0)]

    assert 350.0 == counted(begun, *facts).furthest_step(begun)
    assert 210.0 == counted(trained, *facts).furthest_step(trained)
    assert counted([], *facts).furthest_step([]) is None


@dataclass
class Training:
    """A training that says a line per step, saves, dies and goes on, and remembers what is true."""

    timelines: list[Timeline] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    #: All that was said of training: attempt, seq, step.
    said: list[tuple[int, int, int]] = field(default_factory=list)
    #: Path of a checkpoint -> its step, and what had been said on the way to it.
    kept: dict[str, tuple[int, list[tuple[int, int, int]]]] = field(default_factory=dict)
    truth: list[tuple[int, int, int]] = field(default_factory=list)

    def attempt(self, resume: int | None, steps: int, save_every: int) -> None:
        number, seq = len(self.timelines) + 1, 2
        path = sorted(self.kept)[resume % len(self.kept)] if resume is not None and self.kept else None
        step, way = self.kept[path] if path else (0, [])
        self.facts += went_on(number, path, step) if path else [started(number)]
        way = list(way)
        for _ in range(steps):
            step, seq = step + 1, seq + 1
            way.append((number, seq, step))
            self.said.append(way[-1])
            if step % save_every == 0:
                seq += 1
                self.facts.append(saved(number, seq, f"c/{step:04d}.pt", step))
                self.kept[f"c/{step:04d}.pt"] = step, list(way)
        self.timelines.append(a_timeline(number, last_step=float(step) if steps else None))
        if steps:
            self.truth = way


@given(
    st.lists(st.tuples(st.none() | st.integers(0, 50), st.integers(0, 12), st.integers(1, 5)), min_size=1, max_size=7)
)
@settings(deadline=None, max_examples=300)
def test_what_counts_is_one_way_from_the_first_step_to_the_last(
    attempts: list[tuple[int | None, int, int]],
) -> None:
    training = Training()
    for resume, steps, save_every in attempts:
        training.attempt(resume, steps, save_every)

    found = counted(training.timelines, *training.facts)

    lines = [line for line in training.said if found.of(line[0]).includes(line[1], line[2])]
    points = [line for line in training.said if line[2] <= _limit(found.of(line[0]))]
    assert training.truth == lines == points
    assert list(range(1, len(lines) + 1)) == [step for _, _, step in lines]
    assert (len(lines) or None) == found.furthest_step(training.timelines)


def _limit(cut: Cut) -> float:
    return math.inf if cut.last_step is None else cut.last_step
