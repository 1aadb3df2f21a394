"""Room on the nodes within one round: each demand is searched for once, holds are respected."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from mosaic.ids import NodeId
from mosaic_scheduler.domain.demand import Demand
from mosaic_scheduler.domain.fit import fits
from mosaic_scheduler.domain.fleet import Fleet
from mosaic_scheduler.domain.reasons import Reason, ReasonCode
from mosaic_scheduler.domain.reservation import Hold, choose_node, most_free_first
from mosaic_scheduler.domain.shortage import Shortage, why_never
from mosaic_scheduler.domain.space import NodeSpace


class _Search:
    __slots__ = ("ahead", "held_back", "space")

    def __init__(self, candidates: Iterator[NodeSpace]) -> None:
        self.ahead = candidates
        self.space = next(candidates, None)
        self.held_back = 0


class Room:
    """Finds nodes for demands while a round fills them.

    Within a round room only shrinks: a node that was too full for a demand stays so, and a demand
    that fits nowhere is not searched for again.
    """

    def __init__(self, fleet: Fleet, now: datetime) -> None:
        #: What is kept free, by node.
        self.holds: dict[NodeId, Hold] = {}
        self._fleet = fleet
        self._now = now
        self._searches: dict[Demand, _Search] = {}
        self._never: dict[Demand, Reason | None] = {}
        self._full: dict[Demand, Reason] = {}
        self._shortage = Shortage(fleet)
        self._ranked: list[NodeSpace] | None = None

    def find(self, demand: Demand) -> NodeSpace | None:
        """Return the node that *demand* should start on; None when it fits nowhere."""
        search = self._searches.get(demand)
        if search is None:
            search = self._searches[demand] = _Search(self._fleet.candidates(demand))
        while (space := search.space) is not None:
            if fits(space, demand):
                hold = self.holds.get(space.node_id)
                if hold is None or hold.leaves_room_for(space, demand, self._now):
                    return space
                search.held_back += 1
            search.space = next(search.ahead, None)
        return None

    def why_never(self, demand: Demand) -> Reason | None:
        """Say why *demand* can never start on this fleet; None when it can."""
        if demand not in self._never:
            self._never[demand] = why_never(self._fleet, demand)
        return self._never[demand]

    def why_full(self, demand: Demand) -> Reason:
        """Say why *demand*, which `find` found no node for, has to wait."""
        known = self._full.get(demand)
        if known is None:
            held_back = self._searches[demand].held_back
            held = Reason.of(ReasonCode.HELD_BACK, nodes=held_back) if held_back else None
            known = self._full[demand] = held or self._shortage.why_no_room(demand)
        return known

    def hold(self, space: NodeSpace, demand: Demand, free_by: datetime | None) -> None:
        """Keep what *demand* needs of the node, as far as it is free."""
        self.holds[space.node_id] = Hold.on(space, demand, free_by)

    def reserve(self, demand: Demand) -> tuple[NodeSpace, datetime | None] | None:
        """Hold a node back for *demand*; return it and when it will be free, None when no node will do."""
        if self._ranked is None:
            self._ranked = most_free_first(self._fleet)
        chosen = choose_node(self._fleet, self._ranked, demand, self.holds, self._now)
        if chosen is not None:
            space, free_by = chosen
            self.hold(space, demand, free_by)
        return chosen
