"""What rounds make of what they read, and of plans that the world has overtaken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from mosaic.lifecycle import AttemptState, RunState
from mosaic.model.attempt import Attempt, AttemptDirective, Directive, Launch
from mosaic.model.resources import Resources
from mosaic.model.run import Priority, Run
from mosaic.wire.v1 import scheduler_pb2
from mosaic_scheduler.adapters.sql_runs import SqlRuns
from mosaic_scheduler.adapters.tables import runs
from mosaic_scheduler.domain.run import ResumeGrade
from mosaic_scheduler.ports import RunTransaction
from tests.fakes.calls import Call, admin
from tests.fakes.scheduler import Desk

WHOLE = Resources(cpus=4)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.engine.dispose()


def running(desk: Desk, run: Run, attempt: int = 1) -> Launch:
    claimed = desk.claim(run, attempt)
    desk.report(claimed, "started")
    return claimed


def keep_alive(desk: Desk, claimed: Launch, seconds: int) -> None:
    """Let time pass while the agent renews."""
    for _ in range(0, seconds, 10):
        desk.later(10)
        desk.renew(claimed)


def graded(desk: Desk, grade: ResumeGrade | None) -> None:
    """Let the registry tell another grade of the worker."""
    view = desk.fleet.current
    workers = {name: replace(worker, resume_grade=grade) for name, worker in view.workers.items()}
    desk.fleet.current = replace(view, workers=workers, revision=view.revision + 1)


def low_and_urgent(desk: Desk) -> tuple[Run, Launch, Run]:
    """Return a low run that holds everything for long enough, and an urgent one that wants it."""
    low = desk.submit(priority=Priority.LOW, resources=WHOLE)
    desk.rounds.plan()
    claimed = running(desk, low)
    keep_alive(desk, claimed, 120)
    return low, claimed, desk.submit(priority=Priority.URGENT, resources=WHOLE)


def test_a_run_leaves_for_an_urgent_one_and_comes_back_from_its_checkpoint(desk: Desk) -> None:
    low, claimed, urgent = low_and_urgent(desk)

    desk.rounds.plan()
    assert [AttemptDirective(low.run_id, 1, Directive.PREEMPT)] == desk.renew(claimed)
    desk.report(claimed, "preempted", checkpoint="checkpoints/7")
    desk.rounds.plan()
    desk.report(running(desk, urgent), "succeeded")
    desk.rounds.plan()

    assert "checkpoints/7" == desk.claim(low, attempt=2).resume_from


def test_a_grade_that_is_told_later_counts_for_runs_that_are_under_way(desk: Desk) -> None:
    graded(desk, None)
    low, claimed, _ = low_and_urgent(desk)
    desk.rounds.plan()
    assert [AttemptDirective(low.run_id, 1, Directive.CONTINUE)] == desk.renew(claimed)

    graded(desk, ResumeGrade.EXACT)
    desk.rounds.plan()

    assert [AttemptDirective(low.run_id, 1, Directive.PREEMPT)] == desk.renew(claimed)


def test_cancelling_a_run_that_is_asked_to_leave_ends_it(desk: Desk) -> None:
    low, claimed, _ = low_and_urgent(desk)
    desk.rounds.plan()

    desk.cancel(low)
    assert [AttemptDirective(low.run_id, 1, Directive.CANCEL)] == desk.renew(claimed)
    desk.report(claimed, "preempted")

    assert RunState.CANCELLED is desk.run(low).state
    with desk.store.read() as work:
        (note,) = (entry for entry in work.history(low.run_id) if entry.fact == "cancel_requested")
    assert ("user:ann", "changed my mind") == (note.actor, note.detail)


def test_time_in_which_nobody_claims_an_attempt_is_not_time_of_the_run(desk: Desk) -> None:
    run = desk.submit(max_wall=timedelta(seconds=20), resources=WHOLE)
    desk.rounds.plan()
    desk.later(40)
    desk.rounds.plan()
    assert AttemptState.ADMITTED is desk.attempt(run).state

    claimed = running(desk, run)
    desk.later(19)
    desk.renew(claimed)
    desk.rounds.plan()
    assert [AttemptDirective(run.run_id, 1, Directive.CONTINUE)] == desk.renew(claimed)
    desk.later(2)
    desk.rounds.plan()

    assert [AttemptDirective(run.run_id, 1, Directive.EXPIRE)] == desk.renew(claimed)


def test_an_unclaimed_run_with_a_short_limit_keeps_nobody_from_starting(desk: Desk) -> None:
    desk.submit(max_wall=timedelta(seconds=20))
    desk.rounds.plan()
    desk.later(30)
    other = desk.submit()

    desk.rounds.plan()

    assert RunState.ADMITTED is desk.run(other).state


def test_a_decision_that_cannot_be_true_keeps_no_other_from_happening(desk: Desk) -> None:
    """A run that contradicts its attempt is somebody's mistake; the others pay nothing for it."""
    broken, sound = desk.submit(max_wall=timedelta(seconds=20)), desk.submit(max_wall=timedelta(seconds=20))
    desk.rounds.plan()
    running(desk, broken)
    running(desk, sound)
    desk.rounds.plan()
    with desk.engine.begin() as connection:
        connection.execute(sa.update(runs).where(runs.c.run_id == broken.run_id).values(state="succeeded"))
    desk.later(21)
    waiting = desk.submit()

    desk.rounds.plan()

    assert Directive.EXPIRE is desk.attempt(sound).directive
    assert RunState.ADMITTED is desk.run(waiting).state


class CountingRuns(SqlRuns):
    """Counts the runs that are read because they changed."""

    found = 0

    @contextmanager
    def read(self) -> Iterator[RunTransaction]:
        with super().read() as work:
            changed_since = work.changed_since

            def counted(revision: int, **teams: Any) -> list[tuple[Run, Attempt | None]]:
                changed = changed_since(revision, **teams)
                self.found += len(changed)
                return changed

            work.changed_since = counted  # type: ignore[method-assign]
            yield work


def test_a_new_leader_reads_no_run_that_ended_before_it_came(desk: Desk) -> None:
    for _ in range(5):
        desk.cancel(desk.submit())
    desk.store = store = CountingRuns(desk.engine)
    successor = desk.new_rounds()

    for _ in range(3):
        successor.plan()
    assert 0 == store.found
    new = desk.submit()
    successor.plan()

    assert (1, RunState.ADMITTED) == (store.found, desk.run(new).state)


def test_who_watches_an_old_run_is_not_read_every_run_since(desk: Desk) -> None:
    old = desk.submit()
    for _ in range(5):
        desk.cancel(desk.submit())
    store = CountingRuns(desk.engine)
    api = desk.api(store)
    watched = api.WatchRuns(scheduler_pb2.WatchRunsRequest(run_ids=[old.run_id]), Call(admin()))  # type: ignore[arg-type]

    assert scheduler_pb2.RUN_STATE_QUEUED == next(watched).state
    desk.rounds.plan()
    desk.changes.notify()
    assert scheduler_pb2.RUN_STATE_ADMITTED == next(watched).state

    assert 1 == store.found
