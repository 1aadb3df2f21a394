"""Decayed use, and making plans true."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mosaic.ids import TeamName, UserName
from mosaic.lifecycle import AttemptState
from mosaic_scheduler.domain.changes import AttemptEnded, UsageFolded
from mosaic_scheduler.domain.enactment import PlanOutdated, enacted
from mosaic_scheduler.domain.planner import Planner
from mosaic_scheduler.domain.policy import plan
from mosaic_scheduler.domain.snapshot import Usage
from mosaic_scheduler.domain.usage import charge_starts, fold
from tests.builders import NOON, a_fleet, a_node, a_run, an_attempt, minutes

VISION, ADA = TeamName("vision"), UserName("ada")
HOUR = timedelta(hours=1)


def test_use_decays_by_half_in_a_half_life() -> None:
    folded = fold(Usage(NOON, {VISION: 0.8}), teams={}, users={}, now=NOON + HOUR, half_life=HOUR)

    assert {VISION: pytest.approx(0.4)} == folded.teams


def test_use_approaches_what_is_held() -> None:
    usage = Usage(NOON)
    for hour in range(1, 20):
        usage = fold(usage, teams={VISION: 0.5}, users={}, now=NOON + hour * HOUR, half_life=HOUR)

    assert pytest.approx(0.5, abs=1e-4) == usage.teams[VISION]


def test_folding_often_is_folding_once() -> None:
    held = {VISION: 0.3}
    once = fold(Usage(NOON), teams=held, users={}, now=NOON + HOUR, half_life=HOUR)

    often = Usage(NOON)
    for minute in range(1, 61):
        often = fold(often, teams=held, users={}, now=NOON + minutes(minute), half_life=HOUR)

    assert pytest.approx(once.teams[VISION]) == often.teams[VISION]


def test_what_is_forgotten_takes_no_place() -> None:
    folded = fold(Usage(NOON, {VISION: 0.8}), teams={}, users={}, now=NOON + 100 * HOUR, half_life=HOUR)

    assert {} == folded.teams


def test_a_start_is_charged_as_if_it_had_run_a_while() -> None:
    charged = charge_starts(Usage(NOON), [(VISION, ADA, 0.5)], entry_penalty=HOUR, half_life=HOUR)

    assert {VISION: 0.25} == charged.teams
    assert {(VISION, ADA): 0.25} == charged.users


def test_a_planner_folds_what_is_held() -> None:
    planner = Planner(a_fleet(a_node(gpus=4), running=(an_attempt(),), usage=Usage(NOON)))
    half_life = timedelta(hours=6)

    planner.apply([UsageFolded(planner.folded_usage(NOON + half_life)), AttemptEnded(an_attempt().run_id)])
    later = planner.folded_usage(NOON + 2 * half_life)

    assert {VISION: pytest.approx(0.0625)} == later.teams


def test_a_plan_carried_out_starts_what_it_admits() -> None:
    fleet = a_fleet(a_node(), queued=(a_run(max_wall=minutes(5)),))

    after = enacted(fleet, plan(fleet, now=NOON), now=NOON)

    assert () == after.queued
    (attempt,) = after.running
    assert (AttemptState.ADMITTED, NOON + minutes(5)) == (attempt.state, attempt.ends_by)


def test_a_plan_carried_out_twice_is_refused() -> None:
    fleet = a_fleet(a_node(), queued=(a_run(),))
    decided = plan(fleet, now=NOON)
    after = enacted(fleet, decided, now=NOON)

    with pytest.raises(PlanOutdated, match="run run-1: it does not wait any more; plan again"):
        enacted(after, decided, now=NOON)


def test_an_attempt_asked_to_leave_is_not_asked_again() -> None:
    fleet = a_fleet(a_node(), running=(an_attempt(ends_by=NOON),))
    decided = plan(fleet, now=NOON)
    after = enacted(fleet, decided, now=NOON)

    assert () == plan(after, now=NOON).expiries
    with pytest.raises(PlanOutdated, match="has been asked to leave already"):
        enacted(after, decided, now=NOON)


def test_overtaken_runs_are_counted() -> None:
    fleet = a_fleet(
        a_node(gpus=2),
        queued=(a_run("big", gpus=2, waited=minutes(9)), a_run("small")),
        running=(an_attempt(resume_grade=None),),
    )

    after = enacted(fleet, plan(fleet, now=NOON), now=NOON)

    assert [1] == [run.passed_over for run in after.queued]
