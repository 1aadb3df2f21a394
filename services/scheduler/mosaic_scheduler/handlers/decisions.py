"""Carrying out a plan: admissions, preemptions and ends of time limits, written in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial

import structlog

from mosaic.errors import IllegalTransition
from mosaic.ids import RunId
from mosaic.lifecycle import AttemptFact, AttemptState, RunFact, RunState, is_terminal
from mosaic.model.attempt import Attempt, Directive
from mosaic.model.run import Run
from mosaic_scheduler.domain.plan import Admission, Expiry, Plan, Preemption
from mosaic_scheduler.domain.run import LEAVING
from mosaic_scheduler.domain.transition import move_attempt, move_run
from mosaic_scheduler.handlers.endings import end_attempt
from mosaic_scheduler.handlers.round_settings import RoundSettings
from mosaic_scheduler.ports import RunStore, RunTransaction, dispatch_of

log = structlog.get_logger(__name__)

Step = Callable[[RunTransaction], object]


def record(
    decided: Plan, *, store: RunStore, now: datetime, settings: RoundSettings, also: Iterable[Step] = ()
) -> None:
    """Carry out *decided*, and *also* these steps; if a part of it cannot be true, carry out all the others."""
    steps = [*_steps(decided, now, settings), *also]
    if not steps:
        return
    try:
        _take(steps, store)
    except IllegalTransition:
        for step in steps:
            try:
                _take([step], store)
            except IllegalTransition as error:
                log.error("decision not carried out; the rest of the plan is", reason=str(error))


def _steps(decided: Plan, now: datetime, settings: RoundSettings) -> Iterator[Step]:
    for admission in decided.admissions:
        yield partial(_admit, admission=admission, now=now, settings=settings)
    for preemption in decided.preemptions:
        yield partial(_preempt, preemption=preemption, now=now, settings=settings)
    for expiry in decided.expiries:
        yield partial(_expire, expiry=expiry, now=now, settings=settings)


def _take(steps: Iterable[Step], store: RunStore) -> None:
    with store.write() as work:
        for step in steps:
            step(work)


def _admit(work: RunTransaction, admission: Admission, now: datetime, settings: RoundSettings) -> None:
    run = work.run(admission.run_id)
    # Somebody may have cancelled it since the snapshot; then the plan is simply not carried out.
    if run is None or run.state is not RunState.QUEUED or run.attempt + 1 != admission.attempt:
        return
    moved, note = move_run(
        run,
        RunFact.ADMITTED,
        at=now,
        actor="scheduler",
        detail=f"to agent {admission.agent_id}",
        attempt=admission.attempt,
        passed_over=0,
        not_before=None,
        reason_code="",
        reason="",
    )
    attempt = Attempt(
        run_id=run.run_id,
        attempt=admission.attempt,
        state=AttemptState.ADMITTED,
        agent_id=admission.agent_id,
        node_id=admission.node_id,
        lease=admission.lease,
        admitted_at=now,
        lease_until=now + settings.claim_within,
        borrowed=admission.borrowed,
        ends_by=admission.ends_by,
    )
    work.save_run(moved)
    work.save_attempt(attempt)
    work.add_history([note])
    work.send_later(dispatch_of(attempt))


def _preempt(work: RunTransaction, preemption: Preemption, now: datetime, settings: RoundSettings) -> None:
    why = _made_room_for(work, preemption.beneficiary)
    run = _direct(work, preemption.run_id, preemption.attempt, Directive.PREEMPT, now, why, settings)
    if run is not None:
        work.save_run(replace(run, evicted_for=run.evicted_for | {preemption.beneficiary}))


def _expire(work: RunTransaction, expiry: Expiry, now: datetime, settings: RoundSettings) -> None:
    _direct(work, expiry.run_id, expiry.attempt, Directive.EXPIRE, now, "", settings)


def _direct(
    work: RunTransaction,
    run_id: RunId,
    number: int,
    directive: Directive,
    now: datetime,
    why: str,
    settings: RoundSettings,
) -> Run | None:
    run, attempt = work.run(run_id), work.attempt(run_id, number)
    if run is None or attempt is None or run.attempt != number or is_terminal(attempt.state):
        return None
    if attempt.directive in LEAVING:
        return None
    if attempt.state is AttemptState.ADMITTED:
        # Nobody has claimed it: it ends here as preempted, and a late claim is refused.
        ended = replace(attempt, directive=Directive.PREEMPT, reason=why)
        fact = AttemptFact.PREEMPTED
        return end_attempt(work, run, ended, fact, at=now, actor="scheduler", settings=settings.retry)
    work.save_attempt(move_attempt(attempt, AttemptFact.STOP_REQUESTED, at=now, directive=directive, reason=why))
    moved, note = move_run(run, RunFact.STOP_REQUESTED, at=now, actor="scheduler", detail=why or directive.value)
    work.add_history([note])
    work.send_later(dispatch_of(attempt))
    return work.save_run(moved)


def _made_room_for(work: RunTransaction, run_id: RunId) -> str:
    run = work.run(run_id)
    whose = f" of {run.spec.user} in team {run.spec.team}, priority {run.spec.priority.label}" if run else ""
    return f"made room for run {run_id}{whose}"
