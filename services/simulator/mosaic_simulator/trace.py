"""What a simulation is fed: the runs people submit, and what happens to nodes meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from mosaic.ids import NodeId, RunId, TeamName, UserName, WorkerName
from mosaic.model.resources import Resources
from mosaic.model.run import Priority
from mosaic_scheduler.domain.run import ResumeGrade


@dataclass(frozen=True, slots=True)
class TracedRun:
    """One run of a trace: what it asks for, and what it will turn out to need."""

    run_id: RunId
    team: TeamName
    user: UserName
    worker: WorkerName
    #: Seconds from the start of the trace to its submission.
    at: float
    #: Seconds of undisturbed work until it is done; no policy may look at this.
    work_seconds: float
    resources: Resources
    priority: Priority = Priority.NORMAL
    #: The time limit its owner set; the policy may rely on it, and the run is ended by it.
    max_wall_seconds: float | None = None
    #: Work between two checkpoints; None keeps nothing, so an interrupted run starts over.
    checkpoint_seconds: float | None = None
    resume_grade: ResumeGrade | None = None
    #: Environment steps per second of work: what lost work is counted in.
    steps_per_second: float = 1000.0

    @property
    def gpus(self) -> float:
        """GPUs it holds while it runs: whole ones, or its fraction of one."""
        return self.resources.gpu_fraction or float(self.resources.gpus)

    def kept_work(self, done_seconds: float) -> float:
        """Return how many of *done_seconds* survive an interruption: those up to the last checkpoint."""
        if self.checkpoint_seconds is None:
            return 0.0
        return done_seconds // self.checkpoint_seconds * self.checkpoint_seconds


class NodeChange(Enum):
    """What can happen to a node during a trace."""

    FAILS = "fails"  #: what ran there is lost; nothing is placed there
    DRAINS = "drains"  #: what runs there may end; nothing new is placed there
    RETURNS = "returns"  #: it takes runs again


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """A change of one node, at a moment of the trace."""

    at: float
    node_id: NodeId
    change: NodeChange


@dataclass(frozen=True, slots=True)
class Trace:
    """A day (or any span) in the life of a fleet, in order of time."""

    runs: tuple[TracedRun, ...]
    node_events: tuple[NodeEvent, ...] = ()

    @property
    def horizon_seconds(self) -> float:
        """When the last run was submitted: until then the fleet is under the trace's load."""
        return self.runs[-1].at if self.runs else 0.0

    @property
    def teams(self) -> tuple[TeamName, ...]:
        """The teams that submit anything, sorted."""
        return tuple(sorted({run.team for run in self.runs}))

    def of_team(self, team: TeamName) -> Trace:
        """Return the trace as it would be had only *team* submitted runs."""
        return Trace(tuple(run for run in self.runs if run.team == team), self.node_events)


def in_order(runs: list[TracedRun], node_events: list[NodeEvent]) -> Trace:
    """Return a trace of *runs* and *node_events* sorted by time, ties by id."""
    runs.sort(key=lambda run: (run.at, run.run_id))
    node_events.sort(key=lambda event: (event.at, event.node_id))
    return Trace(tuple(runs), tuple(node_events))
