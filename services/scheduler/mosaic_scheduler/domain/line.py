"""The waiting runs, equal ones grouped, so that a round decides once for many."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from datetime import datetime
from heapq import heappop, heappush
from typing import TypeAlias

from mosaic.ids import RunId, TeamName, UserName
from mosaic.model.run import Priority
from mosaic_scheduler.domain.demand import Demand, DemandBook
from mosaic_scheduler.domain.reasons import Reason, ReasonCode
from mosaic_scheduler.domain.run import QueuedRun

#: When a run was submitted, and which it is: runs of equal standing are served in this order.
Head: TypeAlias = tuple[datetime, RunId]


class Group:
    """Runs of one user that differ in nothing the policy looks at, oldest first."""

    __slots__ = ("demand", "ids", "order", "priority", "resumable", "started", "team", "user")

    def __init__(self, run: QueuedRun, demand: Demand, resumable: bool) -> None:
        self.team = run.team
        self.user = run.user
        self.priority = run.priority
        self.demand = demand
        #: Whether these runs could be asked to leave without losing what they learned.
        self.resumable = resumable
        self.order: list[Head] = []
        self.ids: dict[RunId, None] = {}
        #: How many of them have started in the round that is being decided.
        self.started = 0

    def head(self) -> Head:
        """Return the submission and the id of the oldest run that has not started in this round."""
        return self.order[self.started]


class WaitingLine:
    """Every queued run, by priority class, team, user and group; those not due yet stand aside."""

    def __init__(self) -> None:
        self.runs: dict[RunId, QueuedRun] = {}
        #: Why each run that is not due yet waits.
        self.not_due: dict[RunId, Reason] = {}
        self.classes: dict[Priority, dict[TeamName, dict[UserName, dict[Group, None]]]] = {
            priority: {} for priority in sorted(Priority, reverse=True)
        }
        self._groups: dict[tuple[object, ...], Group] = {}
        self._group_of: dict[RunId, Group] = {}
        self._due: list[Head] = []
        self._book = DemandBook()

    def load(self, runs: Iterable[QueuedRun]) -> None:
        """Fill an empty line at once."""
        for run in runs:
            self.runs[run.run_id] = run
            if run.not_before is not None:
                self._set_aside(run, run.not_before)
            else:
                group = self._group_of[run.run_id] = self._group_for(run)
                group.order.append((run.submitted_at, run.run_id))
                group.ids[run.run_id] = None
        for group in self._groups.values():
            group.order.sort()

    def put(self, run: QueuedRun) -> None:
        """Add *run*, or replace what was known of it."""
        known = self.runs.get(run.run_id)
        if known is not None and _stands_where(known, run):
            self.runs[run.run_id] = run
            return
        self.drop(run.run_id)
        self.runs[run.run_id] = run
        if run.not_before is not None:
            self._set_aside(run, run.not_before)
        else:
            self._join(run)

    def drop(self, run_id: RunId) -> None:
        """Remove a run; one that does not wait is already gone."""
        run = self.runs.pop(run_id, None)
        if run is None:
            return
        self.not_due.pop(run_id, None)
        group = self._group_of.pop(run_id, None)
        if group is not None:
            self._leave(run, group)

    def call_due(self, now: datetime) -> None:
        """Let the runs whose time has come join the others."""
        while self._due and self._due[0][0] <= now:
            not_before, run_id = heappop(self._due)
            run = self.runs.get(run_id)
            # An entry of a run that left, or was given another time, is left over.
            if run is not None and run.not_before == not_before and run_id in self.not_due:
                del self.not_due[run_id]
                self._join(run)

    def _set_aside(self, run: QueuedRun, not_before: datetime) -> None:
        heappush(self._due, (not_before, run.run_id))
        self.not_due[run.run_id] = Reason.of(ReasonCode.NOT_BEFORE, until=not_before)

    def _join(self, run: QueuedRun) -> None:
        group = self._group_of[run.run_id] = self._group_for(run)
        insort(group.order, (run.submitted_at, run.run_id))
        group.ids[run.run_id] = None

    def _leave(self, run: QueuedRun, group: Group) -> None:
        del group.order[bisect_left(group.order, (run.submitted_at, run.run_id))]
        del group.ids[run.run_id]
        if group.order:
            return
        del self._groups[_group_key(group)]
        teams = self.classes[group.priority]
        users = teams[group.team]
        del users[group.user][group]
        if not users[group.user]:
            del users[group.user]
        if not users:
            del teams[group.team]

    def _group_for(self, run: QueuedRun) -> Group:
        demand = self._book.demand_of(run)
        resumable = run.resume_grade is not None and run.resume_grade.is_proven
        key = (run.priority, run.team, run.user, demand, resumable)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(run, demand, resumable)
            users = self.classes[run.priority].setdefault(run.team, {})
            users.setdefault(run.user, {})[group] = None
        return group


def _group_key(group: Group) -> tuple[object, ...]:
    return group.priority, group.team, group.user, group.demand, group.resumable


def _stands_where(known: QueuedRun, run: QueuedRun) -> bool:
    """Tell whether only what no group depends on is different, such as `passed_over`."""
    return (
        known.submitted_at == run.submitted_at
        and known.not_before == run.not_before
        and known.resources == run.resources
        and known.priority == run.priority
        and known.max_wall == run.max_wall
        and known.resume_grade == run.resume_grade
        and (known.worker, known.team, known.user) == (run.worker, run.team, run.user)
    )
