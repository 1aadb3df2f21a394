"""What an autoscaler asks: how many queued runs more machines would start, worker by worker."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from mosaic.ids import WorkerName
from mosaic_scheduler.domain.scaling import last_machines, runs_that_would_fit
from mosaic_scheduler.domain.snapshot import Node, PolicySettings
from mosaic_scheduler.handlers.queries import snapshot_of
from mosaic_scheduler.ports import Clock, Fleet, RunStore

#: Several who ask at about the same time get the same answer.
_FRESH = timedelta(seconds=2)


class FittingRuns:
    """Counts from the store and the fleet, so that every scheduler can answer, not only the one that plans."""

    def __init__(self, *, store: RunStore, fleet: Fleet, clock: Clock, policy: PolicySettings) -> None:
        self._store = store
        self._fleet = fleet
        self._clock = clock
        self._policy = policy
        self._machines: dict[WorkerName, Node] = {}
        self._counted_at: datetime | None = None
        self._counts: dict[WorkerName, int] = {}

    def look_at_machines(self) -> None:
        """Remember what the machines of each worker are like: they may all be gone when somebody asks."""
        view = self._fleet.view()
        self._machines = last_machines(self._machines, view.nodes, view.agents.values())

    def count(self) -> Mapping[WorkerName, int]:
        """Return the count of every worker that the registry knows, 0 included.

        Raises:
            DatabaseUnavailable: the queue cannot be read.
        """
        now = self._clock()
        if self._counted_at is None or now - self._counted_at >= _FRESH:
            self._counts, self._counted_at = self._count_anew(now), now
        return self._counts

    def _count_anew(self, now: datetime) -> dict[WorkerName, int]:
        self.look_at_machines()
        view = self._fleet.view()
        fitting = runs_that_would_fit(snapshot_of(self._store, view, self._policy), self._machines, now=now)
        return {**dict.fromkeys(view.workers, 0), **fitting}
