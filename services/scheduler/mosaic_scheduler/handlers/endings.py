"""How an attempt ends, and what that means for its run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from mosaic.lifecycle import AttemptFact, AttemptState, FailureKind, RunFact
from mosaic.model.attempt import Attempt, Directive
from mosaic.model.run import Run
from mosaic_scheduler.domain.retry import Failure, RetrySettings, next_attempt, takes_agents_down
from mosaic_scheduler.domain.transition import move_attempt, move_run, request_of
from mosaic_scheduler.ports import OutboxKind, OutboxMessage, RunTransaction

#: What an ending was asked for by, when the agent only knows that it was told to stop.
_ENDED_AS_TOLD = {
    Directive.CANCEL: AttemptFact.CANCELLED,
    Directive.PREEMPT: AttemptFact.PREEMPTED,
    Directive.EXPIRE: AttemptFact.FAILED,
}

#: What kind of failure an ending is that was told without one.
_UNSAID = {AttemptFact.FAILED: FailureKind.CRASH, AttemptFact.LOST: FailureKind.LOST_AGENT}


def end_attempt(
    work: RunTransaction,
    run: Run,
    attempt: Attempt,
    fact: AttemptFact,
    *,
    at: datetime,
    actor: str,
    kind: FailureKind | None = None,
    reason: str = "",
    settings: RetrySettings,
) -> Run:
    """Record that *attempt* ended with *fact* and decide what becomes of its run."""
    if fact is not AttemptFact.SUCCEEDED and attempt.directive in _ENDED_AS_TOLD:
        fact = _ENDED_AS_TOLD[attempt.directive]
        kind = FailureKind.TIME_LIMIT if attempt.directive is Directive.EXPIRE else kind
    if fact is AttemptFact.PREEMPTED:
        kind = FailureKind.PREEMPTED
        # Who planned it wrote down why; an agent that leaves does not say so.
        reason = attempt.reason or reason or f"agent {attempt.agent_id} was stopped"
    kind = kind or _UNSAID.get(fact)
    ended = move_attempt(
        attempt,
        fact,
        at=at,
        failure_kind=kind.value if kind and fact is not AttemptFact.SUCCEEDED else "",
        reason=reason,
    )
    work.save_attempt(ended)
    if ended.state is AttemptState.SUCCEEDED:
        return _finish(work, run, RunFact.SUCCEEDED, at=at, actor=actor, code="", reason=reason)
    if ended.state is AttemptState.CANCELLED:
        return _finish(work, run, RunFact.CANCELLED, at=at, actor=actor, code="cancelled", reason=reason)
    assert kind is not None, f"{fact.value} is no ending"
    return _retry_or_fail(work, run, kind, at=at, actor=actor, reason=reason, settings=settings)


def cancel_waiting(work: RunTransaction, run: Run, *, at: datetime, actor: str, reason: str) -> Run:
    """End a run that nobody executes."""
    return _finish(work, run, RunFact.CANCELLED, at=at, actor=actor, code="cancelled", reason=reason)


def _retry_or_fail(
    work: RunTransaction,
    run: Run,
    kind: FailureKind,
    *,
    at: datetime,
    actor: str,
    reason: str,
    settings: RetrySettings,
) -> Run:
    *history, failure = _failures(run, work.attempts(run.run_id))
    decision = next_attempt(run.run_id, failure, history, _own_budget(run, settings))
    if decision is None:
        if takes_agents_down([*history, failure], settings):
            often = f"{settings.lost_loop_length} agents in a row were lost soon after they had begun with it"
            reason = f"given up, since {often}; the last: {reason}"
        return _finish(work, run, RunFact.FAILED, at=at, actor=actor, code=kind.value, reason=reason)
    moved, note = move_run(
        run,
        RunFact.HELD if _is_to_stay_paused(work, run) else RunFact.REQUEUED,
        at=at,
        actor=actor,
        detail=reason,
        not_before=decision.not_before,
        reason_code=kind.value,
        reason=reason,
    )
    work.add_history([note])
    return work.save_run(moved)


def _is_to_stay_paused(work: RunTransaction, run: Run) -> bool:
    """Tell whether a person paused *run* and nobody has resumed it: how its attempt ended does not change that."""
    pause, resume = request_of(Directive.PAUSE), request_of(Directive.RESUME)
    asked = [change.fact for change in work.history(run.run_id) if change.fact in (pause, resume)]
    return asked[-1:] == [pause]


def _own_budget(run: Run, settings: RetrySettings) -> RetrySettings:
    """The owner of a run may choose how many crashes are forgiven; the other budgets are the platform's."""
    if run.spec.max_retries is None:
        return settings
    crash = replace(settings.budgets[FailureKind.CRASH], retries=run.spec.max_retries)
    return replace(settings, budgets={**settings.budgets, FailureKind.CRASH: crash})


def _failures(run: Run, attempts: Sequence[Attempt]) -> list[Failure]:
    # What the next attempt resumed from tells whether this one got further than its own start.
    left_behind = [*(attempt.resumed_from for attempt in attempts[1:]), run.checkpoint]
    return [
        Failure(
            kind=FailureKind(attempt.failure_kind),
            at=attempt.ended_at,
            lasted=attempt.ended_at - (attempt.claimed_at or attempt.ended_at),
            progressed=checkpoint != attempt.resumed_from,
        )
        for attempt, checkpoint in zip(attempts, left_behind, strict=True)
        if attempt.failure_kind and attempt.ended_at is not None
    ]


def _finish(work: RunTransaction, run: Run, fact: RunFact, *, at: datetime, actor: str, code: str, reason: str) -> Run:
    moved, note = move_run(run, fact, at=at, actor=actor, detail=reason, reason_code=code, reason=reason)
    work.add_history([note])
    moved = work.save_run(moved)
    work.send_later(OutboxMessage(OutboxKind.RUN_FINISHED, run.run_id, moved.attempt))
    return moved


def with_report(attempt: Attempt, *, exit_code: int | None, last_seq: int, versions: dict[str, str]) -> Attempt:
    """Return *attempt* with what its agent said about the end."""
    return replace(attempt, exit_code=exit_code, last_seq=last_seq, versions={**attempt.versions, **versions})
