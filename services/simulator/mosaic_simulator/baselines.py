"""The policies ours is measured against: first come first served, strict priority, round robin.

None knows quotas, shares, reservations or preemption. All pass over a run that does not fit and
try the next, which is the best they can do for utilisation: ours must keep up with that.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from mosaic.ids import RunId, TeamName, WorkerName
from mosaic.model.resources import Resources
from mosaic.model.run import Priority
from mosaic_scheduler.domain.changes import AttemptEnded, AttemptHolds, NodeIs, PlanningChange, RunLeftQueue, RunQueued
from mosaic_scheduler.domain.plan import Admission, Plan
from mosaic_scheduler.domain.reasons import Reason, ReasonCode
from mosaic_scheduler.domain.run import QueuedRun, RunningAttempt
from mosaic_scheduler.domain.snapshot import Snapshot
from mosaic_simulator.rooms import Rooms

_Needs = tuple[WorkerName, Resources]
_NO_ROOM = Reason.of(ReasonCode.NODES_FULL, need=0, resource="place", most=0)


@dataclass(frozen=True, slots=True)
class _Shape:
    """What makes waiting runs interchangeable but for their age."""

    worker: WorkerName
    resources: Resources
    team: TeamName
    priority: Priority

    @property
    def needs(self) -> _Needs:
        """What decides whether a run of this shape fits somewhere."""
        return self.worker, self.resources


@dataclass(slots=True)
class _Line:
    """Waiting runs of one shape, oldest first."""

    shape: _Shape
    ages: list[tuple[datetime, RunId]] = field(default_factory=list)
    #: Runs at the front that the present round has started.
    skipped: int = 0

    @property
    def head(self) -> tuple[datetime, RunId]:
        """The oldest run not started yet."""
        return self.ages[self.skipped]

    @property
    def is_used_up(self) -> bool:
        """Tell whether every run of the line has been started."""
        return self.skipped == len(self.ages)


#: Orders the heads of the lines: (shape, oldest run, when each team was last served) -> rank, lowest first.
Rank = Callable[[_Shape, tuple[datetime, RunId], Mapping[TeamName, int]], tuple[object, ...]]


def _first_come(shape: _Shape, head: tuple[datetime, RunId], served: Mapping[TeamName, int]) -> tuple[object, ...]:
    return head


def _most_urgent(shape: _Shape, head: tuple[datetime, RunId], served: Mapping[TeamName, int]) -> tuple[object, ...]:
    return (-shape.priority, *head)


def _whose_turn(shape: _Shape, head: tuple[datetime, RunId], served: Mapping[TeamName, int]) -> tuple[object, ...]:
    return (served.get(shape.team, 0), *head)


class Baseline:
    """Starts whatever fits, in the order of a rank."""

    def __init__(self, snapshot: Snapshot, rank: Rank) -> None:
        self._rank = rank
        self._rooms = Rooms(snapshot.nodes, snapshot.agents)
        self._queued: dict[RunId, QueuedRun] = {}
        self._lines: dict[_Shape, _Line] = {}
        self._running: dict[RunId, RunningAttempt] = {}
        self._served: dict[TeamName, int] = {}
        self._starts = 0
        self.apply([RunQueued(run) for run in snapshot.queued])
        self.apply([AttemptHolds(attempt) for attempt in snapshot.running])

    def apply(self, changes: Iterable[PlanningChange]) -> None:
        """Take note of *changes*, in order; what these policies do not look at is ignored."""
        for change in changes:
            match change:
                case RunQueued(run):
                    self._enqueue(run)
                case RunLeftQueue(run_id):
                    self._dequeue(run_id)
                case AttemptHolds(attempt):
                    self._hold(attempt)
                case AttemptEnded(run_id):
                    self._release(run_id)
                case NodeIs(node):
                    self._rooms.set_node(node)

    def plan(self, now: datetime) -> Plan:
        """Start runs in order until nothing more fits."""
        admissions: list[Admission] = []
        hopeless: set[_Needs] = set()
        lines = self._lines_with_room(hopeless)
        while lines:
            line = min(lines, key=lambda each: self._rank(each.shape, each.head, self._served))
            admission = self._try(line.head[1], now)
            if admission is None:
                hopeless.add(line.shape.needs)
                lines = [each for each in lines if each.shape.needs not in hopeless]
                continue
            admissions.append(admission)
            line.skipped += 1
            if line.is_used_up:
                lines.remove(line)
        self._undo(admissions)
        return Plan(admissions=tuple(admissions), waiting=self._still_waiting(admissions))

    def _lines_with_room(self, hopeless: set[_Needs]) -> list[_Line]:
        """Return the lines whose oldest run fits somewhere; what fits nowhere now fits nowhere this round."""
        lines = [line for line in self._lines.values() if line.ages]
        hopeless.update(needs for needs in {line.shape.needs for line in lines} if not self._rooms.find(*needs))
        return [line for line in lines if line.shape.needs not in hopeless]

    def _undo(self, admissions: list[Admission]) -> None:
        """Planning changes nothing: give back what was taken to see what else fits."""
        for admission in admissions:
            self._rooms.hold(admission.node_id, admission.lease, -1)
            self._line_of(self._queued[admission.run_id]).skipped = 0

    def _still_waiting(self, admissions: list[Admission]) -> dict[RunId, Reason]:
        waiting = dict.fromkeys(self._queued, _NO_ROOM)
        for admission in admissions:
            del waiting[admission.run_id]
        return waiting

    def _try(self, run_id: RunId, now: datetime) -> Admission | None:
        """Place the run; its room counts as taken for the rest of the round."""
        run = self._queued[run_id]
        place = self._rooms.find(run.worker, run.resources)
        if place is None:
            return None
        agent_id, node_id, lease = place
        self._rooms.hold(node_id, lease, 1)
        self._starts += 1
        self._served[run.team] = self._starts
        ends_by = now + run.max_wall if run.max_wall else None
        return Admission(run_id, run.attempt, agent_id, node_id, lease, ends_by=ends_by)

    def _enqueue(self, run: QueuedRun) -> None:
        self._dequeue(run.run_id)
        self._queued[run.run_id] = run
        insort(self._line_of(run).ages, (run.submitted_at, run.run_id))

    def _dequeue(self, run_id: RunId) -> None:
        run = self._queued.pop(run_id, None)
        if run is not None:
            self._line_of(run).ages.remove((run.submitted_at, run.run_id))

    def _line_of(self, run: QueuedRun) -> _Line:
        shape = _Shape(run.worker, run.resources, run.team, run.priority)
        return self._lines.setdefault(shape, _Line(shape))

    def _hold(self, attempt: RunningAttempt) -> None:
        self._dequeue(attempt.run_id)
        if attempt.run_id not in self._running:
            self._rooms.hold(attempt.node_id, attempt.lease, 1)
        self._running[attempt.run_id] = attempt

    def _release(self, run_id: RunId) -> None:
        attempt = self._running.pop(run_id, None)
        if attempt is not None:
            self._rooms.hold(attempt.node_id, attempt.lease, -1)


def _ranked_by(rank: Rank) -> Callable[[Snapshot], Baseline]:
    return lambda snapshot: Baseline(snapshot, rank)


#: The baselines by the name people compare with.
BASELINES: Mapping[str, Callable[[Snapshot], Baseline]] = MappingProxyType(
    {
        "fifo": _ranked_by(_first_come),
        "priority": _ranked_by(_most_urgent),
        "round-robin": _ranked_by(_whose_turn),
    }
)
