"""A run that a person paused stays paused, whatever becomes of the attempt that was."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.lifecycle import RunState
from mosaic.model.attempt import Launch
from mosaic.model.run import Priority, Run
from mosaic_scheduler.handlers import queries
from tests.fakes.scheduler import Desk, a_fleet


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, a_fleet(cpus=1))


def paused(desk: Desk) -> tuple[Run, Launch]:
    """Return a run that was started and then paused, with its first claim."""
    run = desk.submit()
    desk.rounds.plan()
    claimed = desk.claim(run)
    desk.report(claimed, "started", checkpoint="checkpoints/7")
    desk.pause(run)
    desk.report(claimed, "paused")
    return run, claimed


def explained(desk: Desk, run: Run) -> str:
    told = queries.explain_run(
        desk.run(run), store=desk.store, fleet=desk.fleet, clock=desk.clock, policy=desk.settings.policy
    )
    return "\n".join(told.sentences)


ENDINGS = [
    pytest.param("preempted", {}, id="its agent was stopped"),
    pytest.param("failed", {"failure_kind": "lost_agent", "reason": "the agent restarted"}, id="its agent was killed"),
    pytest.param("failed", {"failure_kind": "crash", "reason": "killed"}, id="it crashed"),
]


@pytest.mark.parametrize(("fact", "details"), ENDINGS)
def test_a_paused_run_stays_paused_when_its_attempt_ends(desk: Desk, fact: str, details: dict[str, str]) -> None:
    run, claimed = paused(desk)

    desk.report(claimed, fact, **details)
    desk.rounds = desk.new_rounds()
    desk.later(3600)
    desk.rounds.plan()
    desk.rounds.sweep()

    assert (RunState.PAUSED, 1) == (desk.run(run).state, desk.run(run).attempt)
    assert "it is paused and holds no machine" in explained(desk, run)
    assert "go on from checkpoints/7" in explained(desk, run)
    assert f"`mosaic resume {run.run_id}`" in explained(desk, run)


def test_a_pause_that_had_not_come_true_yet_holds_as_well(desk: Desk) -> None:
    run = desk.submit()
    desk.rounds.plan()
    claimed = desk.claim(run)
    desk.report(claimed, "started")
    desk.pause(run)

    desk.report(claimed, "preempted")

    assert RunState.PAUSED is desk.run(run).state


def test_a_paused_run_whose_attempt_is_gone_is_planned_again_when_it_is_resumed(desk: Desk) -> None:
    run, claimed = paused(desk)
    desk.report(claimed, "preempted")

    desk.resume(run)
    assert RunState.QUEUED is desk.run(run).state
    desk.rounds.plan()
    again = desk.claim(run, 2)
    desk.report(again, "started")

    assert (RunState.RUNNING, "checkpoints/7") == (desk.run(run).state, again.resume_from)
    desk.report(again, "preempted")
    assert RunState.QUEUED is desk.run(run).state, "nobody paused it again"


def test_a_paused_run_whose_attempt_is_gone_can_be_cancelled_at_once(desk: Desk) -> None:
    run, claimed = paused(desk)
    desk.report(claimed, "preempted")

    assert RunState.CANCELLED is desk.cancel(run).state


def test_a_paused_run_that_had_to_make_room_stays_paused_and_says_for_whom(desk: Desk) -> None:
    run, claimed = paused(desk)
    desk.later(3600)
    desk.renew(claimed)
    urgent = desk.submit(priority=Priority.HIGH)
    desk.rounds.plan()
    assert RunState.STOPPING is desk.run(run).state

    desk.report(claimed, "preempted")

    made_room = f"made room for run {urgent.run_id} of ann in team default, priority high"
    assert (RunState.PAUSED, made_room) == (desk.run(run).state, desk.run(run).reason)
    assert made_room == desk.attempt(run).reason
    with desk.store.read() as work:
        assert made_room in [entry.detail for entry in work.history(run.run_id)]


def test_explain_says_that_a_paused_run_is_paused(desk: Desk) -> None:
    run, _ = paused(desk)

    assert "attempt 1 is paused on node node-1 and keeps its place there" in explained(desk, run)
    assert f"`mosaic resume {run.run_id}` lets it go on" in explained(desk, run)
