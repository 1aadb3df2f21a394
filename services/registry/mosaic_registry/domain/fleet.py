"""How agents share a node and its GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace

from mosaic.ids import GpuId
from mosaic.model.fleet import Agent, Fleet, Gpu, Node


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredAgent(Agent):
    """An agent with what only services know of it."""

    #: SHA-256 of the session token, so that other services can check a token without holding it.
    session_digest: str


def with_liveness(fleet: Fleet) -> Fleet:
    """Return *fleet* with every node alive that a living agent stands on."""
    inhabited = {agent.node_id for agent in fleet.agents if agent.alive}
    return replace(fleet, nodes=tuple(replace(node, alive=node.node_id in inhabited) for node in fleet.nodes))


def without_sessions(fleet: Fleet) -> Fleet:
    """Return *fleet* without what only services know of its agents."""
    public = [field.name for field in fields(Agent)]
    agents = (Agent(**{name: getattr(agent, name) for name in public}) for agent in fleet.agents)
    return replace(fleet, agents=tuple(agents))


def conflicts_with_siblings(node: Node, known: Node) -> list[str]:
    """Return why an agent on *node* cannot share *known*, which living agents already stand on.

    Placement takes any GPU, CPU and memory of a node for any agent of it, so all of them must announce the same. The
    first counts: whoever comes later cannot make the node smaller, or larger, for the others.
    """
    faults = []
    if (node.cpus, node.memory_mb) != (known.cpus, known.memory_mb):
        faults.append(
            f"node {node.node_id}: its other agents announced {_size(known)}, this one {_size(node)}; "
            "give all agents of a host the same limits, or this one a node of its own (MOSAIC_AGENT_NODE_ID)"
        )
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


def with_health(node: Node, reported: Iterable[Gpu]) -> Node:
    """Return *node* with the health just *reported*; cards it does not know are not added."""
    health = {gpu.gpu_id: gpu.healthy for gpu in reported}
    return replace(node, gpus=tuple(replace(gpu, healthy=health.get(gpu.gpu_id, gpu.healthy)) for gpu in node.gpus))


def _by_id(gpus: Iterable[Gpu]) -> Mapping[GpuId, Gpu]:
    return {gpu.gpu_id: gpu for gpu in gpus}


def _described(gpu: Gpu) -> str:
    return f"{gpu.model} with {gpu.memory_mb} MB"


def _size(node: Node) -> str:
    return f"{node.cpus} CPUs and {node.memory_mb} MB"
