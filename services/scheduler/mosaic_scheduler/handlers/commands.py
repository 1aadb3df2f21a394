"""What people do to runs: cancel, pause, resume, retry."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from mosaic.errors import Refused
from mosaic.hosting.audit import by
from mosaic.lifecycle import AttemptFact, AttemptState, RunFact, RunState, is_terminal
from mosaic.model.attempt import Attempt, Directive
from mosaic.model.identity import Caller
from mosaic.model.run import Change, Run
from mosaic_scheduler.domain.retry import RetrySettings
from mosaic_scheduler.domain.transition import move_attempt, move_run, request_of
from mosaic_scheduler.handlers.endings import cancel_waiting, end_attempt
from mosaic_scheduler.handlers.lookup import find_to_change
from mosaic_scheduler.handlers.submit import Accepted, Request, submit
from mosaic_scheduler.ports import Clock, Fleet, RunStore, RunTransaction, Secrets, dispatch_of


def cancel(name: str, *, caller: Caller, reason: str, store: RunStore, clock: Clock, retry: RetrySettings) -> Run:
    """End a run: at once if nobody executes it, else by asking its agent. Ended runs stay as they are."""
    now, actor = clock(), caller.actor
    with store.write() as work:
        run = find_to_change(work, name, caller)
        reason = reason or _who_cancelled(run, caller)
        if is_terminal(run.state):
            return run
        _note(work, run, "runs:cancel", caller, at=now, reason=reason)
        attempt = work.attempt(run.run_id, run.attempt) if run.attempt else None
        if run.state is RunState.STOPPING:
            return _cancel_leaving(work, run, attempt, at=now, actor=actor, reason=reason)
        if run.state is RunState.QUEUED or attempt is None or is_terminal(attempt.state):
            return cancel_waiting(work, run, at=now, actor=actor, reason=reason)
        if attempt.state is AttemptState.ADMITTED:
            # Not claimed yet: a later claim is refused, so it can end here and now.
            return end_attempt(
                work, run, attempt, AttemptFact.CANCELLED, at=now, actor=actor, reason=reason, settings=retry
            )
        work.save_attempt(move_attempt(attempt, AttemptFact.STOP_REQUESTED, at=now, directive=Directive.CANCEL))
        moved, note = move_run(run, RunFact.STOP_REQUESTED, at=now, actor=actor, detail=reason)
        work.add_history([note])
        work.send_later(dispatch_of(attempt))
        return work.save_run(moved)


def _note(work: RunTransaction, run: Run, action: str, caller: Caller, *, at: datetime, reason: str = "") -> None:
    facts = {"target": run.run_id, "team": run.spec.team, "reason": reason, "before": {"state": run.state.value}}
    work.audit(by(caller, action, at=at, **facts))


def _who_cancelled(run: Run, caller: Caller) -> str:
    return "cancelled by its owner" if caller.user == run.spec.user else f"cancelled by {caller.user}"


def _cancel_leaving(
    work: RunTransaction, run: Run, attempt: Attempt | None, *, at: datetime, actor: str, reason: str
) -> Run:
    """See that a run which is asked to leave for another does not return; other endings are under way already."""
    if attempt is None or attempt.directive is not Directive.PREEMPT:
        return run
    work.save_attempt(replace(attempt, directive=Directive.CANCEL))
    state = run.state.value
    work.add_history([Change(run.run_id, run.attempt, at, "cancel_requested", state, state, actor, reason)])
    return work.save_run(replace(run, updated_at=at))


def pause(name: str, *, caller: Caller, store: RunStore, clock: Clock) -> Run:
    """Ask for a run to be stopped in place; it keeps its lease."""
    return _direct(name, Directive.PAUSE, RunState.RUNNING, caller=caller, store=store, clock=clock)


def resume(name: str, *, caller: Caller, store: RunStore, clock: Clock) -> Run:
    """Ask for a paused run to go on; one whose attempt has ended meanwhile waits for its next one."""
    return _direct(name, Directive.RESUME, RunState.PAUSED, caller=caller, store=store, clock=clock)


def retry_run(name: str, *, caller: Caller, store: RunStore, fleet: Fleet, secrets: Secrets, clock: Clock) -> Accepted:
    """Submit an ended run again, as a new run of *caller* that names the old one.

    Raises:
        Refused: the run has not ended.
        BadInput: it names secrets that a run of *caller* does not get.
    """
    with store.read() as work:
        run = find_to_change(work, name, caller)
    if not is_terminal(run.state):
        raise Refused(f"run {run.run_id} is {run.state.value}; only an ended run can be tried again")
    labels = {**run.spec.labels, "retry_of": run.run_id, "retried_by": caller.actor}
    request = Request(replace(run.spec, labels=labels, not_before=None))
    return submit(request, caller=caller, store=store, fleet=fleet, secrets=secrets, clock=clock)


def _direct(name: str, directive: Directive, needed: RunState, *, caller: Caller, store: RunStore, clock: Clock) -> Run:
    now, actor = clock(), caller.actor
    with store.write() as work:
        run = find_to_change(work, name, caller)
        if run.state is not needed:
            raise Refused(f"run {run.run_id} is {run.state.value}; only a {needed.value} run can {directive.value}")
        _note(work, run, f"runs:{directive.value}", caller, at=now)
        attempt = work.attempt(run.run_id, run.attempt)
        assert attempt is not None, "a run that has started has an attempt"
        state = run.state.value
        work.add_history([Change(run.run_id, run.attempt, now, request_of(directive), state, state, actor)])
        if is_terminal(attempt.state):
            moved, note = move_run(run, RunFact.REQUEUED, at=now, actor=actor, not_before=None)
            work.add_history([note])
            return work.save_run(moved)
        work.save_attempt(replace(attempt, directive=directive))
        work.send_later(dispatch_of(attempt))
        return work.save_run(replace(run, updated_at=now))
