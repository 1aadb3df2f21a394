"""Answers about runs that wait: why, what would happen, and when."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from mosaic.ids import RunId
from mosaic.lifecycle import RunState, is_terminal
from mosaic_scheduler.domain.entries import RunEntry, as_queued, as_running
from mosaic_scheduler.domain.explain import estimate_start, explain, position
from mosaic_scheduler.domain.snapshot import PolicySettings, Snapshot, Team
from mosaic_scheduler.handlers.submit import DEFAULT_TEAM, Request, earlier_submit, validate
from mosaic_scheduler.ports import Clock, Fleet, FleetView, RunStore, Secrets


@dataclass(frozen=True, slots=True)
class Told:
    """Why a run stands where it stands, and when it may start."""

    sentences: tuple[str, ...]
    estimated_start: datetime | None = None
    assumption: str = ""
    queue_position: int = 0


def snapshot_of(store: RunStore, view: FleetView, policy: PolicySettings) -> Snapshot:
    """Return the fleet and its runs as the planner would see them now."""
    with store.read() as work:
        active, teams, usage = work.active(), work.teams(), work.usage()
    grades = {name: worker.resume_grade for name, worker in view.workers.items()}
    named = {DEFAULT_TEAM: Team(DEFAULT_TEAM)} | {team.name: team for team in teams}
    return Snapshot(
        nodes=tuple(view.nodes.values()),
        agents=tuple(view.agents.values()),
        teams=tuple(named.values()),
        queued=tuple(as_queued(run, grades.get(run.spec.worker)) for run, _ in active if run.state is RunState.QUEUED),
        running=tuple(
            as_running(run, attempt, grades.get(run.spec.worker))
            for run, attempt in active
            if run.state is not RunState.QUEUED and attempt is not None and not is_terminal(attempt.state)
        ),
        usage=usage,
        settings=policy,
    )


def explain_run(run: RunEntry, *, store: RunStore, fleet: Fleet, clock: Clock, policy: PolicySettings) -> Told:
    """Say why *run* waits, where it runs, or how it ended."""
    if is_terminal(run.state):
        how = f"it has ended: {run.state.value}"
        return Told((f"{how} ({run.reason})" if run.reason else how,))
    snapshot, now = snapshot_of(store, fleet.view(), policy), clock()
    sentences = tuple(explain(run.run_id, snapshot, now=now))
    waiting = next((queued for queued in snapshot.queued if queued.run_id == run.run_id), None)
    if waiting is None:
        return Told(sentences)
    if run.reason:
        sentences = (*sentences, f"its last attempt ended: {run.reason}")
    guess = estimate_start(run.run_id, snapshot, now=now)
    ahead = position(waiting, snapshot, now=now)
    return Told(sentences, guess.starts_at, guess.assumption, ahead + 1)


def predict(
    request: Request, *, store: RunStore, fleet: Fleet, secrets: Secrets, clock: Clock, policy: PolicySettings
) -> list[str]:
    """Say what would happen to *request* if it were submitted now; nothing is stored.

    Raises:
        BadInput: lists everything that is wrong with it.
        Refused: its team may not queue more, or its idempotency key belongs to another request.
    """
    request = validate(request, store=store, fleet=fleet, secrets=secrets)
    with store.read() as work:
        earlier = earlier_submit(work, request)
    if earlier is not None:
        known = ", ".join(run.run_id for run in earlier.runs)
        return [f"nothing new would start: its idempotency key was used before, for {known}"]
    view, now = fleet.view(), clock()
    run_id = RunId("dry-run")
    entry = RunEntry(run_id, request.spec, RunState.QUEUED, now, now, not_before=request.not_before)
    snapshot = snapshot_of(store, view, policy)
    worker = view.workers[request.spec.worker]
    asked = replace(snapshot, queued=(*snapshot.queued, as_queued(entry, worker.resume_grade)))
    count = len(request.specs())
    guess = estimate_start(run_id, asked, now=now)
    when = f"{guess.starts_at:%Y-%m-%d %H:%M:%S} UTC" if guess.starts_at else "nobody can say when"
    return [
        f"{count} run{'s' if count > 1 else ''} of worker {worker.name} {worker.version} would be accepted",
        *explain(run_id, asked, now=now),
        f"expected start: {when}, if {guess.assumption}",
    ]
