"""Nodes, their GPUs, and the agents that share them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from mosaic.ids import AgentId, GpuId, NodeId, WorkerName


@dataclass(frozen=True, slots=True)
class Gpu:
    """One card, named by its UUID."""

    gpu_id: GpuId
    model: str
    memory_mb: int
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
    draining: bool = False


@dataclass(frozen=True, slots=True)
class Agent:
    """One announced agent."""

    agent_id: AgentId
    node_id: NodeId
    worker: WorkerName
    worker_version: str
    slots: int
    queue: str
    session_digest: str
    protocol_version: str
    last_heartbeat: datetime
    #: What the fleet was last told; it changes when a deadline passes or a heartbeat comes back.
    alive: bool = True
    draining: bool = False


def conflicts_with_siblings(node: Node, known: Node) -> list[str]:
    """Return why an agent on *node* cannot share *known*, which living agents already stand on.

    Placement takes any GPU of a node for any agent of it, so all of them must see the same cards.
    """
    faults = []
    ours, theirs = _by_id(node.gpus), _by_id(known.gpus)
    if unseen := sorted(theirs.keys() - ours.keys()):
        faults.append(f"node {node.node_id}: its other agents see GPU {', '.join(unseen)}, this one does not")
    if extra := sorted(ours.keys() - theirs.keys()):
        faults.append(f"node {node.node_id}: this agent sees GPU {', '.join(extra)}, its other agents do not")
    for gpu_id in sorted(ours.keys() & theirs.keys()):
        if not ours[gpu_id].is_same_card_as(theirs[gpu_id]):
            faults.append(f"GPU {gpu_id}: {_described(ours[gpu_id])} here, {_described(theirs[gpu_id])} before")
    return faults


def claimed_elsewhere(node: Node, others: Iterable[Node]) -> list[str]:
    """Return which GPUs of *node* another living node already counts as its own."""
    mine = _by_id(node.gpus).keys()
    return [
        f"GPU {gpu.gpu_id} already belongs to node {other.node_id}; agents of one host share one node_id"
        for other in others
        if other.node_id != node.node_id
        for gpu in other.gpus
        if gpu.gpu_id in mine
    ]


def shared(node: Node, known: Node) -> Node:
    """Return the node as its agents share it: never more CPUs or memory than the least one may use."""
    return replace(
        node,
        cpus=min(node.cpus, known.cpus),
        memory_mb=min(node.memory_mb, known.memory_mb),
        draining=known.draining,
    )


def with_health(node: Node, reported: Iterable[Gpu]) -> Node:
    """Return *node* with the health just *reported*; cards it does not know are not added."""
    health = {gpu.gpu_id: gpu.healthy for gpu in reported}
    return replace(node, gpus=tuple(replace(gpu, healthy=health.get(gpu.gpu_id, gpu.healthy)) for gpu in node.gpus))


def _by_id(gpus: Iterable[Gpu]) -> Mapping[GpuId, Gpu]:
    return {gpu.gpu_id: gpu for gpu in gpus}


def _described(gpu: Gpu) -> str:
    return f"{gpu.model} with {gpu.memory_mb} MB"
