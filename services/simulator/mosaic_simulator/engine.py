"""Plays a trace against a policy in event time: no waiting, no clock, no randomness."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from mosaic.ids import NodeId, RunId
from mosaic_scheduler.domain.changes import AttemptEnded, AttemptHolds, NodeIs, PlanningChange, RunQueued, UsageFolded
from mosaic_scheduler.domain.plan import Admission, Plan, Preemption
from mosaic_scheduler.domain.snapshot import PolicySettings, Snapshot
from mosaic_simulator.agenda import Agenda, AttemptEvent, Due
from mosaic_simulator.fleet import Fleet
from mosaic_simulator.life import EPOCH, Life, moment
from mosaic_simulator.options import SimulationOptions
from mosaic_simulator.recorder import Recorder
from mosaic_simulator.recording import Ending, Recording
from mosaic_simulator.trace import NodeChange, NodeEvent, Trace, TracedRun
from mosaic_simulator.usage_meter import UsageMeter

#: Rounds in which nothing started, left or became due, after which nothing ever will.
_PATIENCE_FOR_THE_STUCK = 100


class RoundPlanner(Protocol):
    """What the simulation asks of a policy: the real planner and the baselines are alike in this."""

    def apply(self, changes: Iterable[PlanningChange]) -> None:
        """Take note of *changes*, in order."""

    def plan(self, now: datetime) -> Plan:
        """Decide one round."""


PolicyFactory = Callable[[Snapshot], RoundPlanner]


def simulate(
    trace: Trace,
    fleet: Fleet,
    policy: PolicyFactory,
    *,
    name: str,
    settings: PolicySettings | None = None,
    options: SimulationOptions | None = None,
) -> Recording:
    """Play *trace* on *fleet* until every run has ended or nothing can change any more.

    Equal arguments give an equal recording. The policy never sees how long a run will take.
    """
    simulation = _Simulation(trace, fleet, policy, settings or PolicySettings(), options or SimulationOptions())
    return simulation.play(name)


class _Simulation:
    """The state of one simulation between two rounds."""

    def __init__(
        self,
        trace: Trace,
        fleet: Fleet,
        policy: PolicyFactory,
        settings: PolicySettings,
        options: SimulationOptions,
    ) -> None:
        half_life = settings.half_life.total_seconds()
        self._options = options
        self._agenda = Agenda(trace)
        self._nodes = {node.node_id: node for node in fleet.nodes}
        self._teams = {team.name for team in fleet.teams}
        self._recorder = Recorder(trace, fleet, half_life=half_life, samples=options.samples)
        self._usage = UsageMeter(fleet, settings)
        self._lives: dict[RunId, Life] = {}
        self._on_node: dict[NodeId, set[RunId]] = {node_id: set() for node_id in self._nodes}
        self._waiting: set[RunId] = set()
        self._changes: list[PlanningChange] = []
        self._overtaking_counted_at = 0.0
        self._planner = policy(Snapshot(nodes=fleet.nodes, agents=fleet.agents, teams=fleet.teams, settings=settings))

    def play(self, name: str) -> Recording:
        """Go from round to round until the end."""
        now = 0.0
        idle_rounds = 0
        while (round_at := self._next_round(now, idle_rounds)) is not None:
            now = round_at
            is_moved = self._catch_up(now)
            is_moved |= self._round(now)
            idle_rounds = 0 if is_moved else idle_rounds + 1
        for run_id in sorted(self._waiting):
            life = self._lives[run_id]
            life.waited += now - life.queued_since
            self._recorder.ended(life, Ending.NEVER, None)
        return self._recorder.finish(name, now)

    def _next_round(self, now: float, idle_rounds: int) -> float | None:
        """Return when to plan next: at the round after the next event, or soon because runs wait."""
        due = self._agenda.next_at()
        step = self._options.round_seconds
        at = None if due is None else max(math.ceil(due / step) * step, now)
        if not self._waiting or (at is None and idle_rounds >= _PATIENCE_FOR_THE_STUCK):
            return at
        look_again = now + self._options.idle_round_seconds
        return look_again if at is None else min(at, look_again)

    def _catch_up(self, now: float) -> bool:
        """Let happen what is due up to *now*; tell whether anything was."""
        is_anything = False
        for at, event in self._agenda.pop_until(now):
            is_anything = True
            self._recorder.advance(at)
            match event:
                case TracedRun():
                    self._submit(event)
                case NodeEvent():
                    self._change_node(event)
                case AttemptEvent():
                    self._attempt_event(event, at)
        self._recorder.advance(now)
        return is_anything

    def _round(self, now: float) -> bool:
        """Plan once and do what the plan says; tell whether it said anything."""
        self._changes.append(UsageFolded(self._usage.fold(now)))
        self._planner.apply(self._changes)
        plan = self._planner.plan(moment(now))
        self._changes = []
        for admission in plan.admissions:
            self._admit(admission, now)
        for preemption in plan.preemptions:
            self._preempt(preemption, now)
        self._count_overtaking(plan, now)
        self._recorder.round(plan.waiting)
        return bool(plan.admissions or plan.preemptions)

    def _count_overtaking(self, plan: Plan, now: float) -> None:
        if plan.overtaken and now - self._overtaking_counted_at >= self._options.overtaking_seconds:
            self._overtaking_counted_at = now
            self._changes.extend(RunQueued(self._lives[run_id].overtaken()) for run_id in plan.overtaken)

    def _submit(self, run: TracedRun) -> None:
        life = Life.submitted(run)
        self._lives[run.run_id] = life
        self._enqueue(life)

    def _enqueue(self, life: Life) -> None:
        self._waiting.add(life.run.run_id)
        self._recorder.queued(life)
        self._changes.append(RunQueued(life.queued))

    def _admit(self, admission: Admission, now: float) -> None:
        life = self._lives[admission.run_id]
        self._changes.append(AttemptHolds(life.start(admission, now)))
        self._waiting.remove(admission.run_id)
        self._on_node[admission.node_id].add(admission.run_id)
        self._recorder.started(life, now)
        self._usage.started(life, now)
        self._schedule_end(life, admission, now)

    def _schedule_end(self, life: Life, admission: Admission, now: float) -> None:
        due, at = Due.FINISH, now + self._options.start_seconds + life.work_left()
        if admission.ends_by is not None:
            limit = (admission.ends_by - EPOCH).total_seconds()
            due, at = (Due.TIME_LIMIT, limit) if limit < at else (due, at)
        run_id, attempt = admission.run_id, admission.attempt
        self._agenda.add(at, AttemptEvent(due, run_id, attempt))
        report = now + self._options.checkpoint_report_seconds
        if life.run.checkpoint_seconds is not None and report < at:
            self._agenda.add(report, AttemptEvent(Due.CHECKPOINT, run_id, attempt))

    def _preempt(self, preemption: Preemption, now: float) -> None:
        life = self._lives[preemption.run_id]
        if not life.is_working(preemption.attempt):
            return
        lost = life.stop(now, self._options.start_seconds, beneficiary=preemption.beneficiary)
        self._recorder.lost(life, lost, now)
        self._changes.append(AttemptHolds(life.leaving()))
        gone = AttemptEvent(Due.GONE, preemption.run_id, preemption.attempt)
        self._agenda.add(now + self._options.stop_seconds, gone)

    def _attempt_event(self, event: AttemptEvent, at: float) -> None:
        life = self._lives[event.run_id]
        if event.due is Due.GONE:
            self._leave(life, at)
        elif life.is_working(event.attempt):
            if event.due is Due.CHECKPOINT:
                self._report_checkpoint(life, event, at)
            else:
                self._end(life, Ending.FINISHED if event.due is Due.FINISH else Ending.TIME_LIMIT, at)

    def _report_checkpoint(self, life: Life, event: AttemptEvent, at: float) -> None:
        attempt = life.checkpointed(at, self._options.start_seconds)
        if attempt is not None:
            self._changes.append(AttemptHolds(attempt))
        self._agenda.add(at + self._options.checkpoint_report_seconds, event)

    def _end(self, life: Life, ending: Ending, at: float) -> None:
        self._release(life, at)
        self._changes.append(AttemptEnded(life.run.run_id))
        life.running = None
        self._recorder.ended(life, ending, at)

    def _leave(self, life: Life, at: float) -> None:
        """An attempt that stopped working is known to be gone: its run waits for the next one."""
        if not life.stopped_by_failure:
            self._release(life, at)
        self._changes.append(AttemptEnded(life.run.run_id))
        life.requeue(at)
        self._enqueue(life)

    def _release(self, life: Life, at: float) -> None:
        assert life.running is not None
        self._on_node[life.running.node_id].discard(life.run.run_id)
        self._recorder.released(life, at)
        self._usage.ended(life, at)

    def _change_node(self, event: NodeEvent) -> None:
        before = self._nodes[event.node_id]
        after = replace(
            before,
            healthy=event.change is not NodeChange.FAILS,
            draining=event.change is NodeChange.DRAINS,
        )
        self._nodes[event.node_id] = after
        self._changes.append(NodeIs(after))
        self._recorder.gpus_up(len(after.gpus) * (after.healthy - before.healthy), event.at)
        if event.change is NodeChange.FAILS:
            for run_id in sorted(self._on_node[event.node_id]):
                self._lose(self._lives[run_id], event.at)

    def _lose(self, life: Life, at: float) -> None:
        """The node under an attempt failed: its work stops now, its loss is noticed later."""
        is_leaving = life.stopped_at is not None
        self._release(life, at)
        if is_leaving:
            life.stopped_by_failure = True
            return
        lost = life.stop(at, self._options.start_seconds, beneficiary=None)
        self._recorder.lost(life, lost, at)
        gone = AttemptEvent(Due.GONE, life.run.run_id, life.attempt)
        self._agenda.add(at + self._options.loss_detection_seconds, gone)
