"""One message, or one queue, that is broken holds up no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from mosaic.errors import BrokerUnavailable, MessageRefused, QueueUnavailable
from mosaic.ids import RunId
from mosaic.model.run import Run
from mosaic_scheduler.ports import OutboxKind, OutboxMessage
from tests.fakes.scheduler import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.engine.dispose()


def ended(desk: Desk, *run_ids: str) -> list[Run]:
    """Some runs, told to the outbox as ended in that order; the last letter of its id is the way of a run."""
    run = desk.submit()
    desk.cancel(run)
    desk.rounds.flush()
    desk.finished.tried.clear()
    desk.finished.published.clear()
    with desk.store.write() as work:
        known = work.run(run.run_id)
        assert known is not None
        for run_id in run_ids:
            work.save_run(_called(known, run_id))
            work.send_later(OutboxMessage(OutboxKind.RUN_FINISHED, RunId(run_id), 1))
    return [_called(known, run_id) for run_id in run_ids]


def _called(run: Run, run_id: str) -> Run:
    return replace(run, run_id=RunId(run_id))


def told(desk: Desk) -> list[str]:
    return [one.run.run_id for one in desk.finished.published]


def test_an_end_that_can_never_leave_is_parked_and_the_others_leave(desk: Desk) -> None:
    ended(desk, "huge-1", "fine-1")
    desk.finished.faults["huge-1"] = MessageRefused("larger than the broker allows")

    with capture_logs() as logs:
        desk.rounds.flush()
        desk.rounds.flush()

    assert ["fine-1"] == told(desk)
    assert ["huge-1", "fine-1"] == desk.finished.tried, "it is tried once"
    assert (1, []) == (desk.rounds.parked(), desk.store.outbox(10))
    (parked,) = [one for one in logs if one["log_level"] == "error"]
    assert ("huge-1", True) == (parked["run_id"], "larger than the broker allows" in parked["reason"])


def test_what_was_parked_is_tried_again_by_the_next_scheduler(desk: Desk) -> None:
    ended(desk, "huge-1")
    desk.finished.faults["huge-1"] = MessageRefused("larger than the broker allows")
    desk.rounds.flush()

    desk.finished.faults.clear()
    desk.new_rounds().flush()

    assert (["huge-1"], 0) == (told(desk), desk.rounds.parked())


def test_one_missing_queue_holds_up_only_its_own_runs(desk: Desk) -> None:
    ended(desk, "a-1", "b-1", "c-2", "d-3")
    desk.finished.faults |= {name: QueueUnavailable("no such queue") for name in ("a-1", "b-1")}

    desk.rounds.flush()

    assert ["c-2", "d-3"] == told(desk)
    assert ["a-1", "c-2", "d-3"] == desk.finished.tried, "a queue that is broken costs one deadline"


def test_a_queue_that_takes_nothing_is_left_alone_for_a_while_and_then_tried_again(desk: Desk) -> None:
    ended(desk, "a-1", "b-2")
    desk.finished.faults["a-1"] = QueueUnavailable("no such queue")
    for _ in range(3):
        desk.rounds.flush()
    assert ["a-1", "b-2"] == desk.finished.tried

    desk.finished.faults.clear()
    desk.later(31)
    desk.rounds.flush()

    assert ["b-2", "a-1"] == told(desk)


def test_a_broker_that_is_away_costs_one_deadline_for_all_queues(desk: Desk) -> None:
    ended(desk, "a-1", "b-2", "c-3")
    desk.finished.faults |= {name: BrokerUnavailable("away") for name in ("a-1", "b-2", "c-3")}

    desk.rounds.flush()

    assert ["a-1"] == desk.finished.tried
    assert 3 == len(desk.store.outbox(10))


def test_what_waits_behind_hundreds_that_are_stuck_leaves(desk: Desk) -> None:
    stuck = [f"a{number}-1" for number in range(250)]
    ended(desk, *stuck, "b-2")
    desk.finished.faults |= {name: QueueUnavailable("no such queue") for name in stuck}

    desk.rounds.flush()

    assert ["b-2"] == told(desk)


def test_a_dispatch_that_breaks_the_client_stops_no_round(desk: Desk) -> None:
    first, second = desk.submit(), desk.submit()
    desk.dispatcher.faults[first.run_id] = ValueError("a queue's name of 300 letters")

    desk.rounds.plan()
    desk.later(desk.settings.dispatch_again.total_seconds() + 1)
    desk.rounds.sweep()

    assert {second.run_id} == {run_id for _, run_id, _ in desk.dispatcher.dispatched}
    assert 1 == desk.rounds.parked()


def test_a_new_run_that_can_never_be_told_holds_up_none_of_its_batch(desk: Desk) -> None:
    with desk.store.write() as work:
        for run_id in ("a-1", "huge-1", "b-1"):
            whose = {"user": "ann", "team": "default"}
            work.send_later(OutboxMessage(OutboxKind.RUN_ACCEPTED, RunId(run_id), 0, whose))
    desk.finished.faults["huge-1"] = MessageRefused("larger than the broker allows")

    desk.rounds.flush()

    assert ["a-1", "b-1"] == [run.run_id for run in desk.finished.accepted]
    assert (1, []) == (desk.rounds.parked(), desk.store.outbox(10))
