"""The planner: derived indexes over a snapshot, kept up to date change by change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from mosaic.ids import RunId
from mosaic_scheduler.domain.amount import dominant, required_amount
from mosaic_scheduler.domain.changes import (
    AgentGone,
    AgentIs,
    AttemptEnded,
    AttemptHolds,
    NodeGone,
    NodeIs,
    PlanningChange,
    RunLeftQueue,
    RunQueued,
    TeamIs,
    UsageFolded,
)
from mosaic_scheduler.domain.deadline import Deadlines
from mosaic_scheduler.domain.fairness import Turns
from mosaic_scheduler.domain.fleet import Fleet
from mosaic_scheduler.domain.line import WaitingLine
from mosaic_scheduler.domain.plan import Admission, Plan
from mosaic_scheduler.domain.quota import Ledger
from mosaic_scheduler.domain.round import Round
from mosaic_scheduler.domain.run import QueuedRun, RunningAttempt
from mosaic_scheduler.domain.snapshot import PolicySettings, Snapshot, Usage
from mosaic_scheduler.domain.usage import charge_starts, fold


class Planner:
    """Plans rounds over a snapshot that it is told the changes of.

    ``Planner(snapshot)`` then `apply` gives the same plans as a new planner over the changed
    snapshot. Planning changes nothing: what was decided becomes true when it is applied.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._fleet = Fleet()
        self._ledger = Ledger(self._fleet.capacity)
        self._line = WaitingLine()
        self._running = {attempt.run_id: attempt for attempt in snapshot.running}
        self._deadlines = Deadlines(snapshot.running)
        self._usage = snapshot.usage
        self._settings = snapshot.settings
        self._fleet.load(snapshot.nodes, snapshot.agents, self._running.values())
        self._ledger.load(
            snapshot.teams,
            [(a.team, a.user, self._fleet.holding_of(a.run_id).amount) for a in self._running.values()],
        )
        self._line.load(snapshot.queued)

    @property
    def queued(self) -> Mapping[RunId, QueuedRun]:
        """The waiting runs."""
        return self._line.runs

    @property
    def running(self) -> Mapping[RunId, RunningAttempt]:
        """The attempts that hold a lease."""
        return self._running

    @property
    def settings(self) -> PolicySettings:
        """The knobs of the policy."""
        return self._settings

    def plan(self, now: datetime) -> Plan:
        """Decide one round as of *now*, which never runs backwards."""
        self._line.call_due(now)
        self._fleet.forget_old_frees()
        this_round = Round(self._fleet, self._ledger, self._line, self._usage, self._settings, now)
        return this_round.decide(self._deadlines.expired(now))

    def turns(self, now: datetime) -> Turns:
        """Return how teams and users stand in line as of *now*."""
        return Turns(self._ledger, self._usage, self._settings, self._fleet.capacity, now)

    def apply(self, changes: Iterable[PlanningChange]) -> None:
        """Take note of *changes*, in order."""
        for change in changes:
            self._apply(change)

    def folded_usage(self, now: datetime) -> Usage:
        """Return the decayed use as of *now*, given that what is held has been held since the last fold."""
        capacity = self._fleet.capacity
        teams = {name: dominant(account.held, capacity) for name, account in self._ledger.accounts.items()}
        users = {key: dominant(account.held, capacity) for key, account in self._ledger.users.items()}
        return fold(self._usage, teams=teams, users=users, now=now, half_life=self._settings.half_life)

    def charged_usage(self, admissions: Iterable[Admission]) -> Usage:
        """Return the decayed use with the entry penalty of these starts added; their runs still wait here."""
        capacity, settings = self._fleet.capacity, self._settings
        starts = [
            (run.team, run.user, dominant(required_amount(run.resources), capacity))
            for run in (self.queued[admission.run_id] for admission in admissions)
        ]
        return charge_starts(self._usage, starts, entry_penalty=settings.entry_penalty, half_life=settings.half_life)

    def _apply(self, change: PlanningChange) -> None:
        match change:
            case RunQueued(run):
                self._line.put(run)
            case RunLeftQueue(run_id):
                self._line.drop(run_id)
            case AttemptHolds(attempt):
                self._line.drop(attempt.run_id)
                self._end_attempt(attempt.run_id)
                self._begin_attempt(attempt)
            case AttemptEnded(run_id):
                self._end_attempt(run_id)
            case NodeIs(node):
                self._fleet.put_node(node)
            case NodeGone(node_id):
                self._fleet.drop_node(node_id)
            case AgentIs(agent):
                self._fleet.put_agent(agent)
            case AgentGone(agent_id):
                self._fleet.drop_agent(agent_id)
            case TeamIs(team):
                self._ledger.put_team(team)
            case UsageFolded(usage):
                self._usage = usage

    def _begin_attempt(self, attempt: RunningAttempt) -> None:
        holding = self._fleet.put_attempt(attempt)
        self._ledger.charge(attempt.team, attempt.user, holding.amount)
        self._running[attempt.run_id] = attempt
        self._deadlines.put(attempt)

    def _end_attempt(self, run_id: RunId) -> None:
        attempt = self._running.pop(run_id, None)
        if attempt is not None:
            holding = self._fleet.drop_attempt(attempt)
            self._ledger.charge(attempt.team, attempt.user, holding.amount, -1)
            self._deadlines.drop(run_id)
