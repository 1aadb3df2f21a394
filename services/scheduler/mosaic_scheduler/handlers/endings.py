"""How an attempt ends, and what that means for its run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime

from mosaic.events.sealed import RunSealed, SealedAttempt
from mosaic.lifecycle import AttemptFact, AttemptState, FailureKind, RunFact, is_terminal
from mosaic_scheduler.domain.entries import AttemptEntry, RunEntry, Wish
from mosaic_scheduler.domain.retry import (
    Failure,
    RetrySettings,
    next_attempt,
)
from mosaic_scheduler.domain.transition import move_attempt, move_run
from mosaic_scheduler.ports import OutboxMessage, RunTransaction

#: Whose wish an ending fulfilled, when the agent only knows that it was told to stop.
_ENDED_BY_WISH = {
    Wish.CANCEL: AttemptFact.CANCELLED,
    Wish.PREEMPT: AttemptFact.PREEMPTED,
    Wish.EXPIRE: AttemptFact.FAILED,
}

#: What kind of failure an ending is that was told without one.
_UNSAID = {AttemptFact.FAILED: FailureKind.CRASH, AttemptFact.LOST: FailureKind.LOST_AGENT}


def end_attempt(
    work: RunTransaction,
    run: RunEntry,
    attempt: AttemptEntry,
    fact: AttemptFact,
    *,
    at: datetime,
    actor: str,
    kind: FailureKind | None = None,
    reason: str = "",
    settings: RetrySettings,
) -> RunEntry:
    """Record that *attempt* ended with *fact* and decide what becomes of its run."""
    if fact is not AttemptFact.SUCCEEDED and attempt.wish in _ENDED_BY_WISH:
        fact = _ENDED_BY_WISH[attempt.wish]
        kind = FailureKind.TIME_LIMIT if attempt.wish is Wish.EXPIRE else kind
    if fact is AttemptFact.PREEMPTED:
        kind = FailureKind.PREEMPTED
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


def cancel_waiting(work: RunTransaction, run: RunEntry, *, at: datetime, actor: str, reason: str) -> RunEntry:
    """End a run that nobody executes."""
    return _finish(work, run, RunFact.CANCELLED, at=at, actor=actor, code="cancelled", reason=reason)


def _retry_or_fail(
    work: RunTransaction,
    run: RunEntry,
    kind: FailureKind,
    *,
    at: datetime,
    actor: str,
    reason: str,
    settings: RetrySettings,
) -> RunEntry:
    *history, failure = _failures(run, work.attempts(run.run_id))
    decision = next_attempt(run.run_id, failure, history, _own_budget(run, settings))
    if decision is None:
        return _finish(work, run, RunFact.FAILED, at=at, actor=actor, code=kind.value, reason=reason)
    moved, note = move_run(
        run,
        RunFact.REQUEUED,
        at=at,
        actor=actor,
        detail=reason,
        not_before=decision.not_before,
        reason_code=kind.value,
        reason=reason,
    )
    work.add_history([note])
    return work.save_run(moved)


def _own_budget(run: RunEntry, settings: RetrySettings) -> RetrySettings:
    """The owner of a run may choose how many crashes are forgiven; the other budgets are the platform's."""
    if run.spec.max_retries is None:
        return settings
    crash = replace(settings.budgets[FailureKind.CRASH], retries=run.spec.max_retries)
    return replace(settings, budgets={**settings.budgets, FailureKind.CRASH: crash})


def _failures(run: RunEntry, attempts: Sequence[AttemptEntry]) -> list[Failure]:
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


def _finish(
    work: RunTransaction, run: RunEntry, fact: RunFact, *, at: datetime, actor: str, code: str, reason: str
) -> RunEntry:
    moved, note = move_run(run, fact, at=at, actor=actor, detail=reason, reason_code=code, reason=reason)
    work.add_history([note])
    moved = work.save_run(moved)
    payload = sealed(moved, work.attempts(run.run_id)).model_dump(mode="json")
    work.send_later(OutboxMessage("seal", run.run_id, moved.attempt, payload))
    return moved


def sealed(run: RunEntry, attempts: list[AttemptEntry]) -> RunSealed:
    """Return what telemetry needs to know about an ended run to write its manifest."""
    spec = run.spec
    return RunSealed(
        run_id=run.run_id,
        outcome=run.state.value,
        reason_code=run.reason_code,
        reason=run.reason,
        spec={
            "worker": spec.worker,
            "config": dict(spec.config),
            "seed": spec.seed,
            "name": spec.name,
            "team": spec.team,
            "user": spec.user,
            "priority": spec.priority.label,
            "labels": dict(spec.labels),
            "resources": asdict(spec.requirements),
        },
        config_digest=spec.digest(),
        submitted_at=run.submitted_at,
        started_at=run.started_at,
        ended_at=run.ended_at,
        attempts=tuple(_sealed_attempt(attempt) for attempt in attempts if is_terminal(attempt.state)),
    )


def _sealed_attempt(attempt: AttemptEntry) -> SealedAttempt:
    return SealedAttempt(
        attempt=attempt.attempt,
        state=attempt.state.value,
        agent_id=attempt.agent_id,
        node_id=attempt.node_id,
        gpu_ids=tuple(held.gpu_id for held in attempt.lease.gpus),
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        failure_kind=attempt.failure_kind,
        reason=attempt.reason,
        exit_code=attempt.exit_code,
        last_seq=attempt.last_seq,
        versions=dict(attempt.versions),
        resumed_from=attempt.resumed_from,
    )


def with_report(
    attempt: AttemptEntry, *, exit_code: int | None, last_seq: int, versions: dict[str, str]
) -> AttemptEntry:
    """Return *attempt* with what its agent said about the end."""
    return replace(attempt, exit_code=exit_code, last_seq=last_seq, versions={**attempt.versions, **versions})
