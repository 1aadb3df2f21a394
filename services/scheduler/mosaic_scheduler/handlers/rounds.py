"""Scheduling rounds: read what changed, plan, record, ring. A crash in between is healed by the next round."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

import structlog

from mosaic.errors import IllegalTransition, Unavailable
from mosaic.events.sealed import RunSealed
from mosaic.ids import AgentId, NodeId, RunId, TeamName, WorkerName
from mosaic.lifecycle import AttemptFact, AttemptState, FailureKind, RunFact, RunState, is_terminal
from mosaic_scheduler.domain.changes import (
    AgentGone,
    AgentIs,
    AttemptEnded,
    AttemptHolds,
    Change,
    NodeGone,
    NodeIs,
    RunLeftQueue,
    RunQueued,
    TeamIs,
    UsageFolded,
)
from mosaic_scheduler.domain.entries import AttemptEntry, RunEntry, Wish, as_queued, as_running
from mosaic_scheduler.domain.plan import Admission, Expiry, Plan, Preemption
from mosaic_scheduler.domain.planner import Planner
from mosaic_scheduler.domain.retry import RetrySettings
from mosaic_scheduler.domain.run import ResumeGrade
from mosaic_scheduler.domain.snapshot import PolicySettings, Snapshot, Team
from mosaic_scheduler.domain.transition import move_attempt, move_run
from mosaic_scheduler.handlers.endings import end_attempt
from mosaic_scheduler.handlers.submit import DEFAULT_TEAM
from mosaic_scheduler.ports import (
    Clock,
    Dispatcher,
    Fleet,
    FleetView,
    OutboxMessage,
    RunStore,
    RunTransaction,
    SealFeed,
)

log = structlog.get_logger(__name__)

#: Messages taken from the outbox at a time.
_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class RoundSettings:
    """The times that rounds keep."""

    #: An attempt that no agent renews for so long is lost.
    lease: timedelta = timedelta(seconds=30)
    #: An attempt that is not claimed for so long is rung again...
    ring_again: timedelta = timedelta(seconds=5)
    #: ...and given to somebody else after this.
    claim_within: timedelta = timedelta(seconds=60)
    #: How often recent use is written down.
    save_usage_every: timedelta = timedelta(seconds=10)
    #: Rounds come as fast as things happen; for the patience of who is overtaken, one in so long counts.
    count_overtaking_every: timedelta = timedelta(seconds=30)
    #: Between SIGTERM and SIGKILL.
    grace: timedelta = timedelta(seconds=20)
    #: Silence after which a worker is called hung, unless its run says otherwise.
    hang_limit: timedelta = timedelta(minutes=30)
    policy: PolicySettings = PolicySettings()
    retry: RetrySettings = RetrySettings()


class Rounds:
    """The planner with what it has seen of the store and the fleet. One process runs it: the leader."""

    def __init__(
        self,
        *,
        store: RunStore,
        fleet: Fleet,
        dispatcher: Dispatcher,
        seals: SealFeed,
        clock: Clock,
        settings: RoundSettings,
    ) -> None:
        self._store = store
        self._fleet = fleet
        self._dispatcher = dispatcher
        self._seals = seals
        self._clock = clock
        self._settings = settings
        self._planner = Planner(Snapshot(settings=settings.policy))
        self._revision = -1
        self._usage_saved_at = clock()
        self._overtaking_counted_at = clock()
        self._view = FleetView()
        self._teams: dict[TeamName, Team] = {}
        self._grades: dict[WorkerName, ResumeGrade | None] = {}

    def adopt(self) -> None:
        """Take over as leader: start from the store, and give every lease time to be renewed.

        Runs go on while no scheduler is there; that is no reason to call them lost.
        """
        self._planner = Planner(Snapshot(settings=self._settings.policy))
        self._revision = -1
        self._view = FleetView()
        self._teams = {}
        with self._store.read() as work:
            active = work.active()
            self._planner.apply([UsageFolded(work.usage())])
        held = [(attempt.run_id, attempt.attempt) for _, attempt in active if attempt is not None]
        self._store.extend_leases(held, self._clock() + self._settings.lease)

    def plan(self) -> Plan:
        """Run one round and ring those who were admitted."""
        now = self._clock()
        # What is held now has been held until now: it is folded before anything ends.
        self._planner.apply([UsageFolded(self._planner.folded_usage(now)), *self._changes()])
        decided = self._planner.plan(now)
        if decided.admissions:
            self._planner.apply([UsageFolded(self._planner.charged_usage(decided.admissions))])
        if decided.admissions or decided.preemptions or decided.expiries or decided.overtaken:
            self._record(decided, now)
        self.flush()
        return decided

    def sweep(self) -> None:
        """Heal what nobody reported: lost attempts, lost rings, messages that did not leave."""
        now = self._clock()
        self._save_usage(now)
        self._expire_leases(now)
        self._ring_again(now)
        self.flush()

    def flush(self) -> None:
        """Send what the outbox holds; what cannot leave now stays for the next time."""
        refused: set[str] = set()
        while True:
            messages = self._store.outbox(limit=_AT_ONCE)
            done = [message.message_id for message in messages if self._sent(message, refused)]
            self._store.sent(done)
            if len(done) < _AT_ONCE:
                return

    def _changes(self) -> list[Change]:
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

    def _run_changes(self, run: RunEntry, attempt: AttemptEntry | None) -> Iterable[Change]:
        grade = self._grades.get(run.spec.worker)
        if run.state is RunState.QUEUED:
            return (AttemptEnded(run.run_id), RunQueued(as_queued(run, grade)))
        if is_terminal(run.state) or attempt is None or is_terminal(attempt.state):
            return (AttemptEnded(run.run_id), RunLeftQueue(run.run_id))
        return (AttemptHolds(as_running(run, attempt, grade)),)

    def _team_changes(self, known: list[Team]) -> list[Change]:
        teams = {DEFAULT_TEAM: Team(DEFAULT_TEAM)} | {team.name: team for team in known}
        changed = [TeamIs(team) for name, team in teams.items() if self._teams.get(name) != team]
        self._teams = teams
        return list(changed)

    def _fleet_changes(self) -> list[Change]:
        before, view = self._view, self._fleet.view()
        if view is before:
            return []
        self._view = view
        changes: list[Change] = []
        changes += [NodeIs(node) for key, node in view.nodes.items() if before.nodes.get(key) != node]
        changes += [AgentIs(agent) for key, agent in view.agents.items() if before.agents.get(key) != agent]
        changes += [AgentGone(key) for key in before.agents.keys() - view.agents.keys()]
        changes += [NodeGone(NodeId(key)) for key in before.nodes.keys() - view.nodes.keys()]
        return changes

    def _record(self, decided: Plan, now: datetime) -> None:
        """Carry out *decided* in one transaction; if a part of it cannot be true, carry out all the others."""
        steps: list[Callable[[RunTransaction], object]] = [
            *(partial(self._admit, admission=admission, now=now) for admission in decided.admissions),
            *(partial(self._preempt, preemption=preemption, now=now) for preemption in decided.preemptions),
            *(partial(self._expire, expiry=expiry, now=now) for expiry in decided.expiries),
            partial(self._count_overtaking, decided=decided, now=now),
        ]
        try:
            self._take_steps(steps)
        except IllegalTransition:
            for step in steps:
                try:
                    self._take_steps([step])
                except IllegalTransition as error:
                    log.error("decision not carried out; the rest of the plan is", reason=str(error))

    def _take_steps(self, steps: Iterable[Callable[[RunTransaction], object]]) -> None:
        with self._store.write() as work:
            for step in steps:
                step(work)

    def _count_overtaking(self, work: RunTransaction, decided: Plan, now: datetime) -> None:
        if not decided.overtaken or now - self._overtaking_counted_at < self._settings.count_overtaking_every:
            return
        self._overtaking_counted_at = now
        for run_id in decided.overtaken:
            run = work.run(run_id)
            if run is not None and run.state is RunState.QUEUED:
                work.save_run(replace(run, passed_over=run.passed_over + 1))

    def _admit(self, work: RunTransaction, admission: Admission, now: datetime) -> None:
        run = work.run(admission.run_id)
        # Somebody may have cancelled it since the snapshot; then the plan is simply not carried out.
        if run is None or run.state is not RunState.QUEUED or run.attempt + 1 != admission.attempt:
            return
        moved, note = move_run(
            run,
            RunFact.ADMITTED,
            at=now,
            actor="scheduler",
            detail=f"to agent {admission.agent_id}",
            attempt=admission.attempt,
            passed_over=0,
            not_before=None,
            reason_code="",
            reason="",
        )
        work.save_run(moved)
        work.save_attempt(
            AttemptEntry(
                run_id=run.run_id,
                attempt=admission.attempt,
                state=AttemptState.ADMITTED,
                agent_id=admission.agent_id,
                node_id=admission.node_id,
                lease=admission.lease,
                admitted_at=now,
                lease_until=now + self._settings.claim_within,
                borrowed=admission.borrowed,
                ends_by=admission.ends_by,
            )
        )
        work.add_history([note])
        work.send_later(OutboxMessage("ring", run.run_id, admission.attempt, {"agent_id": admission.agent_id}))

    def _preempt(self, work: RunTransaction, preemption: Preemption, now: datetime) -> None:
        run = self._wish(work, preemption.run_id, preemption.attempt, Wish.PREEMPT, now)
        if run is not None:
            work.save_run(replace(run, evicted_for=run.evicted_for | {preemption.beneficiary}))

    def _expire(self, work: RunTransaction, expiry: Expiry, now: datetime) -> None:
        self._wish(work, expiry.run_id, expiry.attempt, Wish.EXPIRE, now)

    def _wish(self, work: RunTransaction, run_id: RunId, number: int, wish: Wish, now: datetime) -> RunEntry | None:
        run, attempt = work.run(run_id), work.attempt(run_id, number)
        if run is None or attempt is None or run.attempt != number or is_terminal(attempt.state):
            return None
        if attempt.wish in (Wish.CANCEL, Wish.PREEMPT, Wish.EXPIRE):
            return None
        if attempt.state is AttemptState.ADMITTED:
            # Nobody has claimed it: it ends here as preempted, and a late claim is refused.
            ended = replace(attempt, wish=Wish.PREEMPT)
            return end_attempt(
                work,
                run,
                ended,
                AttemptFact.PREEMPTED,
                at=now,
                actor="scheduler",
                settings=self._settings.retry,
            )
        work.save_attempt(move_attempt(attempt, AttemptFact.STOP_REQUESTED, at=now, wish=wish))
        moved, note = move_run(run, RunFact.STOP_REQUESTED, at=now, actor="scheduler", detail=wish.value)
        work.add_history([note])
        work.send_later(OutboxMessage("ring", run_id, number, {"agent_id": attempt.agent_id}))
        return work.save_run(moved)

    def _save_usage(self, now: datetime) -> None:
        if now - self._usage_saved_at >= self._settings.save_usage_every:
            self._usage_saved_at = now
            self._store.save_usage(self._planner.folded_usage(now))

    def _expire_leases(self, now: datetime) -> None:
        with self._store.read() as work:
            overdue = work.overdue(now)
        for found in overdue:
            with self._store.write() as work:
                run, attempt = work.run(found.run_id), work.attempt(found.run_id, found.attempt)
                if run is None or attempt is None or is_terminal(attempt.state) or attempt.lease_until >= now:
                    continue
                log.warning("attempt lost; its run is planned again", run_id=run.run_id, attempt=attempt.attempt)
                end_attempt(
                    work,
                    run,
                    attempt,
                    AttemptFact.LOST,
                    at=now,
                    actor="scheduler",
                    kind=FailureKind.LOST_AGENT,
                    reason=f"agent {attempt.agent_id} was not heard for {self._settings.lease.total_seconds():g} s",
                    settings=self._settings.retry,
                )

    def _ring_again(self, now: datetime) -> None:
        with self._store.read() as work:
            unclaimed = work.unclaimed(now - self._settings.ring_again)
        for attempt in unclaimed:
            if not self._ring(attempt.run_id, attempt.attempt, attempt.agent_id):
                return

    def _sent(self, message: OutboxMessage, refused: set[str]) -> bool:
        """Tell whether *message* left. Every refusal costs a deadline: its kind is *refused* from then on."""
        if message.kind not in refused and not self._send(message):
            refused.add(message.kind)
        return message.kind not in refused

    def _send(self, message: OutboxMessage) -> bool:
        if message.kind == "ring":
            return self._ring(message.run_id, message.attempt, AgentId(message.payload["agent_id"]))
        try:
            self._seals.seal(RunSealed.model_validate(message.payload))
        except Unavailable as error:
            log.warning("seal not delivered; it stays in the outbox", run_id=message.run_id, reason=str(error))
            return False
        return True

    def _ring(self, run_id: RunId, attempt: int, agent_id: AgentId) -> bool:
        queue = self._fleet.view().queues.get(agent_id)
        if queue is None:
            return True  # the agent is gone: its lease will run out, ringing cannot help
        try:
            self._dispatcher.ring(queue, run_id, attempt)
        except Unavailable as error:
            log.warning("ring not confirmed; it stays in the outbox", run_id=run_id, reason=str(error))
            return False
        return True
