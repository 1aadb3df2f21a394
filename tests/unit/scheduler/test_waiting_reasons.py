"""Why runs wait is written with them when it changes, and only then."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from mosaic.lifecycle import RunState
from mosaic.model.resources import Resources
from mosaic_scheduler.domain.reasons import Reason, ReasonCode
from mosaic_scheduler.handlers import queries
from mosaic_scheduler.handlers.waiting import WaitingReasons
from tests.builders import NOON, minutes
from tests.fakes.scheduler import Desk, a_fleet

FULL = Reason.of(ReasonCode.NODES_FULL, need=4.0, resource="GPUs", beside="", most=2.0)
FULLER = Reason.of(ReasonCode.NODES_FULL, need=4.0, resource="GPUs", beside="", most=1.0)
SHORT_OF_CPUS = Reason.of(ReasonCode.NODES_FULL, need=4.0, resource="CPUs", beside="", most=2.0)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path, a_fleet(cpus=1))
    yield desk
    desk.engine.dispose()


@pytest.fixture
def reasons() -> WaitingReasons:
    told = WaitingReasons(retell_every=timedelta(minutes=1))
    told.written({"run-1": FULL}, NOON)  # type: ignore[dict-item]
    return told


@pytest.mark.parametrize(
    ("reason", "later", "is_written"),
    [
        pytest.param(FULL, minutes(60), False, id="the same reason is never written again"),
        pytest.param(FULLER, minutes(0.5), False, id="other numbers wait"),
        pytest.param(FULLER, minutes(1), True, id="other numbers are written after a while"),
        pytest.param(SHORT_OF_CPUS, minutes(0), True, id="another resource is written at once"),
    ],
)
def test_a_reason_is_written_when_it_says_something_else(
    reasons: WaitingReasons, reason: Reason, later: timedelta, is_written: bool
) -> None:
    assert is_written == ("run-1" in reasons.news({"run-1": reason}, NOON + later))  # type: ignore[dict-item]


def test_a_run_that_waits_again_is_told_again(reasons: WaitingReasons) -> None:
    reasons.forget(["run-1"])  # type: ignore[list-item]

    assert {"run-1": FULL} == reasons.news({"run-1": FULL}, NOON)  # type: ignore[dict-item]


def test_a_waiting_run_carries_its_reason_and_idle_rounds_write_nothing(desk: Desk) -> None:
    desk.submit()
    waiting = desk.submit()
    desk.rounds.plan()

    told = desk.run(waiting)
    desk.later(3600)
    desk.rounds.plan()
    desk.rounds.plan()

    assert (RunState.QUEUED, "nodes_full") == (told.state, told.reason_code)
    assert "needs 1 CPUs on one node; the most free on any is 0" == told.reason
    assert told == desk.run(waiting), "nothing happened, so watchers hear nothing"


def test_a_new_leader_does_not_write_again_what_is_written(desk: Desk) -> None:
    desk.submit()
    waiting = desk.submit()
    desk.rounds.plan()
    told = desk.run(waiting)

    desk.new_rounds().plan()

    assert told == desk.run(waiting)


def test_lists_and_explanations_agree(desk: Desk) -> None:
    desk.submit(resources=Resources(cpus=1))
    waiting = desk.submit()
    desk.rounds.plan()
    run = desk.run(waiting)

    told = queries.explain_run(run, store=desk.store, fleet=desk.fleet, clock=desk.clock, policy=desk.settings.policy)

    assert run.reason == told.sentences[0]
    assert 1 == told.queue_position


def test_a_run_that_starts_has_no_reason_left(desk: Desk) -> None:
    first = desk.submit()
    waiting = desk.submit()
    desk.rounds.plan()
    desk.report(desk.claim(first), "succeeded")

    desk.rounds.plan()

    assert ("", "") == (desk.run(waiting).reason_code, desk.run(waiting).reason)
