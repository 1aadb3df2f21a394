"""Why no node has room for a run, with the number that is too small."""

from __future__ import annotations

from collections.abc import Callable

from mosaic_scheduler.domain.amount import CPU, GPU, LABELS, MEMORY, in_people_units
from mosaic_scheduler.domain.demand import Demand
from mosaic_scheduler.domain.fit import usable_whole_gpus
from mosaic_scheduler.domain.fleet import Fleet
from mosaic_scheduler.domain.matching import hosts, why_no_agent
from mosaic_scheduler.domain.reasons import Reason, ReasonCode
from mosaic_scheduler.domain.space import WHOLE, NodeSpace


def why_never(fleet: Fleet, demand: Demand) -> Reason | None:
    """Say why *demand* cannot start on this fleet however long it waits; None when it can."""
    if fleet.could_hold(demand):
        return None
    reason = why_no_agent(fleet.agents_of.get(demand.worker, {}).values(), demand)
    return reason or _too_big(fleet, demand)


def why_no_room(fleet: Fleet, demand: Demand) -> Reason:
    """Say what is short now for a *demand* that fits on no node."""
    if demand.gpus or demand.gpu_permille:
        most = _most_free_gpu(fleet, demand)
        if most < demand.amount[GPU]:
            return _full(GPU, demand.amount[GPU], most)
    roomy = [space for space in fleet.with_whole_gpus(demand.gpus) if hosts(space, demand)]
    most_cpu = max((space.cpu_free for space in roomy), default=0)
    if most_cpu < demand.cpu_milli:
        return _full(CPU, demand.cpu_milli, most_cpu)
    most_memory = max((space.memory_free for space in roomy), default=0)
    if most_memory < demand.memory_mb:
        return _full(MEMORY, demand.memory_mb, most_memory)
    return _combined(roomy, demand)


def _most_free_gpu(fleet: Fleet, demand: Demand) -> int:
    if demand.gpu_permille:
        return max((_largest_part(space, demand) for space in fleet.with_whole_gpus(0)), default=0)
    most = 0
    for space in fleet.fullest_shelf_first():
        if space.whole_free * WHOLE <= most:
            break
        if hosts(space, demand):
            most = max(most, usable_whole_gpus(space, demand) * WHOLE)
    return most


def _largest_part(space: NodeSpace, demand: Demand) -> int:
    return max(space.gpu_free, default=0) if hosts(space, demand) else 0


def _combined(roomy: list[NodeSpace], demand: Demand) -> Reason:
    """Each resource is there on some node, but not all of them on one, or the agents are busy."""
    together = [s for s in roomy if s.cpu_free >= demand.cpu_milli and s.memory_free >= demand.memory_mb]
    if not together:
        # Name the CPUs that nodes with enough memory have: the tighter of the two in practice.
        with_memory = [space for space in roomy if space.memory_free >= demand.memory_mb]
        return _full(CPU, demand.cpu_milli, max(space.cpu_free for space in with_memory))
    return Reason.of(ReasonCode.SLOTS_FULL, worker=demand.worker)


def _full(resource: int, need: int, most: int) -> Reason:
    return _reason(ReasonCode.NODES_FULL, resource, need, most)


def _too_big(fleet: Fleet, demand: Demand) -> Reason:
    spaces = [space for space in fleet.spaces.values() if space.is_open and hosts(space, demand)]
    if not spaces:
        return Reason.of(
            ReasonCode.WORKER_AWAY, worker=demand.worker, agents=len(fleet.agents_of.get(demand.worker, ()))
        )
    sizes: tuple[tuple[int, Callable[[NodeSpace], int]], ...] = (
        (GPU, lambda space: sum(size >= demand.gpu_memory_mb for size in space.gpu_memory_mb) * WHOLE),
        (CPU, lambda space: space.capacity()[CPU]),
        (MEMORY, lambda space: space.capacity()[MEMORY]),
    )
    most_of = {resource: max(map(size, spaces)) for resource, size in sizes}
    short = next((r for r, most in most_of.items() if most < demand.amount[r]), GPU)
    return _reason(ReasonCode.TOO_BIG, short, demand.amount[short], most_of[short], worker=demand.worker)


def _reason(code: ReasonCode, resource: int, need: int, most: int, **more: str) -> Reason:
    need_units, most_units = in_people_units(resource, need), in_people_units(resource, most)
    return Reason.of(code, need=need_units, resource=LABELS[resource], most=most_units, **more)
