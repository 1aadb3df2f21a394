"""Holding a node back for a run that was passed over too often, and filling the gap before it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import islice

from mosaic.ids import NodeId
from mosaic_scheduler.domain.demand import Demand
from mosaic_scheduler.domain.fit import could_ever_fit, fits
from mosaic_scheduler.domain.fleet import Fleet
from mosaic_scheduler.domain.run import RunningAttempt
from mosaic_scheduler.domain.space import WHOLE, NodeSpace

#: Nodes compared for one reservation: enough to find a good one, few enough to be cheap.
_NODES_COMPARED = 8

_NEVER = datetime.max.replace(tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class Hold:
    """What is kept free on a node for a run that will start there."""

    cpu_milli: int
    memory_mb: int
    whole_gpus: int
    #: Parts of shared GPUs are kept too, because the run itself needs only a part.
    parts: bool
    #: The run can start then at the latest; None when that is not known.
    free_by: datetime | None

    @classmethod
    def on(cls, space: NodeSpace, demand: Demand, free_by: datetime | None) -> Hold:
        """Keep what is free now, as far as *demand* needs it."""
        plain = demand.gpus and demand.gpu_memory_mb <= space.smallest_gpu_mb
        whole = min(space.whole_free, demand.gpus) if plain else space.whole_free
        return cls(
            cpu_milli=min(space.cpu_free, demand.cpu_milli),
            memory_mb=min(space.memory_free, demand.memory_mb),
            whole_gpus=whole if demand.gpus or demand.gpu_permille else 0,
            parts=bool(demand.gpu_permille),
            free_by=free_by,
        )

    def leaves_room_for(self, space: NodeSpace, demand: Demand, now: datetime) -> bool:
        """Tell whether *demand* may start here all the same: it ends in time, or fits beside."""
        if self.free_by is not None and demand.max_wall is not None and now + demand.max_wall <= self.free_by:
            return True
        return (
            space.cpu_free - demand.cpu_milli >= self.cpu_milli
            and space.memory_free - demand.memory_mb >= self.memory_mb
            and self._leaves_gpus(space, demand)
        )

    def _leaves_gpus(self, space: NodeSpace, demand: Demand) -> bool:
        if demand.gpu_permille:
            shared = any(demand.gpu_permille <= free < WHOLE for free in space.gpu_free)
            breaks = 0 if shared else 1
            return not self.parts and space.whole_free - breaks >= self.whole_gpus
        return space.whole_free - demand.gpus >= self.whole_gpus


def most_free_first(fleet: Fleet) -> list[NodeSpace]:
    """Return the open nodes, those that need least to become free first."""
    return sorted(fleet.with_gpu_room(), key=lambda space: (-space.whole_free, -space.cpu_free, space.node_id))


def choose_node(
    fleet: Fleet, ranked: Sequence[NodeSpace], demand: Demand, taken: Collection[NodeId], now: datetime
) -> tuple[NodeSpace, datetime | None] | None:
    """Return the node to hold back for *demand* and when it will be free; None when none could hold it.

    The node that is free soonest by the time limits of what runs there wins. If no limit promises
    anything, the most promising node does: nothing new starts there, so it empties.
    """
    able = (space for space in ranked if space.node_id not in taken and could_ever_fit(space, demand))
    compared = list(islice(able, _NODES_COMPARED))
    if not compared:
        return None
    dated = [(free_by(fleet, space, demand, now) or _NEVER, index) for index, space in enumerate(compared)]
    soonest, index = min(dated)
    return compared[index], None if soonest is _NEVER else soonest


def free_by(fleet: Fleet, space: NodeSpace, demand: Demand, now: datetime) -> datetime | None:
    """Return when *demand* fits on the node at the latest, by the time limits of what runs there."""
    ending = _by_end(fleet.attempts_on.get(space.node_id, {}).values(), now)
    released = []
    found = now if fits(space, demand) else None
    for ends, attempt in ending:
        if found is not None:
            break
        holding = fleet.holding_of(attempt.run_id)
        space.give_back(holding)
        released.append(holding)
        if fits(space, demand):
            found = ends
    for holding in released:
        space.take(holding)
    return found


def _by_end(attempts: Iterable[RunningAttempt], now: datetime) -> list[tuple[datetime, RunningAttempt]]:
    dated = [
        (now if attempt.is_leaving else max(attempt.ends_by, now) if attempt.ends_by else _NEVER, attempt)
        for attempt in attempts
    ]
    limited = [pair for pair in dated if pair[0] is not _NEVER]
    return sorted(limited, key=lambda pair: (pair[0], pair[1].run_id))
