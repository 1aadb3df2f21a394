"""Where to put a run among the nodes that fit: the tightest place, so that whole nodes stay free."""

from __future__ import annotations

from itertools import islice

from mosaic.ids import GpuId, NodeId
from mosaic_scheduler.domain.demand import Demand
from mosaic_scheduler.domain.fit import part_fits, part_memory_mb
from mosaic_scheduler.domain.matching import free_seat
from mosaic_scheduler.domain.space import WHOLE, Holding, NodeSpace


def tightness(space: NodeSpace, demand: Demand) -> tuple[int, int, int, int, NodeId]:
    """Return the order in which nodes are filled: the one with least to spare comes first.

    A fraction goes to a GPU that is already shared before it breaks a whole one. A run without
    GPUs goes to a node without GPUs before it takes CPUs that GPU runs will need.
    """
    return _waste(space, demand), space.whole_free, space.cpu_free, space.memory_free, space.node_id


def choose(space: NodeSpace, demand: Demand) -> Holding:
    """Return what *demand* would hold on a node where it fits; books nothing."""
    seat = free_seat(space, demand)
    if seat is None:
        raise LookupError(f"node {space.node_id} has no free agent of worker {demand.worker}")
    return Holding(seat.agent_id, demand.amount, _chosen_gpus(space, demand))


def _waste(space: NodeSpace, demand: Demand) -> int:
    if demand.gpus:
        return 0
    if demand.gpu_permille:
        return 0 if _tightest_part(space, demand)[0] < WHOLE else 1
    return 1 if space.gpu_ids else 0


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
