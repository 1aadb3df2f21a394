"""What people do to runs: cancel, pause, resume, retry."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from mosaic.errors import BadInput, Refused, RunNotFound
from mosaic.ids import RunId
from mosaic.lifecycle import AttemptFact, AttemptState, RunFact, RunState, is_terminal
from mosaic_scheduler.domain.entries import AttemptEntry, HistoryEntry, RunEntry, Wish
from mosaic_scheduler.domain.retry import RetrySettings
from mosaic_scheduler.domain.transition import move_attempt, move_run
from mosaic_scheduler.handlers.endings import cancel_waiting, end_attempt
from mosaic_scheduler.handlers.submit import Accepted, Request, submit
from mosaic_scheduler.ports import Clock, Fleet, OutboxMessage, RunStore, RunTransaction, Secrets


def find(work: RunTransaction, name: str) -> RunEntry:
    """Return the run whose id is *name*, or starts or ends with it.

    Raises:
        RunNotFound: none does.
        BadInput: several do.
    """
    exact = work.run(RunId(name))
    if exact is not None:
        return exact
    found = work.runs_like(name.upper()) if len(name) >= 4 else []
    if len(found) > 1:
        raise BadInput("run id", [f"{name!r} could be {found[0].run_id} or {found[1].run_id}; type more of it"])
    if not found:
        raise RunNotFound(name)
    return found[0]


def cancel(name: str, *, actor: str, reason: str, store: RunStore, clock: Clock, retry: RetrySettings) -> RunEntry:
    """End a run: at once if nobody executes it, else by asking its agent. Ended runs stay as they are."""
    now = clock()
    with store.write() as work:
        run = find(work, name)
        if is_terminal(run.state):
            return run
        attempt = work.attempt(run.run_id, run.attempt) if run.attempt else None
        if run.state is RunState.STOPPING:
            return _cancel_leaving(work, run, attempt, at=now, actor=actor, reason=reason)
        if run.state is RunState.QUEUED or attempt is None:
            return cancel_waiting(work, run, at=now, actor=actor, reason=reason)
        if attempt.state is AttemptState.ADMITTED:
            # Not claimed yet: a later claim is refused, so it can end here and now.
            return end_attempt(
                work, run, attempt, AttemptFact.CANCELLED, at=now, actor=actor, reason=reason, settings=retry
            )
        work.save_attempt(move_attempt(attempt, AttemptFact.STOP_REQUESTED, at=now, wish=Wish.CANCEL))
        moved, note = move_run(run, RunFact.STOP_REQUESTED, at=now, actor=actor, detail=reason)
        work.add_history([note])
        _ring(work, attempt)
        return work.save_run(moved)


def _cancel_leaving(
    work: RunTransaction, run: RunEntry, attempt: AttemptEntry | None, *, at: datetime, actor: str, reason: str
) -> RunEntry:
    """See that a run which is asked to leave for another does not return; other endings are under way already."""
    if attempt is None or attempt.wish is not Wish.PREEMPT:
        return run
    work.save_attempt(replace(attempt, wish=Wish.CANCEL))
    state = run.state.value
    work.add_history([HistoryEntry(run.run_id, run.attempt, at, "cancel_requested", state, state, actor, reason)])
    return work.save_run(replace(run, updated_at=at))


def pause(name: str, *, actor: str, store: RunStore, clock: Clock) -> RunEntry:
    """Ask for a run to be stopped in place; it keeps its lease."""
    return _wish(name, Wish.PAUSE, RunState.RUNNING, actor=actor, store=store, clock=clock)


def resume(name: str, *, actor: str, store: RunStore, clock: Clock) -> RunEntry:
    """Ask for a paused run to go on."""
    return _wish(name, Wish.RESUME, RunState.PAUSED, actor=actor, store=store, clock=clock)


def retry_run(name: str, *, actor: str, store: RunStore, fleet: Fleet, secrets: Secrets, clock: Clock) -> Accepted:
    """Submit an ended run again, as a new run that names the old one.

    Raises:
        Refused: the run has not ended.
    """
    with store.read() as work:
        run = find(work, name)
    if not is_terminal(run.state):
        raise Refused(f"run {run.run_id} is {run.state.value}; only an ended run can be tried again")
    labels = {**run.spec.labels, "retry_of": run.run_id, "retried_by": actor}
    request = Request(replace(run.spec, labels=labels))
    return submit(request, store=store, fleet=fleet, secrets=secrets, clock=clock)


def _wish(name: str, wish: Wish, needed: RunState, *, actor: str, store: RunStore, clock: Clock) -> RunEntry:
    now = clock()
    with store.write() as work:
        run = find(work, name)
        if run.state is not needed:
            raise Refused(f"run {run.run_id} is {run.state.value}; only a {needed.value} run can {wish.value}")
        attempt = work.attempt(run.run_id, run.attempt)
        assert attempt is not None, "a running run has an attempt"
        work.save_attempt(replace(attempt, wish=wish))
        state, asked = run.state.value, f"{wish.value}_requested"
        work.add_history([HistoryEntry(run.run_id, run.attempt, now, asked, state, state, actor)])
        _ring(work, attempt)
        return work.save_run(replace(run, updated_at=now))


def _ring(work: RunTransaction, attempt: AttemptEntry) -> None:
    work.send_later(OutboxMessage("ring", attempt.run_id, attempt.attempt, {"agent_id": attempt.agent_id}))
