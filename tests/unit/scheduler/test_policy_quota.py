"""Quota, lending and borrowing."""

from __future__ import annotations

import pytest

from mosaic.model.run import Priority
from mosaic.model.team import Quota, Team
from mosaic_scheduler.domain.policy import plan
from mosaic_scheduler.domain.run import QueuedRun, ResumeGrade
from mosaic_scheduler.domain.snapshot import PolicySettings, Snapshot
from tests.builders import NOON, a_fleet, a_node, a_run, a_team, an_attempt, minutes, started, why


def runs(team: str, number: int, **more: object) -> tuple[QueuedRun, ...]:
    return tuple(a_run(f"{team}-{index}", team=team, **more) for index in range(number))


def starts_of(team: str, snapshot: Snapshot) -> int:
    return sum(run_id.startswith(team) for run_id in started(plan(snapshot, now=NOON)))


def test_a_team_within_its_quota_is_served_before_one_that_would_borrow() -> None:
    """Even when the borrower is urgent: quota is a guarantee."""
    fleet = a_fleet(
        a_node(gpus=2),
        teams=(a_team("vision", gpus=2), a_team("nlp", gpus=0)),
        queued=(*runs("vision", 2), *runs("nlp", 2, priority=Priority.URGENT)),
    )

    assert 2 == starts_of("vision", fleet)


def test_idle_quota_is_lent() -> None:
    fleet = a_fleet(a_node(gpus=4), teams=(a_team("vision", gpus=4), a_team("nlp", gpus=0)), queued=runs("nlp", 4))

    decided = plan(fleet, now=NOON)

    assert 4 == len(decided.admissions)
    assert all(admission.borrowed for admission in decided.admissions)


def test_a_start_within_quota_is_not_borrowed() -> None:
    fleet = a_fleet(a_node(gpus=4), teams=(a_team("vision", gpus=4),), queued=runs("vision", 1))

    assert not plan(fleet, now=NOON).admissions[0].borrowed


LIMITS = {
    "a team lends no more than its lending limit": (
        (a_team("vision", gpus=4, lending_limit_gpus=1), a_team("nlp", gpus=0)),
        1,
        "team nlp uses 1 of 0 GPUs, and others can lend 0",
    ),
    "a team that lends nothing keeps its quota idle": (
        (a_team("vision", gpus=4, lending_limit_gpus=0), a_team("nlp", gpus=0)),
        0,
        "team nlp uses 0 of 0 GPUs, and others can lend 0",
    ),
    "a team borrows no more than its borrowing limit": (
        (a_team("vision", gpus=4), a_team("nlp", gpus=0, borrowing_limit_gpus=3)),
        3,
        "team nlp uses 3 of 0 GPUs and may borrow 3 at most",
    ),
    "what no quota claims can be borrowed": (
        (a_team("vision", gpus=2, lending_limit_gpus=0), a_team("nlp", gpus=0)),
        2,
        "team nlp uses 2 of 0 GPUs, and others can lend 0",
    ),
    "own quota comes before a loan": (
        (a_team("vision", gpus=2, lending_limit_gpus=1), a_team("nlp", gpus=2)),
        3,
        "team nlp uses 3 of 2 GPUs, and others can lend 0",
    ),
}


@pytest.mark.parametrize(("teams", "expected", "sentence"), LIMITS.values(), ids=LIMITS.keys())
def test_limits(teams: tuple[Team, ...], expected: int, sentence: str) -> None:
    decided = plan(a_fleet(a_node(gpus=4), teams=teams, queued=runs("nlp", 5)), now=NOON)

    assert expected == len(decided.admissions)
    assert sentence == why(decided, "nlp-4")


def test_quota_counts_cpus_and_memory_too() -> None:
    teams = (a_team("vision", quota=Quota(cpus=4), borrowing_limit_gpus=0), a_team("nlp", quota=Quota(cpus=60)))
    fleet = a_fleet(
        a_node(cpus=64),
        teams=teams,
        queued=runs("vision", 2, cpus=3, gpus=0),
        running=(an_attempt(cpus=60, team="nlp"),),
    )

    decided = plan(fleet, now=NOON)

    assert ["vision-0"] == list(started(decided))
    assert "team vision uses 3 of 4 CPUs, and others can lend 1" == why(decided, "vision-1")


