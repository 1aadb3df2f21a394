"""What the baselines decide, and that they decide it fast and in order."""

from __future__ import annotations

from mosaic.ids import RunId
from mosaic.model.run import Priority
from mosaic_scheduler.domain.changes import AttemptEnded, AttemptHolds, NodeIs, RunLeftQueue
from mosaic_scheduler.domain.enactment import changes_of
from mosaic_scheduler.domain.run import QueuedRun
from mosaic_simulator.baselines import BASELINES, Baseline
from tests.builders import NOON, a_fleet, a_node, a_run, an_attempt, minutes, started


def waiting(*runs: QueuedRun, policy: str, gpus: int = 1) -> Baseline:
    return BASELINES[policy](a_fleet(a_node(gpus=gpus), queued=runs))


def test_fifo_starts_the_oldest() -> None:
    policy = waiting(a_run("young", waited=minutes(1)), a_run("old", waited=minutes(9)), policy="fifo")

    assert ["old"] == list(started(policy.plan(NOON)))


def test_fifo_passes_over_what_does_not_fit() -> None:
    policy = waiting(a_run("big", gpus=4, waited=minutes(9)), a_run("small"), policy="fifo")

    assert ["small"] == list(started(policy.plan(NOON)))


def test_strict_priority_starts_the_most_urgent() -> None:
    urgent = a_run("urgent", priority=Priority.URGENT, waited=minutes(1))
    policy = waiting(a_run("old", waited=minutes(9)), urgent, policy="priority")

    assert ["urgent"] == list(started(policy.plan(NOON)))


def test_round_robin_gives_each_team_its_turn() -> None:
    runs = [a_run(f"vision-{i}", team="vision", waited=minutes(9)) for i in range(4)]
    policy = waiting(*runs, a_run("nlp-0", team="nlp", waited=minutes(1)), policy="round-robin", gpus=2)

    assert {"vision-0", "nlp-0"} == set(started(policy.plan(NOON)))


def test_fractions_share_a_gpu_before_they_open_another() -> None:
    policy = waiting(a_run("a", gpu_fraction=0.5), a_run("b", gpu_fraction=0.5), policy="fifo", gpus=2)

    plan = policy.plan(NOON)

    assert 1 == len({admission.lease.gpus[0].gpu_id for admission in plan.admissions})


def test_planning_changes_nothing() -> None:
    policy = waiting(a_run("a"), a_run("b"), policy="fifo")

    assert policy.plan(NOON) == policy.plan(NOON)


def test_what_was_started_holds_its_place_until_it_ends() -> None:
    run = a_run("a", waited=minutes(9))
    policy = waiting(run, a_run("b"), policy="fifo")
    first = policy.plan(NOON)

    policy.apply(changes_of(first, queued={run.run_id: run}, running={}, now=NOON))
    then = policy.plan(NOON)
    policy.apply([AttemptEnded(RunId("a"))])
    last = policy.plan(NOON)

    assert [["a"], [], ["b"]] == [list(started(plan)) for plan in (first, then, last)]


def test_an_unhealthy_node_takes_nothing() -> None:
    policy = waiting(a_run("a"), policy="fifo")

    policy.apply([NodeIs(a_node(gpus=1, healthy=False))])

    assert {} == started(policy.plan(NOON))


def test_a_run_that_left_the_queue_is_not_started() -> None:
    policy = waiting(a_run("a"), policy="fifo")

    policy.apply([RunLeftQueue(RunId("a"))])

    assert {} == started(policy.plan(NOON))


def test_hearing_of_an_attempt_twice_holds_its_place_once() -> None:
    policy = waiting(a_run("a"), policy="fifo", gpus=2)

    policy.apply([AttemptHolds(an_attempt("x")), AttemptHolds(an_attempt("x"))])

    assert ["a"] == list(started(policy.plan(NOON)))


def test_every_waiting_run_has_a_reason() -> None:
    policy = waiting(a_run("a"), a_run("b"), policy="fifo")

    plan = policy.plan(NOON)

    assert {"a", "b"} == {*started(plan), *plan.waiting}
