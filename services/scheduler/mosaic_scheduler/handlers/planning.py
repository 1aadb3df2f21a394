"""What becomes different in the store and in the fleet between two rounds, told to the planner."""

from __future__ import annotations

from collections.abc import Iterable

from mosaic.ids import NodeId, TeamName, WorkerName
from mosaic.lifecycle import RunState, is_terminal
from mosaic.model.attempt import Attempt
from mosaic.model.run import Run
from mosaic.model.team import Team
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
)
from mosaic_scheduler.domain.run import ResumeGrade, as_queued, as_running
from mosaic_scheduler.handlers.submit import DEFAULT_TEAM
from mosaic_scheduler.ports import Fleet, FleetView, RunStore


class ChangeReader:
    """Remembers what it has read of the store and the fleet, and returns what is new."""

    def __init__(self, store: RunStore, fleet: Fleet) -> None:
        self._store = store
        self._fleet = fleet
        self._revision = -1
        self._view = FleetView()
        self._teams: dict[TeamName, Team] = {}
        self._grades: dict[WorkerName, ResumeGrade | None] = {}

    def read(self) -> list[PlanningChange]:
        """Return what is different since the last call; at first, everything."""
        changes = self._fleet_changes()
        grades = {name: worker.resume_grade for name, worker in self._view.workers.items()}
        with self._store.read() as work:
            known = work.teams()
            revision = work.revision()
            rows = work.changed_since(self._revision) if self._revision >= 0 else []
            # What a run may be asked for hangs on the grade of its worker, which a later announcement may bring.
            if self._revision < 0 or grades != self._grades:
                rows += work.active()
        self._grades = grades
        self._revision = max(self._revision, revision)
        changes += self._team_changes(known)
        for run, attempt in rows:
            changes += self._run_changes(run, attempt)
        return changes

    def _run_changes(self, run: Run, attempt: Attempt | None) -> Iterable[PlanningChange]:
        grade = self._grades.get(run.spec.worker)
        if run.state is RunState.QUEUED:
            return (AttemptEnded(run.run_id), RunQueued(as_queued(run, grade)))
        if is_terminal(run.state) or attempt is None or is_terminal(attempt.state):
            return (AttemptEnded(run.run_id), RunLeftQueue(run.run_id))
        return (AttemptHolds(as_running(run, attempt, grade)),)

    def _team_changes(self, known: list[Team]) -> list[PlanningChange]:
        teams = {DEFAULT_TEAM: Team(DEFAULT_TEAM)} | {team.name: team for team in known}
        changed = [TeamIs(team) for name, team in teams.items() if self._teams.get(name) != team]
        self._teams = teams
        return list(changed)

    def _fleet_changes(self) -> list[PlanningChange]:
        before, view = self._view, self._fleet.view()
        if view is before:
            return []
        self._view = view
        changes: list[PlanningChange] = []
        changes += [NodeIs(node) for key, node in view.nodes.items() if before.nodes.get(key) != node]
        changes += [AgentIs(agent) for key, agent in view.agents.items() if before.agents.get(key) != agent]
        changes += [AgentGone(key) for key in before.agents.keys() - view.agents.keys()]
        changes += [NodeGone(NodeId(key)) for key in before.nodes.keys() - view.nodes.keys()]
        return changes
