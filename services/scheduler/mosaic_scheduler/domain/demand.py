"""What a run asks of a node, interned: equal demands are one object, so each is tried once a round."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from mosaic.ids import WorkerName
from mosaic.model.resources import Resources
from mosaic_scheduler.domain.amount import Amount, required_amount
from mosaic_scheduler.domain.run import QueuedRun


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """A worker and exact amounts. Compared by identity: see `DemandBook`."""

    worker: WorkerName
    amount: Amount
    cpu_milli: int
    memory_mb: int
    #: Whole GPUs, all on one node; 0 for a fraction or none.
    gpus: int
    #: Thousandths of a single GPU; 0 for whole GPUs or none.
    gpu_permille: int
    gpu_memory_mb: int
    max_wall: timedelta | None


class DemandBook:
    """Gives equal demands the same object."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Demand] = {}

    def demand_of(self, run: QueuedRun) -> Demand:
        """Return the demand of *run*."""
        key = (run.worker, run.resources, run.max_wall)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _demand(*key)
        return known


def _demand(worker: WorkerName, needs: Resources, max_wall: timedelta | None) -> Demand:
    amount = required_amount(needs)
    return Demand(
        worker=worker,
        amount=amount,
        cpu_milli=amount[1],
        memory_mb=needs.memory_mb,
        gpus=needs.gpus,
        gpu_permille=0 if needs.gpus else amount[0],
        gpu_memory_mb=needs.gpu_memory_mb,
        max_wall=max_wall,
    )
