"""What is kept about runs and attempts: the entries a store holds and the policy is fed from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from mosaic.ids import AgentId, NodeId, RunId, TeamName, UserName, WorkerName
from mosaic.lifecycle import AttemptState, RunState
from mosaic_scheduler.domain.run import (
    Lease,
    PriorityClass,
    QueuedRun,
    Requirements,
    ResumeGrade,
    RunningAttempt,
)


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What a person asked for: one worker, one config, one seed."""

    worker: WorkerName
    config: Mapping[str, Any]
    team: TeamName
    user: UserName
    seed: int | None = None
    name: str = ""
    priority: PriorityClass = PriorityClass.NORMAL
    requirements: Requirements = Requirements()
    max_wall: timedelta | None = None
    #: Crashes that are tried again; None = the scheduler's default.
    max_retries: int | None = None
    #: No line and no heartbeat for so long means hung; None = the scheduler's default.
    hang_limit: timedelta | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Name in the worker's environment -> name of the secret. The value is never here.
    secrets: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    def digest(self) -> str:
        """Return what identifies the work itself: worker, config and seed, whatever the order of keys."""
        work = {"worker": self.worker, "config": dict(self.config), "seed": self.seed}
        return hashlib.sha256(json.dumps(work, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class Wish(str, Enum):
    """What is wanted of an attempt; the agent asks for it and obeys."""

    CONTINUE = "continue"
    CANCEL = "cancel"
    PREEMPT = "preempt"
    PAUSE = "pause"
    RESUME = "resume"
    EXPIRE = "expire"  #: its time limit is over


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One run as it stands."""

    run_id: RunId
    spec: RunSpec
    state: RunState
    submitted_at: datetime
    updated_at: datetime
    #: The attempt that counts; 0 before the first.
    attempt: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None
    #: Earliest next attempt: asked for at submit, or the backoff of a retry.
    not_before: datetime | None = None
    reason_code: str = ""
    reason: str = ""
    #: Newest usable checkpoint, relative to the run directory.
    checkpoint: str = ""
    checkpoint_at: datetime | None = None
    passed_over: int = 0
    evicted_for: frozenset[RunId] = frozenset()
    #: Raised by every change; readers ask for what is newer than what they have seen.
    revision: int = 0


@dataclass(frozen=True, slots=True)
class AttemptEntry:
    """One execution of a run as it stands."""

    run_id: RunId
    attempt: int
    state: AttemptState
    agent_id: AgentId
    node_id: NodeId
    lease: Lease
    admitted_at: datetime
    #: Without a renewal by then, the attempt is lost.
    lease_until: datetime
    borrowed: bool = False
    #: When its time limit ends it; the claim, which starts the clock, moves it.
    ends_by: datetime | None = None
    claimed_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    wish: Wish = Wish.CONTINUE
    #: SHA-256 of the control token; the token itself is only with the agent.
    control_digest: str = ""
    failure_kind: str = ""
    reason: str = ""
    exit_code: int | None = None
    #: Highest sequence number the agent stamped; -1 when unknown.
    last_seq: int = -1
    resumed_from: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One change of state, kept for ever."""

    run_id: RunId
    attempt: int
    at: datetime
    fact: str
    before: str
    after: str
    actor: str
    detail: str = ""


def as_queued(entry: RunEntry, grade: ResumeGrade | None) -> QueuedRun:
    """Return *entry* as the policy sees a waiting run."""
    spec = entry.spec
    return QueuedRun(
        run_id=entry.run_id,
        team=spec.team,
        user=spec.user,
        worker=spec.worker,
        requirements=spec.requirements,
        submitted_at=entry.submitted_at,
        attempt=entry.attempt + 1,
        priority=spec.priority,
        not_before=entry.not_before,
        max_wall=spec.max_wall,
        resume_grade=grade,
        passed_over=entry.passed_over,
        evicted_for=entry.evicted_for,
    )


def as_running(entry: RunEntry, attempt: AttemptEntry, grade: ResumeGrade | None) -> RunningAttempt:
    """Return *attempt* as the policy sees one that holds a lease."""
    leaving = attempt.wish in (Wish.CANCEL, Wish.PREEMPT, Wish.EXPIRE)
    return RunningAttempt(
        run_id=entry.run_id,
        attempt=attempt.attempt,
        team=entry.spec.team,
        user=entry.spec.user,
        worker=entry.spec.worker,
        agent_id=attempt.agent_id,
        node_id=attempt.node_id,
        lease=attempt.lease,
        started_at=attempt.admitted_at,
        priority=entry.spec.priority,
        ends_by=attempt.ends_by,
        last_checkpoint_at=entry.checkpoint_at,
        resume_grade=grade,
        borrowed=attempt.borrowed,
        state=AttemptState.STOPPING if leaving else attempt.state,
    )
