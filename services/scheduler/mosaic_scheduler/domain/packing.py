"""Where to put a run among the nodes that fit: the tightest place, so that whole nodes stay free."""

from __future__ import annotations

from itertools import islice

from mosaic.ids import GpuId, NodeId
from mosaic_scheduler.domain.demand import Demand
from mosaic_scheduler.domain.fit import part_fits, part_memory_mb
from mosaic_scheduler.domain.matching import free_seat
from mosaic_scheduler.domain.space import WHOLE, Holding, NodeSpace


def tightness(space: NodeSpace, demand: Demand) -> tuple[bool, int, int, int, NodeId]:
    """Return the order in which nodes are filled: the one with least to spare comes first.

    A fraction goes to a GPU that is already shared before it breaks a whole one. A run without
    GPUs goes to a node without GPUs before it takes CPUs that GPU runs will need.
    """
    wasteful = not wastes_nothing(space, demand)
    return wasteful, space.whole_free, space.cpu_free, space.memory_free, space.node_id


def choose(space: NodeSpace, demand: Demand) -> Holding:
    """Return what *demand* would hold on a node where it fits; books nothing."""
    seat = free_seat(space, demand)
    if seat is None:
        raise LookupError(f"node {space.node_id} has no free agent of worker {demand.worker}")
    return Holding(seat.agent_id, demand.amount, _chosen_gpus(space, demand))


def wastes_nothing(space: NodeSpace, demand: Demand) -> bool:
    """Tell whether *demand* would leave alone what is worth more to others: whole GPUs, or CPUs beside GPUs."""
    if demand.gpus:
        return True
    if demand.gpu_permille:
        return space.shared_gpus > 0 and _fits_beside_others(space, demand)
    return not space.gpu_ids


def _fits_beside_others(space: NodeSpace, demand: Demand) -> bool:
    return any(free < WHOLE and part_fits(space, index, demand) for index, free in enumerate(space.gpu_free))


def _chosen_gpus(space: NodeSpace, demand: Demand) -> tuple[tuple[GpuId, int, int], ...]:
    if demand.gpu_permille:
        _, _, index = _tightest_part(space, demand)
        return ((space.gpu_ids[index], demand.gpu_permille, part_memory_mb(space, index, demand)),)
    # GPUs are listed from small to large, so the smallest that will do are taken.
    whole = (
        index
        for index, free in enumerate(space.gpu_free)
        if free == WHOLE and space.gpu_memory_mb[index] >= demand.gpu_memory_mb
    )
    picked = islice(whole, demand.gpus)
    return tuple((space.gpu_ids[index], WHOLE, space.gpu_memory_mb[index]) for index in picked)


def _tightest_part(space: NodeSpace, demand: Demand) -> tuple[int, int, int]:
    return min(
        (space.gpu_free[index], space.gpu_memory_free[index], index)
        for index in range(len(space.gpu_free))
        if part_fits(space, index, demand)
    )
