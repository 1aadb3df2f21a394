"""Why no node has room for a run, with the number that is too small."""

from __future__ import annotations

from collections.abc import Callable

from mosaic_scheduler.domain.amount import CPU, GPU, LABELS, MEMORY, in_people_units
from mosaic_scheduler.domain.demand import Demand
from mosaic_scheduler.domain.fit import has_gpus, usable_whole_gpus
from mosaic_scheduler.domain.fleet import Fleet
from mosaic_scheduler.domain.matching import hosts, why_no_agent
from mosaic_scheduler.domain.reasons import Reason, ReasonCode
from mosaic_scheduler.domain.space import WHOLE, NodeSpace


class Shortage:
    """Says what is short within one round; numbers that many demands share are counted once."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        #: Most CPU and most memory free on any node with that much room on GPUs.
        self._most_beside: dict[int, tuple[int, int]] = {}

    def why_no_room(self, demand: Demand) -> Reason:
        """Say what is short now for a *demand* that fits on no node."""
        gpu = demand.amount[GPU]
        if gpu:
            most = self._most_gpu(demand)
            if most < gpu:
                return _full(GPU, gpu, most)
        most_cpu, most_memory = self._beside_gpus(gpu)
        if most_cpu < demand.cpu_milli:
            return _full(CPU, demand.cpu_milli, most_cpu, gpu)
        if most_memory < demand.memory_mb:
            return _full(MEMORY, demand.memory_mb, most_memory, gpu)
        return self._why_not_together(demand)

    def _most_gpu(self, demand: Demand) -> int:
        most = 0
        for space in self._fleet.with_gpu_room():
            if space.gpu_room <= most:
                break
            if hosts(space, demand):
                room = usable_whole_gpus(space, demand) * WHOLE if demand.gpus else space.gpu_room
                most = max(most, room)
        return most

    def _beside_gpus(self, gpu: int) -> tuple[int, int]:
        known = self._most_beside.get(gpu)
        if known is None:
            most_cpu = most_memory = 0
            for space in self._fleet.with_gpu_room(gpu):
                if space.cpu_free > most_cpu:
                    most_cpu = space.cpu_free
                if space.memory_free > most_memory:
                    most_memory = space.memory_free
            known = self._most_beside[gpu] = (most_cpu, most_memory)
        return known

    def _why_not_together(self, demand: Demand) -> Reason:
        """Each resource is there on some node, but not all of them on one with a free agent."""
        gpu = demand.amount[GPU]
        able = [s for s in self._fleet.with_gpu_room(gpu) if hosts(s, demand) and has_gpus(s, demand)]
        if not able:
            return Reason.of(ReasonCode.GPU_MEMORY_FULL, need=demand.gpu_memory_mb)
        most_cpu = max(space.cpu_free for space in able)
        if most_cpu < demand.cpu_milli:
            return _full(CPU, demand.cpu_milli, most_cpu, gpu)
        most_memory = max(space.memory_free for space in able if space.cpu_free >= demand.cpu_milli)
        if most_memory < demand.memory_mb:
            return _full(MEMORY, demand.memory_mb, most_memory, gpu, "CPUs")
        return Reason.of(ReasonCode.SLOTS_FULL, worker=demand.worker)


def why_never(fleet: Fleet, demand: Demand) -> Reason | None:
    """Say why *demand* cannot start on this fleet however long it waits; None when it can."""
    if fleet.could_hold(demand):
        return None
    agents = fleet.agents_of.get(demand.worker, {})
    reason = why_no_agent(agents.values(), demand)
    if reason is not None:
        return reason
    spaces = [space for space in fleet.spaces.values() if space.is_open and hosts(space, demand)]
    if not spaces:
        return Reason.of(ReasonCode.WORKER_AWAY, worker=demand.worker, agents=len(agents))
    return _too_big(spaces, demand)


def _too_big(spaces: list[NodeSpace], demand: Demand) -> Reason:
    sizes: tuple[tuple[int, Callable[[NodeSpace], int]], ...] = (
        (GPU, lambda space: sum(size >= demand.gpu_memory_mb for size in space.gpu_memory_mb) * WHOLE),
        (CPU, lambda space: space.capacity()[CPU]),
        (MEMORY, lambda space: space.capacity()[MEMORY]),
    )
    most_of = {resource: max(map(size, spaces)) for resource, size in sizes}
    short = next((r for r, most in most_of.items() if most < demand.amount[r]), CPU)
    return Reason.of(
        ReasonCode.TOO_BIG,
        need=in_people_units(short, demand.amount[short]),
        resource=LABELS[short],
        worker=demand.worker,
        most=in_people_units(short, most_of[short]),
    )


def _full(resource: int, need: int, most: int, gpu: int = 0, also: str = "") -> Reason:
    needed = [word for word in ("GPUs" if gpu else "", also) if word]
    return Reason.of(
        ReasonCode.NODES_FULL,
        need=in_people_units(resource, need),
        resource=LABELS[resource],
        beside=f" with the {' and '.join(needed)} it needs" if needed else "",
        most=in_people_units(resource, most),
    )
