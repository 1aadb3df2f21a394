"""Whom to ask to leave: lent before owned, low priority first, least work lost, resume proven."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from mosaic.ids import NodeId, RunId, TeamName
from mosaic_scheduler.domain.amount import RESOURCES
from mosaic_scheduler.domain.demand import Demand
from mosaic_scheduler.domain.fit import could_ever_fit, fits
from mosaic_scheduler.domain.fleet import Fleet
from mosaic_scheduler.domain.plan import PreemptionCause
from mosaic_scheduler.domain.quota import Ledger, Standing
from mosaic_scheduler.domain.run import PriorityClass, QueuedRun, RunningAttempt
from mosaic_scheduler.domain.space import NodeSpace

#: Nodes compared for one beneficiary, those with the cheapest victim first.
_NODES_COMPARED = 64

Cost = tuple[int, int, int, float, RunId]


@dataclass(frozen=True, slots=True)
class Victim:
    """An attempt that may be asked to leave for a certain kind of run."""

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


class Evictions:
    """Finds victims within one round; what it has promised once it does not promise again."""

    def __init__(self, fleet: Fleet, ledger: Ledger, min_runtime: timedelta, now: datetime) -> None:
        self._fleet = fleet
        self._ledger = ledger
        self._min_runtime = min_runtime
        self._now = now
        self._by_claim: dict[tuple[TeamName, PriorityClass, Standing], dict[NodeId, list[Victim]]] = {}
        self._leaving: list[NodeId] | None = None

    def find(self, run: QueuedRun, demand: Demand, taken: Collection[NodeId]) -> Eviction | None:
        """Return the cheapest way to make room for *run*, on a node not *taken*; None when there is none."""
        if self._leaving is None:
            self._leaving = sorted({attempt.node_id for attempt in self._fleet.leaving.values()})
        for node_id in self._leaving:
            if node_id not in taken:
                eviction = self._on_node(node_id, [], run, demand)
                if eviction is not None:
                    return eviction
        found = [
            eviction
            for node_id, victims in self._promising_nodes(run, demand, taken)
            if (eviction := self._on_node(node_id, victims, run, demand)) is not None and eviction.victims
        ]
        return min(found, key=_total_cost, default=None)

    def _promising_nodes(
        self, run: QueuedRun, demand: Demand, taken: Collection[NodeId]
    ) -> list[tuple[NodeId, list[Victim]]]:
        claim = (run.team, run.priority, self._ledger.standing(run.team, demand.amount))
        if claim not in self._by_claim:
            self._by_claim[claim] = self._victims_by_node(*claim)
        nodes = self._by_claim[claim]
        return [item for item in nodes.items() if item[0] not in taken][:_NODES_COMPARED]

    def _victims_by_node(
        self, team: TeamName, priority: PriorityClass, standing: Standing
    ) -> dict[NodeId, list[Victim]]:
        nodes: dict[NodeId, list[Victim]] = {}
        for victim in sorted(self._victims(team, priority, standing), key=lambda victim: victim.cost):
            nodes.setdefault(victim.attempt.node_id, []).append(victim)
        return nodes

    def _victims(self, team: TeamName, priority: PriorityClass, standing: Standing) -> Iterator[Victim]:
        for owner, attempts in self._fleet.resumable_of.items():
            # Whoever is beyond the quota gets within it only when the team's own attempts leave.
            if standing is Standing.BORROWED and owner != team:
                continue
            overdrawn = owner != team and any(self._ledger.overdraft(owner, r) for r in RESOURCES)
            # A team's quota protects its attempts from the priorities of others.
            ranked = owner == team or not self._ledger.is_guaranteed(owner)
            if overdrawn or ranked:
                for attempt in attempts.values():
                    if overdrawn or attempt.priority < priority:
                        cause = PreemptionCause.RECLAIMED if overdrawn else PreemptionCause.OUTRANKED
                        if self._may_leave(attempt):
                            yield self._victim(attempt, cause)

    def _may_leave(self, attempt: RunningAttempt) -> bool:
        protected_until = attempt.protected_until or attempt.started_at + self._min_runtime
        return protected_until <= self._now and not attempt.is_leaving

    def _victim(self, attempt: RunningAttempt, cause: PreemptionCause) -> Victim:
        lost = (self._now - (attempt.last_checkpoint_at or attempt.started_at)).total_seconds()
        owned = int(cause is not PreemptionCause.RECLAIMED)
        cost = (owned, int(not attempt.borrowed), int(attempt.priority), lost, attempt.run_id)
        return Victim(attempt, cause, lost, cost)

    def _on_node(self, node_id: NodeId, victims: list[Victim], run: QueuedRun, demand: Demand) -> Eviction | None:
        """Let victims go one by one until the run fits, then keep those who need not have gone."""
        space = self._fleet.spaces.get(node_id)
        if space is None or not could_ever_fit(space, demand):
            return None
        leaving = [a for a in self._fleet.attempts_on[node_id].values() if a.is_leaving]
        for attempt in leaving:
            space.give_back(self._fleet.holding_of(attempt.run_id))
        chosen = self._fewest(space, victims, run, demand)
        for attempt in leaving:
            space.take(self._fleet.holding_of(attempt.run_id))
        if chosen is None or not self._is_within_quota(run, demand, [*leaving, *(v.attempt for v in chosen)]):
            return None
        return Eviction(space, tuple(chosen))

    def _fewest(self, space: NodeSpace, victims: list[Victim], run: QueuedRun, demand: Demand) -> list[Victim] | None:
        gone: list[Victim] = []
        for victim in victims:
            if fits(space, demand):
                break
            if victim.attempt.run_id not in run.evicted_for and self._still_due(victim, gone):
                space.give_back(self._fleet.holding_of(victim.attempt.run_id))
                gone.append(victim)
        enough = fits(space, demand)
        needed = self._spare_dearest(space, gone, demand) if enough else gone
        for victim in needed:
            space.take(self._fleet.holding_of(victim.attempt.run_id))
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

    def _is_within_quota(self, run: QueuedRun, demand: Demand, gone: list[RunningAttempt]) -> bool:
        freed = [self._fleet.holding_of(a.run_id).amount for a in gone if a.team == run.team]
        balance = [demand.amount[r] - sum(amount[r] for amount in freed) for r in RESOURCES]
        return self._ledger.standing(run.team, balance) is Standing.OWN


def _total_cost(eviction: Eviction) -> tuple[int, int, float, int, NodeId]:
    victims = eviction.victims
    return (
        sum(victim.cost[0] for victim in victims),
        max(victim.attempt.priority for victim in victims),
        sum(victim.lost_seconds for victim in victims),
        len(victims),
        eviction.space.node_id,
    )
