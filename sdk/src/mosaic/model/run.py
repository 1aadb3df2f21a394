"""What a person asks for, how it stands, and what happened to it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any

from mosaic.ids import AgentId, GpuId, NodeId, RunId, TeamName, UserName, WorkerName
from mosaic.lifecycle import RunState, is_terminal
from mosaic.model.resources import Resources

#: Characters of the name of a run; those of before there was a limit may have more.
MAX_NAME = 128


class Priority(IntEnum):
    """How urgent a run is; a higher one is always considered first."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    URGENT = 3

    @property
    def label(self) -> str:
        """The word people use for it, as in ``--priority high``."""
        return self.name.lower()

    @classmethod
    def named(cls, label: str) -> Priority:
        """Return what people call *label*; raises `KeyError` for an unknown word."""
        return cls[label.upper()]


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What a person asks for: one worker, one config, one seed."""

    #: Empty only for a run that continues another.
    worker: WorkerName = WorkerName("")
    config: Mapping[str, Any] = field(default_factory=dict)
    #: None = the scheduler draws one and writes it down.
    seed: int | None = None
    #: For people, at most 128 characters; wherever a run id is taken, it may stand for the run.
    name: str = ""
    team: TeamName = TeamName("")
    user: UserName = UserName("")
    priority: Priority = Priority.NORMAL
    resources: Resources = Resources()
    max_wall: timedelta | None = None
    #: Crashes that are tried again; None = the scheduler's default.
    max_retries: int | None = None
    #: No line and no heartbeat for so long means hung; None = the scheduler's default.
    hang_limit: timedelta | None = None
    not_before: datetime | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Name in the worker's environment -> name of the secret. The value is never here.
    secrets: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    #: An ended run from whose last checkpoint this one begins. What is left out is taken from it, also its seed;
    #: `config`, `labels`, `secrets` and `environment` are laid over its own.
    continues: str = ""

    @property
    def config_digest(self) -> str:
        """What identifies the settings, whatever the seed and the order of keys: runs that share it are one group."""
        return _digest({"worker": self.worker, "config": dict(self.config)})

    @property
    def run_digest(self) -> str:
        """What identifies the work: the settings, the seed, and what it goes on from."""
        begun = {"continues": self.continues} if self.continues else {}
        return _digest({"worker": self.worker, "config": dict(self.config), "seed": self.seed, **begun})


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it stands."""

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
    #: Why it waits or how it ended, from the closed vocabulary, and its sentence.
    reason_code: str = ""
    reason: str = ""
    #: Newest usable checkpoint, relative to the run directory.
    checkpoint: str = ""
    checkpoint_at: datetime | None = None
    #: Rounds in which a run behind it started and it did not.
    passed_over: int = 0
    #: The runs it was preempted for; it never preempts one of them in turn.
    evicted_for: frozenset[RunId] = frozenset()
    #: Raised by every change; readers ask for what is newer than what they have seen.
    revision: int = 0
    #: Where the attempt that counts executes.
    agent_id: AgentId = AgentId("")
    node_id: NodeId = NodeId("")
    gpu_ids: tuple[GpuId, ...] = ()

    @property
    def has_ended(self) -> bool:
        """Tell whether nothing more will happen to it."""
        return is_terminal(self.state)


@dataclass(frozen=True, slots=True)
class RunAccepted:
    """A run was accepted: whose it is, which telemetry must know before it shows anything of it."""

    run_id: RunId
    team: TeamName
    user: UserName


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs a list is about; empty fields ask for all."""

    states: frozenset[RunState] = frozenset()
    team: str = ""
    user: str = ""
    worker: str = ""
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of state, kept for ever."""

    run_id: RunId
    attempt: int
    at: datetime
    fact: str
    before: str
    after: str
    actor: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a run waits, and when it may start."""

    sentences: tuple[str, ...]
    estimated_start: datetime | None = None
    assumption: str = ""
    queue_position: int = 0


def _digest(work: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(work, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
