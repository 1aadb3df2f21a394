"""Which agent of a node may execute a run: the worker, and a free slot."""

from __future__ import annotations

from collections.abc import Iterable

from mosaic_scheduler.domain.demand import Demand
from mosaic_scheduler.domain.reasons import Reason, ReasonCode
from mosaic_scheduler.domain.snapshot import Agent
from mosaic_scheduler.domain.space import NodeSpace, Seat


def free_seat(space: NodeSpace, demand: Demand) -> Seat | None:
    """Return the first agent on the node that could take one more attempt of *demand*."""
    for seat in space.offers.get(demand.worker, ()):
        if seat.free_slots > 0:
            return seat
    return None


def hosts(space: NodeSpace, demand: Demand) -> bool:
    """Tell whether some agent of the node matches *demand*, busy or not."""
    return bool(space.offers.get(demand.worker))


def why_no_agent(agents: Iterable[Agent], demand: Demand) -> Reason | None:
    """Say why none of the *agents* of its worker matches *demand*; None when one does."""
    known = 0
    for agent in agents:
        known += 1
        if agent.healthy and not agent.draining:
            return None
    if not known:
        return Reason.of(ReasonCode.WORKER_ABSENT, worker=demand.worker)
    return Reason.of(ReasonCode.WORKER_AWAY, worker=demand.worker, agents=known)
