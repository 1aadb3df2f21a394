"""What agents ask and tell: claims, leases and facts. An attempt that no longer counts changes nothing."""

from __future__ import annotations

import hashlib
import hmac
import secrets as entropy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from mosaic.errors import SessionRejected, StaleAttempt
from mosaic.events.proof import EventKey
from mosaic.ids import AgentId, RunId
from mosaic.lifecycle import AttemptFact, AttemptState, FailureKind, RunFact, RunState, is_terminal
from mosaic.model.attempt import Attempt, AttemptDirective, Directive, HeldAttempt, Launch, Report
from mosaic.model.run import Run
from mosaic_scheduler.domain.retry import RetrySettings
from mosaic_scheduler.domain.transition import move_attempt, move_run
from mosaic_scheduler.handlers.endings import end_attempt, with_report
from mosaic_scheduler.handlers.round_settings import RoundSettings
from mosaic_scheduler.ports import Clock, Fleet, RunStore, RunTransaction, Secrets

#: A fact that is no transition: a checkpoint worth continuing from exists.
CHECKPOINT = "checkpoint"

_PROGRESS = (AttemptFact.STARTED, AttemptFact.PAUSED, AttemptFact.RESUMED)
_ENDINGS = (
    AttemptFact.SUCCEEDED,
    AttemptFact.FAILED,
    AttemptFact.CANCELLED,
    AttemptFact.PREEMPTED,
    AttemptFact.LOST,
)

#: What an agent may tell of its attempt.
REPORTABLE = (CHECKPOINT, *(fact.value for fact in (*_PROGRESS, *_ENDINGS)))


def check_session(agent_id: AgentId, token: str, *, fleet: Fleet) -> None:
    """Raise `SessionRejected` unless *token* belongs to the newest session of the agent."""
    shown = _digest(token)
    if hmac.compare_digest(fleet.view().sessions.get(agent_id, ""), shown):
        return
    # The agent may have registered a moment ago: what we were told last can be older than that.
    if not hmac.compare_digest(fleet.refresh().sessions.get(agent_id, ""), shown):
        raise SessionRejected(agent_id)


def claim(
    run_id: RunId,
    number: int,
    agent_id: AgentId,
    *,
    store: RunStore,
    secrets: Secrets,
    event_key: EventKey,
    clock: Clock,
    settings: RoundSettings,
) -> Launch:
    """Give the attempt to the agent; exactly one claim of an attempt succeeds.

    An attempt whose secrets have vanished since the submit ends here: it cannot do its work without them.

    Raises:
        StaleAttempt: it has been claimed, has ended, was meant for another agent, or lacks a secret.
    """
    now = clock()
    with store.write() as work:
        run, attempt = _current(work, run_id, number)
        if attempt.agent_id != agent_id:
            raise StaleAttempt(run_id, number, f"it was meant for agent {attempt.agent_id}")
        if attempt.state is not AttemptState.ADMITTED:
            raise StaleAttempt(run_id, number, f"it is already {attempt.state.value}")
        token = entropy.token_urlsafe(24)
        attempt = move_attempt(
            attempt,
            AttemptFact.CLAIMED,
            at=now,
            claimed_at=now,
            control_digest=_digest(token),
            lease_until=now + settings.lease,
            ends_by=attempt.ends_by and attempt.ends_by + (now - attempt.admitted_at),
            resumed_from=run.checkpoint,
        )
        whose = partial(secrets.value, user=run.spec.user, team=run.spec.team)
        values = {variable: whose(name) for variable, name in run.spec.secrets.items()}
        missing = _missing(run, values)
        if missing:
            _fail_unstarted(work, run, attempt, at=now, reason=missing, retry=settings.retry)
        else:
            work.save_attempt(attempt)
            work.save_run(replace(run, updated_at=now))
    if missing:
        raise StaleAttempt(run_id, number, missing)
    return Launch(
        run_id=run_id,
        attempt=number,
        spec=run.spec,
        lease=attempt.lease,
        secrets={variable: value for variable, value in values.items() if value is not None},
        control_token=token,
        event_key=event_key.of_attempt(run_id, number),
        hang_limit=(run.spec.hang_limit or settings.hang_limit) or None,
        grace=settings.grace,
        lease_for=settings.lease,
        resume_from=attempt.resumed_from,
    )


def _missing(run: Run, values: Mapping[str, str | None]) -> str:
    names = [f"{run.spec.secrets[variable]!r} (for {variable})" for variable, value in values.items() if value is None]
    return f"the scheduler no longer has secret {', '.join(sorted(names))}" if names else ""


def _fail_unstarted(
    work: RunTransaction, run: Run, attempt: Attempt, *, at: datetime, reason: str, retry: RetrySettings
) -> None:
    """End an attempt that cannot be handed over; a secret that returns soon is found by the next one."""
    kind = FailureKind.INFRASTRUCTURE
    end_attempt(
        work, run, attempt, AttemptFact.FAILED, at=at, actor="scheduler", kind=kind, reason=reason, settings=retry
    )


