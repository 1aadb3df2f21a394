"""What is free on one node, taken and given back in exact integers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mosaic.ids import AgentId, GpuId, WorkerName
from mosaic.model.resources import GpuShare, Lease
from mosaic_scheduler.domain.amount import Amount, thousandths
from mosaic_scheduler.domain.run import RunningAttempt
from mosaic_scheduler.domain.snapshot import Agent, Node

WHOLE = 1000


class Holding(NamedTuple):
    """A lease in exact numbers."""

    agent_id: AgentId
    amount: Amount
    #: GPU, thousandths of it, memory on it.
    gpus: tuple[tuple[GpuId, int, int], ...]

    @classmethod
    def of(cls, attempt: RunningAttempt) -> Holding:
        """Return what *attempt* holds."""
        lease = attempt.lease
        gpus = tuple([(held.gpu_id, thousandths(held.share), held.memory_mb) for held in lease.gpus])
        gpu_permille = sum([permille for _, permille, _ in gpus])
        return cls(attempt.agent_id, (gpu_permille, thousandths(lease.cpus), lease.memory_mb), gpus)

    def lease(self) -> Lease:
        """Return the lease these numbers stand for."""
        _, cpu_milli, memory_mb = self.amount
        shares = tuple(GpuShare(gpu, permille / WHOLE, memory) for gpu, permille, memory in self.gpus)
        return Lease(cpu_milli / 1000, memory_mb, shares)


class Seat:
    """An agent on a node, with the attempts it can still take."""

    __slots__ = ("agent_id", "free_slots")

    def __init__(self, agent: Agent) -> None:
        self.agent_id = agent.agent_id
        self.free_slots = agent.slots


class NodeSpace:
    """One node and what is free on it. Only healthy GPUs and usable agents are offered."""

    __slots__ = (
        "_gpu_index",
        "_seats",
        "cpu_free",
        "gpu_free",
        "gpu_ids",
        "gpu_memory_free",
        "gpu_memory_mb",
        "gpu_room",
        "is_open",
        "memory_free",
        "node",
        "node_id",
        "offers",
        "shared_gpus",
        "smallest_gpu_mb",
        "whole_free",
    )

    def __init__(self, node: Node, agents: Iterable[Agent], holdings: Iterable[Holding]) -> None:
        self.node = node
        self.node_id = node.node_id
        #: Whether anything new may start here.
        self.is_open = node.healthy and not node.draining
        self.cpu_free = int(node.cpus * 1000)
        self.memory_free = node.memory_mb
        gpus = sorted((gpu.memory_mb, gpu.gpu_id) for gpu in node.gpus if gpu.healthy)
        self.gpu_ids = [gpu_id for _, gpu_id in gpus]
        self.gpu_memory_mb = [memory for memory, _ in gpus]
        self.gpu_memory_free = self.gpu_memory_mb.copy()
        self.gpu_free = [WHOLE] * len(gpus)
        self.smallest_gpu_mb = gpus[0][0] if gpus else 0
        self.whole_free = len(gpus)
        #: GPUs of which a part is taken and a part is free.
        self.shared_gpus = 0
        #: Thousandths that one run could have: all wholly free GPUs, or else the largest free part of one.
        self.gpu_room = len(gpus) * WHOLE
        self._gpu_index = {gpu_id: index for index, gpu_id in enumerate(self.gpu_ids)}
        self._seats: dict[AgentId, Seat] = {}
        self.offers: dict[WorkerName, list[Seat]] = {}
        for agent in sorted(agents, key=lambda agent: agent.agent_id):
            self._add_seat(agent)
        for holding in holdings:
            self.take(holding)

    def take(self, holding: Holding) -> None:
        """Book *holding*; GPUs and agents that the node no longer offers are passed by."""
        self._book(holding, 1)

    def give_back(self, holding: Holding) -> None:
        """Undo `take`."""
        self._book(holding, -1)

    def capacity(self) -> Amount:
        """Return what the node holds when empty, healthy GPUs only."""
        return len(self.gpu_ids) * WHOLE, int(self.node.cpus * 1000), self.node.memory_mb

    def _add_seat(self, agent: Agent) -> None:
        seat = self._seats[agent.agent_id] = Seat(agent)
        if agent.healthy and not agent.draining:
            self.offers.setdefault(agent.worker, []).append(seat)

    def _book(self, holding: Holding, sign: int) -> None:
        _, cpu_milli, memory_mb = holding.amount
        self.cpu_free -= sign * cpu_milli
        self.memory_free -= sign * memory_mb
        seat = self._seats.get(holding.agent_id)
        if seat is not None:
            seat.free_slots -= sign
        for gpu_id, permille, gpu_memory_mb in holding.gpus:
            index = self._gpu_index.get(gpu_id)
            if index is not None:
                before = self.gpu_free[index]
                after = self.gpu_free[index] = before - sign * permille
                self.gpu_memory_free[index] -= sign * gpu_memory_mb
                self.whole_free += (after == WHOLE) - (before == WHOLE)
                self.shared_gpus += (0 < after < WHOLE) - (0 < before < WHOLE)
        if holding.gpus:
            self.gpu_room = self.whole_free * WHOLE or max(self.gpu_free, default=0)
