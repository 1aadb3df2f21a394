"""Machines, the agents on them, and the workers they execute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mosaic.ids import AgentId, GpuId, NodeId, WorkerName


@dataclass(frozen=True, slots=True)
class Gpu:
    """One card, known by its UUID so that two images on one host mean the same thing."""

    gpu_id: GpuId
    model: str
    memory_mb: int
    #: An unhealthy card keeps what runs on it and is given to nobody else.
    healthy: bool = True
    #: Position on its host, for people; placement goes by ``gpu_id``.
    index: int = 0

    def is_same_card_as(self, other: Gpu) -> bool:
        """Tell whether two reports describe one card, whatever its health."""
        return (self.gpu_id, self.model, self.memory_mb) == (other.gpu_id, other.model, other.memory_mb)


@dataclass(frozen=True, slots=True)
class Node:
    """A host or pod whose CPUs, memory and GPUs its agents share."""

    node_id: NodeId
    hostname: str
    cpus: int
    memory_mb: int
    gpus: tuple[Gpu, ...] = ()
    #: What runs here may end; nothing new starts.
    draining: bool = False
    #: Some agent of it has been heard within its deadline.
    alive: bool = False


@dataclass(frozen=True, slots=True)
class Agent:
    """Who executes the runs of one worker on a node."""

    agent_id: AgentId
    node_id: NodeId
    worker: WorkerName
    worker_version: str
    #: Attempts at once.
    slots: int
    queue: str
    protocol_version: str
    last_heartbeat: datetime
    #: What the fleet was last told; it changes when a deadline passes or a heartbeat comes back.
    alive: bool = True
    draining: bool = False
    #: Of the worker as it announced it. Where it is not the `digest` of the worker in the fleet, that of others counts.
    worker_digest: str = ""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker as its agents announced it."""

    name: WorkerName
    version: str
    description: str = ""
    upstream_library: str = ""
    upstream_version: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    #: JSON Schema of its config.
    config_schema: Mapping[str, Any] = field(default_factory=dict)
    image: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    #: How faithfully it goes on from its checkpoints, as it declares: A, B, C, or nothing if nobody measured it.
    resume_grade: str = ""
    updated_at: datetime | None = None
    #: Arguments after the interpreter.
    launch: tuple[str, ...] = ()
    #: Identifies version, capabilities, schema and grade; the registry computes it.
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Announcement:
    """What an agent says when it presents itself: its node, its worker, and how it can be reached."""

    agent_id: AgentId
    node: Node
    worker: Worker
    slots: int
    queue: str
    #: Newest first.
    protocol_versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fleet:
    """Machines, agents and workers as of one revision."""

    nodes: tuple[Node, ...] = ()
    agents: tuple[Agent, ...] = ()
    workers: tuple[Worker, ...] = ()
    #: Grows with every change.
    revision: int = 0
