"""Answers about runs that wait: why, what would happen, and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mosaic.errors import did_you_mean
from mosaic.ids import RunId, TeamName
from mosaic.lifecycle import RunState, is_terminal
from mosaic.model.identity import Caller
from mosaic.model.run import Explanation, Run
from mosaic.model.team import Team
from mosaic.worker.environments import catalog, find
from mosaic_scheduler.domain.explain import estimate_start, explain, how_to_resume, position
from mosaic_scheduler.domain.planner import Planner
from mosaic_scheduler.domain.reasons import WAITING_CODES
from mosaic_scheduler.domain.run import as_queued, as_running
from mosaic_scheduler.domain.snapshot import PolicySettings, Snapshot
from mosaic_scheduler.handlers.submit import DEFAULT_TEAM, Request, earlier_submit, validate
from mosaic_scheduler.ports import Clock, Fleet, FleetView, RunStore, Secrets


def snapshot_of(store: RunStore, view: FleetView, policy: PolicySettings, team: TeamName = DEFAULT_TEAM) -> Snapshot:
    """Return the fleet and its runs as the planner would see them now; *team* need not have been set up."""
    with store.read() as work:
        active, teams, usage = work.active(), work.teams(), work.usage()
    grades = {name: worker.resume_grade for name, worker in view.workers.items()}
    named = {name: Team(name) for name in (DEFAULT_TEAM, team)} | {team.name: team for team in teams}
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


def explain_run(run: Run, *, store: RunStore, fleet: Fleet, clock: Clock, policy: PolicySettings) -> Explanation:
    """Say why *run* waits, where it runs, or how it ended."""
    if is_terminal(run.state):
        how = f"it has ended: {run.state.value}"
        return Explanation((f"{how} ({_first_line(run.reason)})" if run.reason else how,))
    planner, now = Planner(snapshot_of(store, fleet.view(), policy)), clock()
    if run.state is RunState.PAUSED and run.run_id not in planner.running:
        return Explanation(_about_held(run))
    waiting = planner.queued.get(run.run_id)
    if waiting is None:
        return Explanation(tuple(explain(run.run_id, planner, now=now)))
    # What the rounds have written is what everybody else is shown; a run that none has looked at is planned here.
    known = run.reason if run.reason_code in WAITING_CODES else ""
    sentences = [*explain(run.run_id, planner, now=now, reason=known), *_about_last_attempt(run, store)]
    ahead = position(waiting, planner, now=now)
    guess = estimate_start(run.run_id, planner, now=now)
    return Explanation(tuple(sentences), guess.starts_at, guess.assumption, ahead + 1)


def _about_last_attempt(run: Run, store: RunStore) -> list[str]:
    with store.read() as work:
        last = work.attempt(run.run_id, run.attempt) if run.attempt else None
    return [f"its last attempt ended: {_first_line(last.reason)}"] if last and last.reason else []


def _about_held(run: Run) -> tuple[str, ...]:
    """Say of a paused run, whose attempt has ended, what is left of it."""
    why = f": {_first_line(run.reason)}" if run.reason else ""
    start = f"go on from {run.checkpoint}" if run.checkpoint else "begin anew: it had saved no checkpoint"
    return (
        f"it is paused and holds no machine, because its last attempt ended{why}",
        f"its next attempt will {start}",
        how_to_resume(run.run_id),
    )


def _first_line(reason: str) -> str:
    """Return the line of a *reason* that says why; the others are what it was taken from."""
    return reason.partition("\n")[0]


def predict(
    request: Request,
    *,
    caller: Caller,
    store: RunStore,
    fleet: Fleet,
    secrets: Secrets,
    clock: Clock,
    policy: PolicySettings,
) -> list[str]:
    """Say what would happen to *request* if it were submitted now; nothing is stored.

    Raises:
        BadInput: lists everything that is wrong with it.
        Refused: its team may not queue more, or its idempotency key belongs to another request.
    """
    request = validate(request, caller=caller, store=store, fleet=fleet, secrets=secrets)
    with store.read() as work:
        earlier = earlier_submit(work, request, caller)
    if earlier is not None:
        known = ", ".join(run.run_id for run in earlier.runs)
        return [f"nothing new would start: its idempotency key was used before, for {known}"]
    view, now = fleet.view(), clock()
    run_id = RunId("dry-run")
    entry = Run(run_id, request.spec, RunState.QUEUED, now, now, not_before=request.spec.not_before)
    snapshot = snapshot_of(store, view, policy, request.spec.team)
    worker = view.workers[request.spec.worker]
    asked = replace(snapshot, queued=(*snapshot.queued, as_queued(entry, worker.resume_grade)))
    count, planner = len(request.specs()), Planner(asked)
    sentences = explain(run_id, planner, now=now)
    guess = estimate_start(run_id, planner, now=now)
    when = f"{guess.starts_at:%Y-%m-%d %H:%M:%S} UTC" if guess.starts_at else "nobody can say when"
    return [
        f"{count} run{'s' if count > 1 else ''} of worker {worker.name} {worker.version} would be accepted",
        *_remarks(request),
        *sentences,
        f"expected start: {when}, if {guess.assumption}",
    ]


def _remarks(request: Request) -> Iterator[str]:
    """Yield what a person should know about a request that can be accepted."""
    spec, env_id = request.spec, request.spec.config.get("env_id")
    if request.before is not None:
        yield f"it would continue run {request.before.run_id} from its last checkpoint, with seed {spec.seed}"
    elif spec.seed is None and not request.seeds:
        yield "no seed is asked for: one is drawn when it is submitted, which no plan below can know"
    if isinstance(env_id, str) and find(env_id) is None:
        near = did_you_mean(env_id, [known.env_id for known in catalog()])
        if near:
            yield f"environment {env_id!r} is not in the catalog{near}"