def renew(
    agent_id: AgentId, held: Sequence[HeldAttempt], *, store: RunStore, clock: Clock, lease: timedelta
) -> list[AttemptDirective]:
    """Extend the leases of *held* and return what is wanted of each.

    Attempts that wait for this agent's claim are returned too, so that a lost dispatch is healed.
    """
    with store.read() as work:
        known = {(attempt.run_id, attempt.attempt): attempt for attempt in work.held_by(agent_id)}
    kept: list[tuple[RunId, int]] = []
    answers: list[AttemptDirective] = []
    for claimed in held:
        key = (claimed.run_id, claimed.attempt)
        attempt = known.pop(key, None)
        if attempt is None or not _controls(attempt, claimed.control_token):
            answers.append(AttemptDirective(*key, Directive.ABANDON))
            continue
        kept.append(key)
        answers.append(AttemptDirective(*key, attempt.directive))
    store.extend_leases(kept, clock() + lease)
    waiting = [key for key, attempt in known.items() if attempt.state is AttemptState.ADMITTED]
    return answers + [AttemptDirective(*key, Directive.CONTINUE) for key in waiting]


def report(fact: Report, sender: AgentId, *, store: RunStore, clock: Clock, retry: RetrySettings) -> None:
    """Take in a fact from the agent *sender*; hearing it again changes nothing.

    Raises:
        StaleAttempt: the attempt has ended otherwise, or the sender or the token is not its own.
    """
    now = clock()
    with store.write() as work:
        run, attempt = _current(work, fact.run_id, fact.attempt)
        if attempt.agent_id != sender:
            raise StaleAttempt(fact.run_id, fact.attempt, f"it is not the attempt of agent {sender!r}")
        if not _controls(attempt, fact.control_token):
            raise StaleAttempt(fact.run_id, fact.attempt, "the control token is not that of its claim")
        if is_terminal(attempt.state):
            if _same_ending(attempt, fact):
                return
            raise StaleAttempt(fact.run_id, fact.attempt, f"it has already ended as {attempt.state.value}")
        run = _with_checkpoint(run, fact, now)
        if fact.fact == CHECKPOINT:
            work.save_run(run)
            return
        _apply(work, run, attempt, fact, now=now, retry=retry)


def _apply(
    work: RunTransaction, run: Run, attempt: Attempt, fact: Report, *, now: datetime, retry: RetrySettings
) -> None:
    name, actor = AttemptFact(fact.fact), f"agent:{attempt.agent_id}"
    attempt = with_report(attempt, exit_code=fact.exit_code, last_seq=fact.last_seq, versions=dict(fact.versions))
    if name in _PROGRESS:
        _progress(work, run, attempt, name, now=now, actor=actor)
        return
    kind = FailureKind(fact.failure_kind) if fact.failure_kind else None
    end_attempt(work, run, attempt, name, at=now, actor=actor, kind=kind, reason=fact.reason, settings=retry)


def _progress(
    work: RunTransaction, run: Run, attempt: Attempt, fact: AttemptFact, *, now: datetime, actor: str
) -> None:
    if run.state is RunState.STOPPING:
        return  # asked to stop meanwhile: that it also started or paused changes nothing
    # What came true is no longer wanted.
    directive = Directive.CONTINUE if attempt.directive in (Directive.PAUSE, Directive.RESUME) else attempt.directive
    started = {"started_at": now} if fact is AttemptFact.STARTED else {}
    work.save_attempt(move_attempt(attempt, fact, at=now, directive=directive, **started))
    began = run.started_at or (now if fact is AttemptFact.STARTED else None)
    moved, note = move_run(run, RunFact(fact.value), at=now, actor=actor, started_at=began)
    work.add_history([note])
    work.save_run(moved)


def _current(work: RunTransaction, run_id: RunId, number: int) -> tuple[Run, Attempt]:
    run, attempt = work.run(run_id), work.attempt(run_id, number)
    if run is None or attempt is None:
        raise StaleAttempt(run_id, number, "nothing is known of it")
    if run.attempt != number:
        raise StaleAttempt(run_id, number, f"attempt {run.attempt} has taken its place")
    return run, attempt


def _with_checkpoint(run: Run, fact: Report, now: datetime) -> Run:
    if not fact.checkpoint:
        return run
    return replace(run, checkpoint=fact.checkpoint, checkpoint_at=fact.checkpoint_at or now, updated_at=now)


def _same_ending(attempt: Attempt, fact: Report) -> bool:
    # What the agent calls cancelled may stand here as preempted: the directive decided the word.
    stopped = {AttemptState.CANCELLED.value, AttemptState.PREEMPTED.value, AttemptState.FAILED.value}
    return fact.fact == attempt.state.value or {fact.fact, attempt.state.value} <= stopped


def _controls(attempt: Attempt, token: str) -> bool:
    return bool(attempt.control_digest) and hmac.compare_digest(attempt.control_digest, _digest(token))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
