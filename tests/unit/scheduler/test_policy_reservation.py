"""Holding back for a run that waited too long, and filling the gap."""

from __future__ import annotations

from dataclasses import replace

from mosaic_scheduler.domain.plan import Reservation
from mosaic_scheduler.domain.policy import plan
from mosaic_scheduler.domain.run import QueuedRun
from mosaic_scheduler.domain.snapshot import PolicySettings, Snapshot
from tests.builders import NOON, a_fleet, a_node, a_run, an_attempt, minutes, started, why

GANG = a_run("gang", gpus=4, waited=minutes(60), passed_over=10)


def a_busy_fleet(*queued: QueuedRun, **more: object) -> Snapshot:
    """One node of four GPUs; one is in use for another thirty minutes."""
    busy = an_attempt(ends_by=NOON + minutes(30), resume_grade=None)
    return a_fleet(a_node(gpus=4), **{"queued": queued, "running": (busy,), **more})


def test_a_run_that_was_passed_over_too_often_gets_a_reservation() -> None:
    decided = plan(a_busy_fleet(GANG), now=NOON)

    assert (Reservation(GANG.run_id, a_node().node_id, NOON + minutes(30)),) == decided.reservations
    assert "node n1 is held back for it, free by 2030-01-01 12:30:00 UTC" == why(decided, "gang")


def test_nothing_is_held_back_before_patience_is_used_up() -> None:
    decided = plan(a_busy_fleet(replace(GANG, passed_over=9), a_run("small")), now=NOON)

    assert () == decided.reservations
    assert {"small": "n1"} == started(decided)


def test_a_run_that_ends_in_time_fills_the_gap() -> None:
    decided = plan(a_busy_fleet(GANG, a_run("small", max_wall=minutes(30))), now=NOON)

    assert {"small": "n1"} == started(decided)


def test_a_run_that_would_end_too_late_waits() -> None:
    decided = plan(a_busy_fleet(GANG, a_run("small", max_wall=minutes(31))), now=NOON)

    assert {} == started(decided)
    assert "the room for it is held back on 1 nodes for runs that waited longer" == why(decided, "small")


def test_a_run_without_a_time_limit_does_not_fill_the_gap() -> None:
    assert {} == started(plan(a_busy_fleet(GANG, a_run("small")), now=NOON))


def test_a_run_that_fits_beside_the_reservation_starts() -> None:
    assert {"cpu": "n1"} == started(plan(a_busy_fleet(GANG, a_run("cpu", gpus=0)), now=NOON))


def test_other_nodes_stay_open() -> None:
    fleet = a_busy_fleet(GANG, a_run("small"))
    two = a_fleet(*fleet.nodes, a_node("n2", gpus=1), queued=fleet.queued, running=fleet.running)

    assert {"small": "n2"} == started(plan(two, now=NOON))


def test_without_time_limits_the_most_promising_node_is_held_back() -> None:
    nodes = (a_node("n1", gpus=4), a_node("n2", gpus=4))
    running = (
        an_attempt("a", on="n1", gpus=(0, 1), resume_grade=None),
        an_attempt("b", on="n2", gpus=(0,), resume_grade=None),
    )

    decided = plan(a_fleet(*nodes, queued=(GANG, a_run("small")), running=running), now=NOON)

    assert [("n2", None)] == [(held.node_id, held.free_by) for held in decided.reservations]
    assert {"small": "n1"} == started(decided)


def test_the_node_that_is_free_soonest_is_held_back() -> None:
    nodes = (a_node("n1", gpus=4), a_node("n2", gpus=4))
    running = (
        an_attempt("a", on="n1", gpus=(0,), ends_by=NOON + minutes(50), resume_grade=None),
        an_attempt("b", on="n2", gpus=(0, 1), ends_by=NOON + minutes(20), resume_grade=None),
    )

    decided = plan(a_fleet(*nodes, queued=(GANG,), running=running), now=NOON)

    assert ["n2"] == [held.node_id for held in decided.reservations]


def test_the_reserved_run_starts_once_its_node_is_free() -> None:
    fleet = a_busy_fleet(GANG, a_run("small"), running=())

    assert "n1" == started(plan(fleet, now=NOON))["gang"]


def test_no_more_runs_have_reservations_than_may() -> None:
    gangs = [replace(GANG, run_id=a_run(f"g{index}").run_id, max_wall=minutes(index + 1)) for index in range(3)]
    nodes = [a_node(f"n{index}", gpus=4) for index in range(3)]
    running = tuple(an_attempt(f"a{index}", on=f"n{index}", resume_grade=None) for index in range(3))

    fleet = a_fleet(*nodes, queued=tuple(gangs), running=running, settings=PolicySettings(max_reservations=2))

    assert 2 == len(plan(fleet, now=NOON).reservations)
