"""Runs as the policy sees them: what waits, what runs, and what each asks for or holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from mosaic.ids import AgentId, NodeId, RunId, TeamName, UserName, WorkerName
from mosaic.lifecycle import AttemptState
from mosaic.model.attempt import Attempt, Directive
from mosaic.model.resources import Lease, Resources
from mosaic.model.run import Priority, Run


class ResumeGrade(str, Enum):
    """How faithfully a worker continues from its checkpoint, as measured by the conformance kit."""

    EXACT = "A"  #: the resumed run is bit-equal to one never interrupted
    EQUIVALENT = "B"  #: statistically equal
    RESTARTS = "C"  #: starts over; what it had learned is lost

    @property
    def is_proven(self) -> bool:
        """Tell whether an attempt may be interrupted without losing what it learned."""
        return self is not ResumeGrade.RESTARTS


@dataclass(frozen=True, slots=True)
class QueuedRun:
    """A run that waits for its next attempt."""

    run_id: RunId
    team: TeamName
    user: UserName
    worker: WorkerName
    resources: Resources
    submitted_at: datetime
    #: The number its next attempt will carry.
    attempt: int = 1
    priority: Priority = Priority.NORMAL
    #: Earliest start: asked for by its owner, or set by the backoff of a retry.
    not_before: datetime | None = None
    #: Longest an attempt may take. Only runs that have one can fill gaps before a reservation.
    max_wall: timedelta | None = None
    #: How well its worker resumes; None when nobody has measured it.
    resume_grade: ResumeGrade | None = None
    #: Rounds in which a run behind it started and it did not.
    passed_over: int = 0
    #: The runs it was preempted for; it never preempts one of them in turn.
    evicted_for: frozenset[RunId] = frozenset()


@dataclass(frozen=True, slots=True)
class RunningAttempt:
    """An attempt that holds a lease, in whatever non-terminal state."""

    run_id: RunId
    attempt: int
    team: TeamName
    user: UserName
    worker: WorkerName
    agent_id: AgentId
    node_id: NodeId
    lease: Lease
    started_at: datetime
    priority: Priority = Priority.NORMAL
    #: When its time limit ends it; None when it has none.
    ends_by: datetime | None = None
    last_checkpoint_at: datetime | None = None
    resume_grade: ResumeGrade | None = None
    #: It was started on capacity that another team lent.
    borrowed: bool = False
    state: AttemptState = AttemptState.RUNNING

    @property
    def is_leaving(self) -> bool:
        """Tell whether it has been asked to stop, so that its lease will soon be free."""
        return self.state is AttemptState.STOPPING


#: What ends an attempt, as soon as its agent has heard of it.
LEAVING = (Directive.CANCEL, Directive.PREEMPT, Directive.EXPIRE)


def as_queued(run: Run, grade: ResumeGrade | None) -> QueuedRun:
    """Return *run* as the policy sees one that waits."""
    spec = run.spec
    return QueuedRun(
        run_id=run.run_id,
        team=spec.team,
        user=spec.user,
        worker=spec.worker,
        resources=spec.resources,
        submitted_at=run.submitted_at,
        attempt=run.attempt + 1,
        priority=spec.priority,
        not_before=run.not_before,
        max_wall=spec.max_wall,
        resume_grade=grade,
        passed_over=run.passed_over,
        evicted_for=run.evicted_for,
    )


def as_running(run: Run, attempt: Attempt, grade: ResumeGrade | None) -> RunningAttempt:
    """Return *attempt* as the policy sees one that holds a lease."""
    return RunningAttempt(
        run_id=run.run_id,
        attempt=attempt.attempt,
        team=run.spec.team,
        user=run.spec.user,
        worker=run.spec.worker,
        agent_id=attempt.agent_id,
        node_id=attempt.node_id,
        lease=attempt.lease,
        started_at=attempt.admitted_at,
        priority=run.spec.priority,
        ends_by=attempt.ends_by,
        last_checkpoint_at=run.checkpoint_at,
        resume_grade=grade,
        borrowed=attempt.borrowed,
        state=AttemptState.STOPPING if attempt.directive in LEAVING else attempt.state,
    )
