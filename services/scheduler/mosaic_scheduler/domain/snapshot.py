"""The fleet, its tenants and its runs at one instant: all that a scheduling round may look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from types import MappingProxyType

from mosaic.ids import AgentId, GpuId, NodeId, TeamName, UserName, WorkerName
from mosaic.model.team import Team
from mosaic_scheduler.domain.run import QueuedRun, RunningAttempt

_LONG_AGO = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU of a node."""

    gpu_id: GpuId
    memory_mb: int
    #: An unhealthy GPU keeps what runs on it and is given to nobody else.
    healthy: bool = True


@dataclass(frozen=True, slots=True)
class Node:
    """A host or pod whose capacity its agents share."""

    node_id: NodeId
    cpus: float
    memory_mb: int
    gpus: tuple[Gpu, ...] = ()
    healthy: bool = True
    #: What runs here may end; nothing new starts.
    draining: bool = False


@dataclass(frozen=True, slots=True)
class Agent:
    """One worker image on one node, able to execute attempts of that worker."""

    agent_id: AgentId
    node_id: NodeId
    worker: WorkerName
    #: Attempts it executes at the same time.
    slots: int = 64
    healthy: bool = True
    draining: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """Recent use of the fleet, decayed: the average dominant share held, weighted towards now.

    A team that held half of the fleet for many half-lives stands at 0.5; one that stopped a
    half-life ago stands at half of what it had.
    """

    as_of: datetime = _LONG_AGO
    teams: Mapping[TeamName, float] = field(default_factory=lambda: MappingProxyType({}))
    users: Mapping[tuple[TeamName, UserName], float] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """The knobs of the policy; the defaults suit a shared research fleet."""

    #: Rounds a run may be passed over before capacity is held back for it.
    patience: int = 10
    #: Runs for which capacity may be held back at the same time.
    max_reservations: int = 16
    #: After this time past use counts half.
    half_life: timedelta = timedelta(hours=6)
    #: A start is charged as if the run had already run this long, so that bursts of short runs pay too.
    entry_penalty: timedelta = timedelta(minutes=5)
    #: An attempt is left alone this long before it may be preempted.
    min_runtime: timedelta = timedelta(minutes=1)
    #: Attempts that one round may ask to leave.
    max_preemptions: int = 64
    #: Lend idle quota only to runs that can be asked to leave again.
    lend_only_to_resumable: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything the policy may look at. The order of the tuples means nothing."""

    nodes: tuple[Node, ...] = ()
    agents: tuple[Agent, ...] = ()
    teams: tuple[Team, ...] = ()
    queued: tuple[QueuedRun, ...] = ()
    running: tuple[RunningAttempt, ...] = ()
    usage: Usage = Usage()
    settings: PolicySettings = PolicySettings()
