"""One execution of a run: how it stands, what its agent is given, is told, and tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

from mosaic.ids import AgentId, NodeId, RunId
from mosaic.lifecycle import AttemptState
from mosaic.model.resources import Lease
from mosaic.model.run import Change, Run, RunSpec


class Directive(str, Enum):
    """What is wanted of an attempt; the agent asks for it and obeys."""

    CONTINUE = "continue"
    CANCEL = "cancel"  #: end it; a person wants no more of it
    PREEMPT = "preempt"  #: end it; a new attempt follows from the last checkpoint
    PAUSE = "pause"
    RESUME = "resume"
    EXPIRE = "expire"  #: end it; its time limit is over
    ABANDON = "abandon"  #: it no longer counts: kill it and forget it


@dataclass(frozen=True, slots=True)
class Attempt:
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
    #: It was started on capacity that another team lent.
    borrowed: bool = False
    #: When its time limit ends it; the claim, which starts the clock, moves it.
    ends_by: datetime | None = None
    claimed_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    directive: Directive = Directive.CONTINUE
    #: SHA-256 of the control token; the token itself is only with the agent.
    control_digest: str = ""
    failure_kind: str = ""
    reason: str = ""
    #: Negative when a signal ended it; None when it never started.
    exit_code: int | None = None
    #: Highest sequence number the agent stamped; -1 when unknown.
    last_seq: int = -1
    resumed_from: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunDetail:
    """A run with its attempts and its history."""

    run: Run
    attempts: tuple[Attempt, ...] = ()
    history: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """Everything an agent needs to execute one attempt. Secrets travel here and nowhere else."""

    run_id: RunId
    attempt: int
    spec: RunSpec
    lease: Lease
    #: Name in the worker's environment -> value. Never stored, never shown.
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Shown with every report of this attempt.
    control_token: str = field(default="", repr=False)
    #: Signs every frame of this attempt, see `mosaic.events.proof`.
    event_key: str = field(default="", repr=False)
    #: No line and no heartbeat for so long means hung; None = nobody looks.
    hang_limit: timedelta | None = None
    #: From SIGTERM to SIGKILL.
    grace: timedelta = timedelta(seconds=10)
    #: How long a renewal lasts.
    lease_for: timedelta = timedelta(seconds=30)
    #: Checkpoint to continue from, relative to the run directory; empty = from the start.
    resume_from: str = ""


@dataclass(frozen=True, slots=True)
class HeldAttempt:
    """An attempt an agent says it executes."""

    run_id: RunId
    attempt: int
    control_token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AttemptDirective:
    """What is wanted of one attempt that an agent holds."""

    run_id: RunId
    attempt: int
    directive: Directive


@dataclass(frozen=True, slots=True)
class Report:
    """A fact about an attempt, told by the agent that holds its control token."""

    run_id: RunId
    attempt: int
    control_token: str = field(repr=False)
    #: A value of `mosaic.lifecycle.AttemptFact`, or ``checkpoint``.
    fact: str
    failure_kind: str = ""
    reason: str = ""
    exit_code: int | None = None
    last_seq: int = -1
    #: Newest usable checkpoint, relative to the run directory.
    checkpoint: str = ""
    checkpoint_at: datetime | None = None
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunFinished:
    """A run has ended: the scheduler's last word, from which telemetry writes the manifest.

    A retried run finishes again, with more attempts; the newest counts.
    """

    run: Run
    attempts: tuple[Attempt, ...] = ()
