"""Caps, earliest starts and time limits."""

from __future__ import annotations

from datetime import timedelta

from mosaic.model.run import Priority
from mosaic_scheduler.domain.plan import Expiry
from mosaic_scheduler.domain.policy import plan
from tests.builders import NOON, a_fleet, a_node, a_run, a_team, an_attempt, minutes, started, why

RUNS = tuple(a_run(f"r{number}") for number in range(3))


def test_a_team_runs_no_more_than_its_cap() -> None:
    fleet = a_fleet(a_node(), queued=RUNS, teams=(a_team(max_running=2),), running=(an_attempt(),))

    decided = plan(fleet, now=NOON)

    assert list(started(decided)) == ["r0"]
    assert why(decided, "r1") == "team vision runs 2 of at most 2 runs"


def test_a_user_runs_no_more_than_the_cap_and_others_go_on() -> None:
    fleet = a_fleet(a_node(), queued=(*RUNS, a_run("other", user="bob")), teams=(a_team(max_running_per_user=1),))

    decided = plan(fleet, now=NOON)

    assert {"r0", "other"} == set(started(decided))
    assert why(decided, "r2") == "user ada of team vision runs 1 of at most 1 runs"


def test_a_user_holds_no_more_gpus_than_the_cap() -> None:
    fleet = a_fleet(a_node(), queued=(a_run("big", gpus=4), *RUNS), teams=(a_team(max_gpus_per_user=2),))

    decided = plan(fleet, now=NOON)

    assert len(decided.admissions) == 2
    assert why(decided, "big") == "user ada of team vision holds 0 of at most 2 GPUs"


def test_runs_without_gpus_do_not_count_against_the_gpu_cap() -> None:
    fleet = a_fleet(
        a_node(),
        queued=(a_run("r1"), a_run("cpu", gpus=0, priority=Priority.LOW)),
        teams=(a_team(max_gpus_per_user=1),),
    )

    assert {"r1", "cpu"} == set(started(plan(fleet, now=NOON)))


def test_a_run_does_not_start_before_its_time() -> None:
    run = a_run(not_before=NOON + minutes(5))
    fleet = a_fleet(a_node(), queued=(run,))

    assert why(plan(fleet, now=NOON), "run-1") == "does not start before 2030-01-01 12:05:00 UTC"
    assert started(plan(fleet, now=NOON + minutes(5))) == {"run-1": "n1"}


def test_a_run_of_a_team_nobody_set_up_waits() -> None:
    fleet = a_fleet(a_node(), queued=(a_run(team="ghosts"),))

    assert why(plan(fleet, now=NOON), "run-1") == "team ghosts is not set up here"


def test_the_stricter_time_limit_counts() -> None:
    fleet = a_fleet(
        a_node(),
        queued=(a_run("short", max_wall=minutes(10)), a_run("long", max_wall=minutes(600)), a_run("none")),
        teams=(a_team(max_wall=timedelta(hours=1)),),
    )

    ends = {admission.run_id: admission.ends_by for admission in plan(fleet, now=NOON).admissions}

    assert {"short": NOON + minutes(10), "long": NOON + minutes(60), "none": NOON + minutes(60)} == ends


def test_an_attempt_past_its_time_limit_is_to_be_stopped() -> None:
    overdue = an_attempt("over", ends_by=NOON)
    fleet = a_fleet(a_node(), running=(overdue, an_attempt("fine", gpus=(1,), ends_by=NOON + minutes(1))))

    assert (Expiry(overdue.run_id, 1, NOON),) == plan(fleet, now=NOON).expiries
