"""Whom to ask to leave: lent before owned, low priority first, least work lost, resume proven."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from mosaic.ids import NodeId, RunId, TeamName
from mosaic.model.run import Priority
from mosaic_scheduler.domain.amount import RESOURCES
from mosaic_scheduler.domain.demand import Demand
from mosaic_scheduler.domain.fit import could_ever_fit, fits
from mosaic_scheduler.domain.fleet import Fleet
from mosaic_scheduler.domain.plan import PreemptionCause
from mosaic_scheduler.domain.quota import Ledger, Standing
from mosaic_scheduler.domain.run import QueuedRun, RunningAttempt
from mosaic_scheduler.domain.space import NodeSpace

#: Nodes compared for one beneficiary, those with the cheapest victim first.
_NODES_COMPARED = 16

Cost = tuple[bool, bool, Priority, float, RunId]


class Victim(NamedTuple):
    """An attempt that may be asked to leave."""

    attempt: RunningAttempt
    cause: PreemptionCause
    lost_seconds: float
    #: The cheaper victim sorts first.
    cost: Cost


@dataclass(frozen=True, slots=True)
class Eviction:
    """A node, and who has to leave it so that a run fits; nobody when enough are leaving already."""

    space: NodeSpace
    victims: tuple[Victim, ...]


#: Victims by node, each list and the nodes themselves with the cheapest first.
Pool = dict[NodeId, list[Victim]]


class Evictions:
    """Finds victims within one round.

    Attempts beyond their team's quota are one pool, which every run within its own quota may draw
    on. Those that a higher class may displace are others: attempts of its own team, and of teams
    without a quota. Quota protects a team's attempts from the priorities of everybody else.
    """

    def __init__(self, fleet: Fleet, ledger: Ledger, min_runtime: timedelta, now: datetime) -> None:
        self._fleet = fleet
        self._ledger = ledger
        self._min_runtime = min_runtime
        self._now = now
        self._lent: Pool | None = None
        self._outranked: dict[tuple[TeamName | None, Priority], Pool] = {}
        self._emptying: dict[Demand, list[NodeSpace]] = {}
        #: What no pool could make room for; within a round that stays so.
        self._hopeless: set[tuple[Demand, TeamName | None, Priority | None]] = set()

    def find(self, run: QueuedRun, demand: Demand, taken: Collection[NodeId]) -> Eviction | None:
        """Return the cheapest way to make room for *run*, on a node not *taken*; None when there is none."""
        return (
            self._wait_for_leaving(run, demand, taken)
            or self._take_back(run, demand, taken)
            or self._displace(run, demand, taken)
        )

    def _wait_for_leaving(self, run: QueuedRun, demand: Demand, taken: Collection[NodeId]) -> Eviction | None:
        for space in self._emptying_nodes(demand):
            if space.node_id not in taken and self._is_within_quota(run, demand, space, ()):
                return Eviction(space, ())
        return None

    def _take_back(self, run: QueuedRun, demand: Demand, taken: Collection[NodeId]) -> Eviction | None:
        key = (demand, None, None)
        if key in self._hopeless or self._ledger.standing(run.team, demand.amount) is not Standing.OWN:
            return None
        found = self._cheapest(self._lent_pool(), run, demand, taken)
        if found is None:
            self._hopeless.add(key)
        return found

    def _displace(self, run: QueuedRun, demand: Demand, taken: Collection[NodeId]) -> Eviction | None:
        owner = run.team if self._ledger.is_guaranteed(run.team) else None
        key = (demand, owner, run.priority)
        if run.priority is Priority.LOW or key in self._hopeless:
            return None
        found = self._cheapest(self._outranked_pool(owner, run.priority), run, demand, taken)
        if found is None:
            self._hopeless.add(key)
        return found

    def _cheapest(self, pool: Pool, run: QueuedRun, demand: Demand, taken: Collection[NodeId]) -> Eviction | None:
        best: Eviction | None = None
        open_nodes = (item for item in pool.items() if item[0] not in taken)
        for node_id, victims in islice(open_nodes, _NODES_COMPARED):
            found = self._on_node(node_id, victims, run, demand)
            if found is not None:
                if found.victims == (victims[0],):
                    # The cheapest victim of all, alone: no other node can do better.
                    return found if best is None else min(best, found, key=_total_cost)
                best = found if best is None else min(best, found, key=_total_cost)
        return best

    def _on_node(self, node_id: NodeId, victims: list[Victim], run: QueuedRun, demand: Demand) -> Eviction | None:
        space = self._fleet.spaces.get(node_id)
        if space is None or not self._may_suffice(space, victims, demand):
            return None
        leaving = self._release_leaving(space)
        chosen = self._fewest(space, victims, run, demand)
        self._take_again(space, leaving)
        if not chosen or not self._is_within_quota(run, demand, space, chosen):
            return None
        return Eviction(space, tuple(chosen))

    def _may_suffice(self, space: NodeSpace, victims: list[Victim], demand: Demand) -> bool:
        """Rule out cheaply the nodes where not even all victims together would make room for a gang."""
        if demand.gpus > 1 and not self._fleet.leaving:
            leases = [self._fleet.holding_of(victim.attempt.run_id).gpus for victim in victims]
            touched = {gpu_id for gpus in leases for gpu_id, _, _ in gpus}
            if space.whole_free + len(touched) < demand.gpus:
                return False
        return could_ever_fit(space, demand)

    def _fewest(self, space: NodeSpace, victims: list[Victim], run: QueuedRun, demand: Demand) -> list[Victim] | None:
        """Let victims go one by one until the run fits, then keep those who need not have gone."""
        gone: list[Victim] = []
        enough = False
        for victim in victims:
            if victim.attempt.run_id not in run.evicted_for and self._still_due(victim, gone):
                space.give_back(self._fleet.holding_of(victim.attempt.run_id))
                gone.append(victim)
                enough = fits(space, demand)
                if enough:
                    break
        needed = self._spare_dearest(space, gone, demand) if enough and len(gone) > 1 else gone
        self._take_again(space, [victim.attempt for victim in needed])
        return needed if enough else None

    def _spare_dearest(self, space: NodeSpace, gone: list[Victim], demand: Demand) -> list[Victim]:
        needed = list(gone)
        for victim in reversed(gone):
            holding = self._fleet.holding_of(victim.attempt.run_id)
            space.take(holding)
            if fits(space, demand):
                needed.remove(victim)
            else:
                space.give_back(holding)
        return needed

    def _still_due(self, victim: Victim, gone: list[Victim]) -> bool:
        """A team gives back what it borrowed, and no more than that."""
        if victim.cause is not PreemptionCause.RECLAIMED:
            return True
        team = victim.attempt.team
        given = [self._fleet.holding_of(v.attempt.run_id).amount for v in gone if v.attempt.team == team]
        holds = self._fleet.holding_of(victim.attempt.run_id).amount
        return any(
            holds[r] and self._ledger.overdraft(team, r, -sum(amount[r] for amount in given)) > 0 for r in RESOURCES
        )

    def _is_within_quota(self, run: QueuedRun, demand: Demand, space: NodeSpace, victims: Iterable[Victim]) -> bool:
        """Tell whether *run* is within its team's quota once all of them have left."""
        gone = [*self._leaving_on(space), *(victim.attempt for victim in victims)]
        freed = [self._fleet.holding_of(left.run_id).amount for left in gone if left.team == run.team]
        balance = [demand.amount[r] - sum(amount[r] for amount in freed) for r in RESOURCES]
        return self._ledger.standing(run.team, balance) is Standing.OWN

    def _emptying_nodes(self, demand: Demand) -> list[NodeSpace]:
        """Return the nodes on which *demand* fits once those who are leaving have left."""
        known = self._emptying.get(demand)
        if known is None:
            nodes = sorted({attempt.node_id for attempt in self._fleet.leaving.values()})
            spaces = (self._fleet.spaces.get(node_id) for node_id in nodes)
            known = [space for space in spaces if space is not None and self._fits_soon(space, demand)]
            self._emptying[demand] = known
        return known

    def _fits_soon(self, space: NodeSpace, demand: Demand) -> bool:
        if not space.is_open:
            return False
        leaving = self._release_leaving(space)
        fitting = fits(space, demand)
        self._take_again(space, leaving)
        return fitting

    def _release_leaving(self, space: NodeSpace) -> list[RunningAttempt]:
        leaving = self._leaving_on(space)
        for attempt in leaving:
            space.give_back(self._fleet.holding_of(attempt.run_id))
        return leaving

    def _take_again(self, space: NodeSpace, attempts: Iterable[RunningAttempt]) -> None:
        for attempt in attempts:
            space.take(self._fleet.holding_of(attempt.run_id))

    def _leaving_on(self, space: NodeSpace) -> list[RunningAttempt]:
        if not self._fleet.leaving:
            return []
        return [a for a in self._fleet.attempts_on.get(space.node_id, {}).values() if a.is_leaving]

    def _lent_pool(self) -> Pool:
        if self._lent is None:
            overdrawn = (
                attempt
                for (team, _), attempts in self._fleet.resumable_of.items()
                if any(self._ledger.overdraft(team, r) for r in RESOURCES)
                for attempt in attempts.values()
            )
            self._lent = self._pool(overdrawn, PreemptionCause.RECLAIMED)
        return self._lent

    def _outranked_pool(self, owner: TeamName | None, priority: Priority) -> Pool:
        key = (owner, priority)
        if key not in self._outranked:
            self._outranked[key] = self._pool(self._displaceable(owner, priority), PreemptionCause.OUTRANKED)
        return self._outranked[key]

    def _displaceable(self, owner: TeamName | None, priority: Priority) -> Iterator[RunningAttempt]:
        for (team, rank), attempts in self._fleet.resumable_of.items():
            if rank < priority and (team == owner or not self._ledger.is_guaranteed(team)):
                yield from attempts.values()

    def _pool(self, attempts: Iterable[RunningAttempt], cause: PreemptionCause) -> Pool:
        victims = [self._victim(attempt, cause) for attempt in attempts if self._may_leave(attempt)]
        victims.sort(key=lambda victim: victim.cost)
        pool: Pool = {}
        for victim in victims:
            pool.setdefault(victim.attempt.node_id, []).append(victim)
        return pool

    def _may_leave(self, attempt: RunningAttempt) -> bool:
        return attempt.started_at + self._min_runtime <= self._now

    def _victim(self, attempt: RunningAttempt, cause: PreemptionCause) -> Victim:
        lost = (self._now - (attempt.last_checkpoint_at or attempt.started_at)).total_seconds()
        owned = cause is not PreemptionCause.RECLAIMED
        return Victim(attempt, cause, lost, (owned, not attempt.borrowed, attempt.priority, lost, attempt.run_id))


def _total_cost(eviction: Eviction) -> tuple[int, int, int, float, int, NodeId]:
    victims = eviction.victims
    return (
        sum(victim.cost[0] for victim in victims),
        sum(victim.cost[1] for victim in victims),
        max(victim.attempt.priority for victim in victims),
        sum(victim.lost_seconds for victim in victims),
        len(victims),
        eviction.space.node_id,
    )
