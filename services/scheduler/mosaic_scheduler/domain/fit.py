"""Whether a run fits on a node: CPUs, memory, GPUs whole or in part, GPU memory, an agent."""

from __future__ import annotations

from mosaic_scheduler.domain.demand import Demand
from mosaic_scheduler.domain.matching import free_seat, hosts
from mosaic_scheduler.domain.space import WHOLE, NodeSpace


def fits(space: NodeSpace, demand: Demand) -> bool:
    """Tell whether *demand* could start on the node with what is free there."""
    return (
        space.cpu_free >= demand.cpu_milli
        and space.memory_free >= demand.memory_mb
        and has_gpus(space, demand)
        and free_seat(space, demand) is not None
    )


def has_gpus(space: NodeSpace, demand: Demand) -> bool:
    """Tell whether the GPUs that *demand* needs are free, all of them at once."""
    if demand.gpus:
        return usable_whole_gpus(space, demand) >= demand.gpus
    if demand.gpu_permille:
        return any(part_fits(space, index, demand) for index in range(len(space.gpu_free)))
    return True


def usable_whole_gpus(space: NodeSpace, demand: Demand) -> int:
    """Count the wholly free GPUs with the memory that *demand* needs."""
    if demand.gpu_memory_mb <= space.smallest_gpu_mb:
        return space.whole_free
    sizes = zip(space.gpu_free, space.gpu_memory_mb, strict=True)
    return sum(free == WHOLE and size >= demand.gpu_memory_mb for free, size in sizes)


def part_fits(space: NodeSpace, index: int, demand: Demand) -> bool:
    """Tell whether the fraction that *demand* needs is free on one GPU, in share and in memory."""
    return space.gpu_free[index] >= demand.gpu_permille and space.gpu_memory_free[index] >= part_memory_mb(
        space, index, demand
    )


def part_memory_mb(space: NodeSpace, index: int, demand: Demand) -> int:
    """Return the memory a fraction takes on that GPU: what was asked for, or its share of the card."""
    return demand.gpu_memory_mb or space.gpu_memory_mb[index] * demand.gpu_permille // WHOLE


def could_ever_fit(space: NodeSpace, demand: Demand) -> bool:
    """Tell whether the node could hold *demand* if nothing else ran on it."""
    _, cpu_milli, memory_mb = space.capacity()
    wanted_gpus = demand.gpus or (1 if demand.gpu_permille else 0)
    large_enough = sum(size >= demand.gpu_memory_mb for size in space.gpu_memory_mb)
    return (
        space.is_open
        and cpu_milli >= demand.cpu_milli
        and memory_mb >= demand.memory_mb
        and large_enough >= wanted_gpus
        and hosts(space, demand)
    )