def test_an_owner_hears_who_uses_its_quota() -> None:
    fleet = a_fleet(
        a_node(gpus=8),
        teams=(a_team("vision", gpus=8), a_team("nlp", gpus=0)),
        queued=runs("vision", 1, gpus=4),
        running=(
            an_attempt("own", gpus=(0, 1, 2, 3, 4, 5), team="vision"),
            an_attempt("lent", gpus=(6, 7), team="nlp", resume_grade=None),
        ),
    )

    assert "team vision uses 6 of 8 GPUs, and others can lend 0" == why(plan(fleet, now=NOON), "vision-0")


def test_an_owner_within_quota_hears_that_it_is_lent_out() -> None:
    fleet = a_fleet(
        a_node(gpus=8),
        teams=(a_team("vision", gpus=8), a_team("nlp", gpus=0)),
        queued=runs("vision", 1, gpus=2),
        running=(
            an_attempt("own", gpus=(0, 1, 2, 3, 4, 5), team="vision"),
            an_attempt("lent", gpus=(6, 7), team="nlp", resume_grade=ResumeGrade.RESTARTS),
        ),
    )

    assert "team vision uses 6 of 8 GPUs, 2 lent to team nlp" == why(plan(fleet, now=NOON), "vision-0")


def test_only_runs_that_can_be_recalled_borrow_when_the_fleet_says_so() -> None:
    fleet = a_fleet(
        a_node(gpus=4),
        teams=(a_team("vision", gpus=4), a_team("nlp", gpus=0)),
        queued=(a_run("safe", team="nlp", resume_grade=ResumeGrade.EXACT), a_run("unsafe", team="nlp")),
        settings=PolicySettings(lend_only_to_resumable=True),
    )

    decided = plan(fleet, now=NOON)

    assert ["safe"] == list(started(decided))
    assert "team nlp uses 1 of 0 GPUs; only runs whose resume is proven may borrow" == why(decided, "unsafe")


def test_a_gang_is_not_starved_of_quota_by_its_own_teams_small_runs() -> None:
    """Once its patience is used up, freed quota is kept for it."""
    gang = a_run("gang", gpus=4, waited=minutes(60), passed_over=10)
    fleet = a_fleet(
        a_node("n1", gpus=4),
        a_node("n2", gpus=4),
        teams=(a_team("vision", gpus=4), a_team("nlp", gpus=4, lending_limit_gpus=0)),
        queued=(gang, a_run("small")),
        running=(an_attempt(),),
    )

    assert {} == started(plan(fleet, now=NOON))


def test_teams_that_keep_quota_for_a_gang_do_not_keep_it_from_each_other() -> None:
    """Each has two GPUs of its quota left and a gang of four: together that is one gang."""
    gangs = tuple(a_run(f"{team}-gang", team=team, gpus=4, passed_over=99) for team in ("vision", "nlp"))
    running = tuple(an_attempt(f"{team}-old", on=team, team=team, gpus=(0, 1)) for team in ("vision", "nlp"))
    fleet = a_fleet(
        a_node("vision", gpus=2),
        a_node("nlp", gpus=2),
        a_node("free", gpus=4),
        teams=(a_team("vision", gpus=4), a_team("nlp", gpus=4)),
        queued=gangs,
        running=running,
    )

    assert 1 == len(started(plan(fleet, now=NOON)))


def test_quota_kept_for_a_gang_stays_kept_from_the_small_runs_of_its_team() -> None:
    gang = a_run("gang", gpus=4, passed_over=99)
    running = tuple(an_attempt(f"old-{index}", gpus=(index,), resume_grade=None) for index in range(3))
    fleet = a_fleet(
        a_node(gpus=4),
        teams=(a_team("vision", gpus=4), a_team("nlp", gpus=0)),
        queued=(gang, a_run("small")),
        running=running,
    )

    assert {} == started(plan(fleet, now=NOON))
