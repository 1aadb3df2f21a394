"""Which waiting runs more machines would start."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from hypothesis import given

from mosaic.ids import WorkerName
from mosaic_scheduler.domain.policy import plan
from mosaic_scheduler.domain.scaling import last_machines, runs_that_would_fit
from mosaic_scheduler.domain.snapshot import Node, Snapshot
from tests.builders import NOON, a_fleet, a_node, a_run, a_team, an_agent, an_attempt
from tests.unit.scheduler.test_properties import checked, snapshots

CLEANRL = WorkerName("cleanrl")


def fitting(snapshot: Snapshot, **machines: Node) -> dict[str, int]:
    return dict(runs_that_would_fit(snapshot, {WorkerName(name): node for name, node in machines.items()}, now=NOON))


def test_an_empty_queue_needs_no_machine() -> None:
    assert {} == fitting(a_fleet(a_node()))


def test_a_run_that_starts_by_itself_needs_no_machine() -> None:
    assert {} == fitting(a_fleet(a_node(), queued=(a_run(),)), cleanrl=a_node())


def test_every_run_behind_a_full_fleet_would_fit() -> None:
    fleet = a_fleet(
        a_node(gpus=1),
        running=(an_attempt("old-1"),),
        queued=tuple(a_run(f"run-{number}") for number in range(3)),
    )

    assert {"cleanrl": 3} == fitting(fleet, cleanrl=a_node(gpus=1))


def test_only_what_does_not_start_by_itself_is_counted() -> None:
    fleet = a_fleet(a_node(gpus=1), queued=(a_run("run-1"), a_run("run-2")))

    assert {"cleanrl": 1} == fitting(fleet, cleanrl=a_node(gpus=1))


def test_each_worker_is_counted_for_itself() -> None:
    fleet = a_fleet(queued=(a_run("run-1"), a_run("run-2", worker="xuance"), a_run("run-3", worker="xuance")))

    assert {"cleanrl": 1, "xuance": 2} == fitting(fleet)


def test_a_worker_with_a_long_queue_leaves_the_others_their_count() -> None:
    crowd = tuple(a_run(f"run-{number}") for number in range(600))
    fleet = a_fleet(queued=(*crowd, a_run("other", worker="xuance", waited=timedelta(0))))

    assert {"cleanrl": 500, "xuance": 1} == fitting(fleet)


def test_a_run_larger_than_the_machine_of_its_worker_does_not_fit() -> None:
    fleet = a_fleet(queued=(a_run("small", gpus=1), a_run("big", gpus=2)))

    assert {"cleanrl": 1} == fitting(fleet, cleanrl=a_node(gpus=1))


def test_a_worker_without_a_known_machine_gets_the_benefit_of_the_doubt() -> None:
    fleet = a_fleet(
        queued=(a_run(gpus=2, cpus=3, memory_mb=100, gpu_memory_mb=40_000), a_run("part", gpu_fraction=0.5))
    )

    assert {"cleanrl": 2} == fitting(fleet)


def test_a_quota_bounds_what_would_fit() -> None:
    fleet = a_fleet(
        teams=(a_team("vision", gpus=2, borrowing_limit_gpus=0),),
        queued=tuple(a_run(f"run-{number}") for number in range(5)),
    )

    assert {"cleanrl": 2} == fitting(fleet, cleanrl=a_node(gpus=1))


def test_what_a_larger_fleet_would_lend_counts() -> None:
    fleet = a_fleet(
        a_node(gpus=1),
        teams=(a_team("vision", gpus=1), a_team("nlp", gpus=4)),
        queued=tuple(a_run(f"run-{number}") for number in range(3)),
    )

    assert {"cleanrl": 2} == fitting(fleet, cleanrl=a_node(gpus=1))


def test_a_run_that_nobody_could_execute_does_not_count() -> None:
    fleet = a_fleet(a_node(), queued=(a_run("stray", team="nobodys"),))

    assert {} == fitting(fleet, cleanrl=a_node())


def test_a_cap_bounds_what_would_fit() -> None:
    fleet = a_fleet(
        teams=(a_team("vision", max_running=1),), queued=tuple(a_run(f"run-{number}") for number in range(5))
    )

    assert {"cleanrl": 1} == fitting(fleet, cleanrl=a_node(gpus=1))


def test_a_run_whose_time_has_not_come_is_not_counted() -> None:
    fleet = a_fleet(queued=(a_run(not_before=NOON + timedelta(hours=1)),))

    assert {} == fitting(fleet, cleanrl=a_node())


def test_machines_that_drain_are_not_counted_on() -> None:
    fleet = a_fleet(a_node(), agents=(an_agent(draining=True),), queued=(a_run(),))

    assert {"cleanrl": 1} == fitting(fleet, cleanrl=a_node(draining=True))


def test_the_largest_machine_of_a_worker_is_remembered_when_it_is_gone() -> None:
    small, large = a_node("n1", gpus=1), a_node("n2", gpus=4)

    seen = last_machines({}, {"n1": small, "n2": large}, (an_agent("n1"), an_agent("n2")))

    assert {CLEANRL: large} == seen
    assert {CLEANRL: large} == last_machines(seen, {}, ())


def test_a_machine_that_stands_replaces_a_remembered_one() -> None:
    small, large = a_node("n1", gpus=1), a_node("n2", gpus=4)

    assert {CLEANRL: small} == last_machines({CLEANRL: large}, {"n1": small}, (an_agent("n1"),))


@checked
@given(snapshots())
def test_no_more_machines_are_asked_for_than_runs_wait(snapshot: Snapshot) -> None:
    nodes = {node.node_id: node for node in snapshot.nodes}
    waiting = plan(snapshot, now=NOON).waiting
    worker_of = {run.run_id: run.worker for run in snapshot.queued}

    counted = runs_that_would_fit(snapshot, last_machines({}, nodes, snapshot.agents), now=NOON)

    assert counted <= Counter(worker_of[run_id] for run_id in waiting)
