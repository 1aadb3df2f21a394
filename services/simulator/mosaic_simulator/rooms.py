"""Free capacity of the nodes, as the baselines see it: a run goes where it leaves the least behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mosaic.ids import AgentId, GpuId, NodeId, WorkerName
from mosaic.model.resources import GpuShare, Lease, Resources
from mosaic_scheduler.domain.snapshot import Agent, Node

#: Shares are sums of fractions; what is this close to a whole GPU is one.
_ROUNDING = 1e-9


class Room:
    """What is free on one node."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.cpus = node.cpus
        self.memory_mb = node.memory_mb
        self.free: dict[GpuId, float] = {gpu.gpu_id: 1.0 for gpu in node.gpus if gpu.healthy}
        self._gpu_memory_mb = {gpu.gpu_id: gpu.memory_mb for gpu in node.gpus}
        #: GPUs nobody holds any part of, and the largest free part of any.
        self.whole_gpus = len(self.free)
        self.largest_part = 1.0 if self.free else 0.0

    @property
    def is_open(self) -> bool:
        """Tell whether anything may start here."""
        return self.node.healthy and not self.node.draining

    def lease_for(self, needs: Resources) -> Lease | None:
        """Return what a run with *needs* would hold here, None when it does not fit."""
        if needs.gpu_fraction > self.largest_part + _ROUNDING:
            return None
        if needs.cpus > self.cpus + _ROUNDING or needs.memory_mb > self.memory_mb:
            return None
        shares = self._part(needs) if needs.gpu_fraction else self._wholes(needs)
        return None if shares is None else Lease(needs.cpus, needs.memory_mb, shares)

    def hold(self, lease: Lease, sign: int) -> None:
        """Take *lease* (*sign* 1) or give it back (-1)."""
        self.cpus -= sign * lease.cpus
        self.memory_mb -= sign * lease.memory_mb
        for held in lease.gpus:
            if held.gpu_id in self.free:
                self.free[held.gpu_id] -= sign * held.share
        self.whole_gpus = sum(share > 1.0 - _ROUNDING for share in self.free.values())
        self.largest_part = max(self.free.values(), default=0.0)

    def _wholes(self, needs: Resources) -> tuple[GpuShare, ...] | None:
        fitting = [
            GpuShare(gpu_id, 1.0, self._gpu_memory_mb[gpu_id])
            for gpu_id, share in self.free.items()
            if share > 1.0 - _ROUNDING and self._gpu_memory_mb[gpu_id] >= needs.gpu_memory_mb
        ]
        return tuple(fitting[: needs.gpus]) if len(fitting) >= needs.gpus else None

    def _part(self, needs: Resources) -> tuple[GpuShare, ...] | None:
        fraction = needs.gpu_fraction
        fitting = [(share, gpu_id) for gpu_id, share in self.free.items() if share >= fraction - _ROUNDING]
        if not fitting:
            return None
        gpu_id = min(fitting)[1]
        memory_mb = needs.gpu_memory_mb or int(self._gpu_memory_mb[gpu_id] * fraction)
        return (GpuShare(gpu_id, fraction, memory_mb),)


class Rooms:
    """The rooms of a fleet, found by how many whole GPUs are free in them."""

    def __init__(self, nodes: Iterable[Node], agents: Iterable[Agent]) -> None:
        self._agents: dict[tuple[NodeId, WorkerName], AgentId] = {}
        self._rooms: dict[NodeId, Room] = {}
        #: Whole free GPUs -> the nodes that have so many, in the order they came to.
        self._by_free: dict[int, dict[NodeId, Room]] = {}
        for agent in agents:
            self._agents[agent.node_id, agent.worker] = agent.agent_id
        for node in nodes:
            self._rooms[node.node_id] = Room(node)
            self._file(self._rooms[node.node_id])

    def set_node(self, node: Node) -> None:
        """Note that *node* is open or closed now; what it holds stays."""
        self._rooms[node.node_id].node = node

    def hold(self, node_id: NodeId, lease: Lease, sign: int) -> None:
        """Take *lease* on the node (*sign* 1) or give it back (-1)."""
        room = self._rooms[node_id]
        self._by_free[room.whole_gpus].pop(node_id)
        room.hold(lease, sign)
        self._file(room)

    def find(self, worker: WorkerName, needs: Resources) -> tuple[AgentId, NodeId, Lease] | None:
        """Return the tightest place for a run of *worker* with *needs*, None when there is none."""
        for room in self._tightest_first(needs.gpus):
            agent = self._agents.get((room.node.node_id, worker))
            if agent is not None and room.is_open and (lease := room.lease_for(needs)):
                return agent, room.node.node_id, lease
        return None

    def _tightest_first(self, gpus: int) -> Iterator[Room]:
        for free in sorted(self._by_free):
            if free >= gpus:
                yield from self._by_free[free].values()

    def _file(self, room: Room) -> None:
        self._by_free.setdefault(room.whole_gpus, {})[room.node.node_id] = room
