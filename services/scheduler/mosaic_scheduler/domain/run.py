"""Runs as the policy sees them: what waits, what runs, and what each asks for or holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, IntEnum

from mosaic.ids import AgentId, GpuId, NodeId, RunId, TeamName, UserName, WorkerName
from mosaic.lifecycle import AttemptState


class PriorityClass(IntEnum):
    """How urgent a run is; a higher class is always considered first."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    URGENT = 3

    @property
    def label(self) -> str:
        """The word people use for it, as in ``--priority high``."""
        return self.name.lower()

    @classmethod
    def named(cls, label: str) -> PriorityClass:
        """Return the class people call *label*; raises `KeyError` for an unknown word."""
        return cls[label.upper()]


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
class Requirements:
    """What one attempt needs, all of it on one node.

    Either whole GPUs (`gpus`) or a part of one (`gpu_fraction`), never both. Whole GPUs of one
    run are a gang: it starts with all of them or not at all.
    """

    cpus: float = 1.0
    memory_mb: int = 0
    gpus: int = 0
    #: Share of a single GPU, between 0 and 1; 0 means none.
    gpu_fraction: float = 0.0
    #: Memory needed on each GPU. For a fraction, 0 means the same fraction of the card's memory.
    gpu_memory_mb: int = 0

    def faults(self) -> list[str]:
        """Return everything that is wrong with these numbers; nothing when they can be met."""
        checks = (
            (0 < self.cpus < math.inf, f"cpus must be more than 0, not {self.cpus:g}"),
            (self.memory_mb >= 0, f"memory_mb cannot be negative, but is {self.memory_mb}"),
            (self.gpus >= 0, f"gpus cannot be negative, but is {self.gpus}"),
            (0 <= self.gpu_fraction < 1, f"gpu_fraction must lie between 0 and 1, not {self.gpu_fraction:g}"),
            (self.gpu_memory_mb >= 0, f"gpu_memory_mb cannot be negative, but is {self.gpu_memory_mb}"),
            (not (self.gpus and self.gpu_fraction), "ask for whole gpus or for a gpu_fraction, not for both"),
        )
        return [fault for holds, fault in checks if not holds]


@dataclass(frozen=True, slots=True)
class QueuedRun:
    """A run that waits for its next attempt."""

    run_id: RunId
    team: TeamName
    user: UserName
    worker: WorkerName
    requirements: Requirements
    submitted_at: datetime
    #: The number its next attempt will carry.
    attempt: int = 1
    priority: PriorityClass = PriorityClass.NORMAL
    #: Capabilities the agent must have announced.
    capabilities: frozenset[str] = frozenset()
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
class GpuShare:
    """A GPU, or a part of one, held by one attempt."""

    gpu_id: GpuId
    #: 1.0 is the whole card.
    share: float
    #: Memory set aside on the card.
    memory_mb: int


@dataclass(frozen=True, slots=True)
class Lease:
    """What an attempt holds on its node until it is proven to be gone."""

    cpus: float
    memory_mb: int
    gpus: tuple[GpuShare, ...] = ()

    @property
    def gpu_total(self) -> float:
        """GPUs held, fractions added up."""
        return sum(held.share for held in self.gpus)


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
    priority: PriorityClass = PriorityClass.NORMAL
    #: When its time limit ends it; None when it has none.
    ends_by: datetime | None = None
    last_checkpoint_at: datetime | None = None
    resume_grade: ResumeGrade | None = None
    #: It was started on capacity that another team lent.
    borrowed: bool = False
    #: Not preempted before; None means ``settings.min_runtime`` after its start.
    protected_until: datetime | None = None
    state: AttemptState = AttemptState.RUNNING

    @property
    def is_leaving(self) -> bool:
        """Tell whether it has been asked to stop, so that its lease will soon be free."""
        return self.state is AttemptState.STOPPING
