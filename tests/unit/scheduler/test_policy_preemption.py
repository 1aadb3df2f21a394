"""Who is asked to leave, and who never is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mosaic.ids import RunId
from mosaic.lifecycle import AttemptState
from mosaic.model.run import Priority
from mosaic_scheduler.domain.enactment import enacted
from mosaic_scheduler.domain.plan import Plan, PreemptionCause
from mosaic_scheduler.domain.policy import plan
from mosaic_scheduler.domain.run import ResumeGrade, RunningAttempt
from mosaic_scheduler.domain.snapshot import PolicySettings, Snapshot
from tests.builders import NOON, a_fleet, a_node, a_run, a_team, an_attempt, minutes, started, why

TEAMS = (a_team("vision", gpus=2), a_team("nlp", gpus=0), a_team("robotics", gpus=0))


def lent(run_id: str, gpu: int, **more: object) -> RunningAttempt:
    return an_attempt(run_id, gpus=(gpu,), **{"team": "nlp", "borrowed": True, **more})


def a_full_fleet(*running: RunningAttempt, **more: object) -> Snapshot:
    """Two GPUs, all of them guaranteed to vision and in use by *running*."""
    return a_fleet(a_node(gpus=2), **{"teams": TEAMS, "queued": (a_run(),), "running": running, **more})


def victims(decided: Plan) -> list[str]:
    return [preemption.run_id for preemption in decided.preemptions]


CHOICES = {
    "the one whose last checkpoint is freshest": (
        lent("fresh", 0, last_checkpoint_at=NOON - minutes(1)),
        lent("stale", 1, last_checkpoint_at=NOON - minutes(30)),
        "fresh",
    ),
    "the lower priority, whatever it costs": (
        lent("low", 0, priority=Priority.LOW, last_checkpoint_at=NOON - minutes(30)),
        lent("normal", 1, last_checkpoint_at=NOON - minutes(1)),
        "low",
    ),
    "the one that was started on a loan before its team's older run": (
        lent("own", 0, borrowed=False, last_checkpoint_at=NOON),
        lent("loan", 1, last_checkpoint_at=NOON - minutes(30)),
        "loan",
    ),
    "the one whose resume is proven": (
        lent("unproven", 0, resume_grade=None, last_checkpoint_at=NOON),
        lent("proven", 1, resume_grade=ResumeGrade.EQUIVALENT),
        "proven",
    ),
    "the one that has run long enough": (lent("young", 0, ran=minutes(0.5)), lent("old", 1), "old"),
}


@pytest.mark.parametrize(("one", "other", "expected"), CHOICES.values(), ids=CHOICES.keys())
def test_a_loan_is_taken_back_from(one: RunningAttempt, other: RunningAttempt, expected: str) -> None:
    decided = plan(a_full_fleet(one, other), now=NOON)

    assert [expected] == victims(decided)
    assert (PreemptionCause.RECLAIMED, "run-1") == (decided.preemptions[0].cause, decided.preemptions[0].beneficiary)
    assert "1 attempts are leaving node n1 to make room for it" == why(decided, "run-1")


SPARED = {
    "attempts whose worker starts over": lent("a", 0, resume_grade=ResumeGrade.RESTARTS),
    "attempts nobody has graded": lent("a", 0, resume_grade=None),
    "attempts within their own team's quota": an_attempt("a", team="vision", user="bob"),
    "attempts that have only just started": lent("a", 0, ran=minutes(0)),
}


@pytest.mark.parametrize("attempt", SPARED.values(), ids=SPARED.keys())
def test_nobody_takes_the_place_of(attempt: RunningAttempt) -> None:
    fleet = a_fleet(a_node(gpus=1), teams=TEAMS, queued=(a_run(),), running=(attempt,))

    assert [] == victims(plan(fleet, now=NOON))


def test_a_borrower_takes_nothing_from_another_borrower() -> None:
    fleet = a_full_fleet(lent("a", 0), lent("b", 1), queued=(a_run(team="robotics"),))

    assert [] == victims(plan(fleet, now=NOON))


def test_a_higher_class_takes_the_place_of_a_lower_one_in_its_team() -> None:
    fleet = a_fleet(
        a_node(gpus=1),
        teams=(a_team("vision", gpus=1),),
        queued=(a_run(priority=Priority.URGENT),),
        running=(an_attempt("low", priority=Priority.LOW),),
    )

    decided = plan(fleet, now=NOON)

    assert [("low", PreemptionCause.OUTRANKED)] == [(p.run_id, p.cause) for p in decided.preemptions]


def test_a_higher_class_cannot_touch_what_another_team_is_guaranteed() -> None:
    fleet = a_fleet(
        a_node(gpus=2),
        teams=(a_team("vision", gpus=1), a_team("nlp", gpus=2)),
        queued=(a_run(priority=Priority.URGENT),),
        running=(an_attempt("a", team="nlp", priority=Priority.LOW), an_attempt("b", gpus=(1,), team="nlp")),
    )

    assert [] == victims(plan(fleet, now=NOON))


def test_without_quotas_a_higher_class_takes_the_place_of_a_lower_one() -> None:
    fleet = a_fleet(
        a_node(gpus=1),
        queued=(a_run(priority=Priority.HIGH),),
        running=(an_attempt("low", team="nlp", priority=Priority.LOW),),
    )

    assert ["low"] == victims(plan(fleet, now=NOON))


def test_no_more_leave_than_are_needed() -> None:
    """The small one goes first in the search, but the big one alone makes room."""
    fleet = a_fleet(
        a_node(gpus=4),
        teams=(a_team("vision", gpus=4), a_team("nlp", gpus=0)),
        queued=(a_run(gpus=3),),
        running=(
            an_attempt("small", team="nlp", last_checkpoint_at=NOON),
            an_attempt("big", gpus=(1, 2, 3), team="nlp"),
        ),
    )

    assert ["big"] == victims(plan(fleet, now=NOON))


def test_a_team_gives_back_what_it_borrowed_and_no_more() -> None:
    """Nlp owns one of its two GPUs; only one can be taken, so the gang of two waits."""
    fleet = a_full_fleet(
        lent("a", 0), lent("b", 1), teams=(a_team("vision", gpus=2), a_team("nlp", gpus=1)), queued=(a_run(gpus=2),)
    )

    assert [] == victims(plan(fleet, now=NOON))


def test_room_that_is_being_made_is_not_made_twice() -> None:
    fleet = a_full_fleet(lent("a", 0), lent("b", 1))
    asked = enacted(fleet, plan(fleet, now=NOON), now=NOON)

    again = plan(asked, now=NOON + minutes(1))

    assert [] == victims(again)
    assert "1 attempts are leaving node n1 to make room for it" == why(again, "run-1")


def test_room_that_is_being_made_is_not_given_to_somebody_else() -> None:
    leaving = replace(lent("a", 0), state=AttemptState.STOPPING)
    fleet = a_fleet(
        a_node(gpus=2),
        teams=(*TEAMS, a_team("guests")),
        queued=(a_run("gang", gpus=2), a_run("small", team="guests", priority=Priority.LOW)),
        running=(leaving,),
    )

    decided = plan(fleet, now=NOON)

    assert {} == started(decided)
    assert "the room for it is held back on 1 nodes for runs that waited longer" == why(decided, "small")


def test_a_run_never_evicts_the_run_it_made_room_for() -> None:
    beneficiary = lent("winner", 0)
    evicted = a_run("loser", evicted_for=frozenset({RunId("winner")}))
    fleet = a_fleet(a_node(gpus=1), teams=TEAMS, queued=(evicted,), running=(beneficiary,))

    assert [] == victims(plan(fleet, now=NOON))


def test_a_round_asks_no_more_to_leave_than_it_may() -> None:
    nodes = tuple(a_node(f"n{index}", gpus=1) for index in range(4))
    running = tuple(an_attempt(f"a{index}", on=f"n{index}", team="nlp") for index in range(4))
    fleet = a_fleet(
        *nodes,
        teams=(a_team("vision", gpus=4), a_team("nlp", gpus=0)),
        queued=tuple(a_run(f"r{index}") for index in range(4)),
        running=running,
        settings=PolicySettings(max_preemptions=2),
    )

    assert 2 == len(plan(fleet, now=NOON).preemptions)


def test_only_as_many_are_made_room_for_as_the_quota_holds() -> None:
    nodes = tuple(a_node(f"n{index}", gpus=1) for index in range(4))
    running = tuple(an_attempt(f"a{index}", on=f"n{index}", team="nlp") for index in range(4))
    fleet = a_fleet(
        *nodes,
        teams=(a_team("vision", gpus=2), a_team("nlp", gpus=0)),
        queued=tuple(a_run(f"r{index}") for index in range(4)),
        running=running,
    )

    assert 2 == len(plan(fleet, now=NOON).preemptions)
