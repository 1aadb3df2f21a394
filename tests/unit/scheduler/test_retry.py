"""What a failed attempt means for its run."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mosaic.ids import RunId
from mosaic.lifecycle import FailureKind
from mosaic_scheduler.domain.retry import Budget, Failure, RetrySettings, next_attempt
from tests.builders import NOON, minutes

RUN = RunId("run-1")


HALF_AN_HOUR = timedelta(minutes=30)


def a_failure(kind: str = "crash", *, lasted: timedelta = HALF_AN_HOUR, progressed: bool = False) -> Failure:
    return Failure(FailureKind(kind), NOON, lasted, progressed)


@pytest.mark.parametrize(
    ("kind", "earlier", "tries_again"),
    [
        pytest.param("config_error", 0, False, id="a config that was refused is refused again"),
        pytest.param("time_limit", 0, False, id="a run that used up its time has had it"),
        pytest.param("crash", 0, True, id="a first crash may be bad luck"),
        pytest.param("crash", 2, True, id="so may a third"),
        pytest.param("crash", 3, False, id="a fourth is not"),
        pytest.param("out_of_memory", 0, True, id="memory is tried once more"),
        pytest.param("out_of_memory", 1, False, id="and not twice"),
        pytest.param("hung", 1, True, id="a hang is forgiven twice"),
        pytest.param("hung", 2, False, id="but not three times"),
        pytest.param("preempted", 500, True, id="making room never uses up anything"),
        pytest.param("lost_agent", 500, True, id="nor does losing the machine"),
        pytest.param("infrastructure", 9, True, id="our own faults are forgiven often"),
        pytest.param("infrastructure", 10, False, id="but not for ever"),
    ],
)
def test_budgets(kind: str, earlier: int, tries_again: bool) -> None:
    decision = next_attempt(RUN, a_failure(kind), [a_failure(kind)] * earlier)

    assert tries_again is (decision is not None)


def test_every_kind_of_failure_has_a_budget() -> None:
    assert set(FailureKind) == set(RetrySettings().budgets)


def test_kinds_do_not_share_a_budget() -> None:
    history = [a_failure("preempted")] * 20 + [a_failure("lost_agent")] * 20 + [a_failure("hung")] * 2

    decision = next_attempt(RUN, a_failure("crash"), history)

    assert decision is not None
    assert 2 == decision.left


def test_a_preempted_run_may_return_at_once() -> None:
    decision = next_attempt(RUN, a_failure("preempted"), [])

    assert decision is not None
    assert (NOON, None) == (decision.not_before, decision.left)


def test_the_wait_doubles_with_each_failure_in_a_row() -> None:
    settings = RetrySettings(budgets={FailureKind.CRASH: Budget(10, minutes(1), minutes(60))})

    waits = [_wait(settings, [a_failure()] * earlier) for earlier in range(4)]

    for wait, doubled in zip(waits, (1, 2, 4, 8), strict=True):
        assert 0.75 * minutes(doubled) <= wait <= 1.25 * minutes(doubled)


def test_the_wait_has_a_longest() -> None:
    settings = RetrySettings(budgets={FailureKind.CRASH: Budget(None, minutes(1), minutes(10))})

    assert _wait(settings, [a_failure()] * 60) <= 1.25 * minutes(10)


def test_progress_starts_the_waiting_over() -> None:
    settings = RetrySettings(budgets={FailureKind.CRASH: Budget(10, minutes(1), minutes(60))})

    assert _wait(settings, [*[a_failure()] * 4, a_failure(progressed=True)]) <= 1.25 * minutes(1)


def test_runs_that_failed_together_do_not_return_together() -> None:
    decisions = [next_attempt(RunId(f"run-{number}"), a_failure(), []) for number in range(50)]

    assert 50 == len({decision.not_before for decision in decisions if decision is not None})


def test_the_same_failure_gives_the_same_decision() -> None:
    assert next_attempt(RUN, a_failure(), []) == next_attempt(RUN, a_failure(), [])


def test_a_run_that_keeps_dying_young_is_given_up() -> None:
    """Although no budget is used up: different faults, the same hopeless run."""
    young = [a_failure(kind, lasted=timedelta(seconds=5)) for kind in ("crash", "hung", "infrastructure", "crash")]

    assert next_attempt(RUN, a_failure("infrastructure", lasted=timedelta(seconds=5)), young) is None


@pytest.mark.parametrize(
    "history",
    [
        pytest.param([a_failure("infrastructure")] * 4, id="they lasted"),
        pytest.param([a_failure("infrastructure", lasted=timedelta(0), progressed=True)] * 4, id="they made progress"),
        pytest.param([a_failure("lost_agent", lasted=timedelta(0))] * 4, id="it was not their doing"),
    ],
)
def test_it_is_no_crash_loop_when(history: list[Failure]) -> None:
    assert next_attempt(RUN, a_failure("infrastructure", lasted=timedelta(0)), history) is not None


def _wait(settings: RetrySettings, history: list[Failure]) -> timedelta:
    decision = next_attempt(RUN, a_failure(), history, settings)
    assert decision is not None
    return decision.not_before - NOON


def test_waits_can_be_shortened_without_changing_what_is_forgiven() -> None:
    normal = next_attempt(RUN, a_failure("crash"), [])
    hasty = next_attempt(RUN, a_failure("crash"), [], RetrySettings().with_waits(0.1))

    assert normal is not None
    assert hasty is not None
    assert normal.left == hasty.left
    assert (normal.not_before - a_failure("crash").at) / 10 == hasty.not_before - a_failure("crash").at


@pytest.mark.parametrize(
    ("lasted", "progressed", "tries_again"),
    [
        pytest.param(timedelta(seconds=40), False, False, id="it takes every agent down"),
        pytest.param(timedelta(seconds=40), True, True, id="each attempt got further"),
        pytest.param(timedelta(minutes=30), False, True, id="machines that are lost after half an hour are bad luck"),
        pytest.param(timedelta(), False, True, id="agents that were lost before they had begun"),
    ],
)
def test_a_run_that_takes_its_agents_down_is_given_up(lasted: timedelta, progressed: bool, tries_again: bool) -> None:
    lost = a_failure("lost_agent", lasted=lasted, progressed=progressed)

    assert next_attempt(RUN, lost, [lost] * 3) is not None
    assert tries_again is (next_attempt(RUN, lost, [lost] * 4) is not None)
