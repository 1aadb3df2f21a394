"""What the agent needs from others, and the values that cross."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Protocol

from mosaic.agent.inventory import Gpu, Machine
from mosaic.ids import RunId


class Directive(Enum):
    """What the scheduler wants of an attempt."""

    CONTINUE = "continue"
    CANCEL = "cancel"  #: end it; a person wants no more of it
    PREEMPT = "preempt"  #: end it; a new attempt follows from the last checkpoint
    PAUSE = "pause"
    RESUME = "resume"
    ABANDON = "abandon"  #: it no longer counts: kill it and forget it


@dataclass(frozen=True)
class GpuShare:
    """A GPU of the lease, whole (1.0) or in part."""

    gpu_id: str
    share: float = 1.0


@dataclass(frozen=True)
class Launch:
    """Everything needed to execute one attempt."""

    run_id: RunId
    attempt: int
    worker: str
    config_json: str = "{}"
    seed: int | None = None
    gpus: tuple[GpuShare, ...] = ()
    cpus: float = 1.0
    memory_mb: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Name in the worker's environment -> value. Never stored, never shown.
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    control_token: str = field(default="", repr=False)
    #: 0 = no limit, here and below.
    max_wall_s: float = 0.0
    hang_limit_s: float = 0.0
    grace_s: float = 10.0
    lease_s: float = 30.0
    #: Relative to the run directory; empty = from the start.
    resume_from: str = ""
    config_digest: str = ""


@dataclass(frozen=True)
class Held:
    """An attempt whose lease this agent keeps alive."""

    run_id: RunId
    attempt: int
    control_token: str = field(repr=False)


@dataclass(frozen=True)
class Wish:
    """What is wanted of one held attempt."""

    run_id: RunId
    attempt: int
    directive: Directive


@dataclass(frozen=True)
class Report:
    """A fact about an attempt: a value of `mosaic.lifecycle.AttemptFact`, or ``checkpoint``."""

    run_id: RunId
    attempt: int
    control_token: str = field(repr=False)
    fact: str
    failure_kind: str = ""
    reason: str = ""
    exit_code: int | None = None
    last_seq: int = -1
    #: Newest usable checkpoint, relative to the run directory.
    checkpoint: str = ""
    checkpoint_at: datetime | None = None
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WorkerProfile:
    """The worker this agent executes, as its probe described it."""

    name: str
    #: Arguments after the interpreter.
    launch: tuple[str, ...]
    #: The interpreter of the worker's own environment.
    python: str
    version: str = ""
    description: str = ""
    upstream_library: str = ""
    upstream_version: str = ""
    metadata_json: str = "{}"
    capabilities_json: str = "{}"
    config_schema_json: str = "{}"
    image: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    #: A, B, C, or empty when the worker declares none.
    resume_grade: str = ""
    #: Whether it holds still when it is asked to, so that it need not be stopped in place.
    can_pause: bool = False


@dataclass(frozen=True)
class Introduction:
    """How an agent presents itself to the registry."""

    agent_id: str
    machine: Machine
    worker: WorkerProfile
    slots: int
    queue: str


@dataclass(frozen=True)
class Welcome:
    """The registry's answer: from now on every call shows the token."""

    session_token: str = field(repr=False)
    heartbeat_interval_s: float = 5.0
    protocol_version: str = ""


class Registry(Protocol):
    """Who knows which agents live."""

    def register(self, introduction: Introduction) -> Welcome:
        """Present this agent.

        Raises:
            Unavailable: no answer; try again.
            Refused: no common protocol version.

        """

    def heartbeat(self, agent_id: str, session_token: str, gpus: Sequence[Gpu]) -> bool:
        """Say that we live; return whether the operator wants no new attempts here.

        Raises:
            SessionRejected: register again.
            Unavailable: no answer; try again.

        """

    def retire(self, agent_id: str) -> None:
        """Ask for no new attempts here.

        Raises:
            Unavailable: no answer; try again.

        """

    def leave(self, agent_id: str, session_token: str) -> None:
        """Say goodbye, so that nobody waits for us."""


class Scheduler(Protocol):
    """Who decides what is executed. Every method may be called twice with the same arguments."""

    def claim(self, run_id: RunId, attempt: int, agent_id: str, session_token: str) -> Launch:
        """Take the attempt; afterwards this agent, and only it, executes it.

        Raises:
            Refused: it is not ours to execute (stale, taken, unknown).
            Unavailable: no answer; try again.

        """

    def renew(self, held: Sequence[Held], agent_id: str, session_token: str) -> Sequence[Wish]:
        """Keep the leases of *held* alive and return what is wanted of them.

        Raises:
            SessionRejected: register again.
            Unavailable: no answer; try again.

        """

    def report(self, report: Report) -> None:
        """Tell a fact; when this returns it is recorded.

        Raises:
            Refused: it changes nothing any more; forget it.
            BadInput: it cannot be read, and never will be; forget it.
            Unavailable: not recorded; try again.

        """
