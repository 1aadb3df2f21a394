"""Why a run waits and when it may start, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mosaic.errors import RunNotFound
from mosaic.ids import RunId
from mosaic_scheduler.domain.amount import GPU, in_people_units, required_amount
from mosaic_scheduler.domain.changes import AttemptEnded, Change
from mosaic_scheduler.domain.enactment import changes_of
from mosaic_scheduler.domain.fairness import Turns
from mosaic_scheduler.domain.plan import Plan
from mosaic_scheduler.domain.planner import Planner
from mosaic_scheduler.domain.policy import plan as plan_round
from mosaic_scheduler.domain.run import QueuedRun, RunningAttempt
from mosaic_scheduler.domain.snapshot import Snapshot

#: Rounds looked ahead for an estimate; beyond that the future is too uncertain to name a time.
_ROUNDS_AHEAD = 200


@dataclass(frozen=True, slots=True)
class Estimate:
    """When a run may start, and what was assumed to say so."""

    #: None when it does not start under the assumption.
    starts_at: datetime | None
    assumption: str


def explain(run_id: RunId, snapshot: Snapshot, *, now: datetime, plan: Plan | None = None) -> list[str]:
    """Say in sentences why the run waits, or where it runs; *plan* is made when it is not given.

    Raises:
        RunNotFound: the run neither waits nor runs.
    """
    for attempt in snapshot.running:
        if attempt.run_id == run_id:
            return _about_running(attempt, now)
    run = next((run for run in snapshot.queued if run.run_id == run_id), None)
    if run is None:
        raise RunNotFound(run_id)
    plan = plan or plan_round(snapshot, now=now)
    return [*_about_decision(run, plan), *_about_line(run, snapshot, now), *_about_overtaking(run, snapshot)]


def estimate_start(
    run_id: RunId, snapshot: Snapshot, *, now: datetime, typical_runtime: timedelta = timedelta(hours=1)
) -> Estimate:
    """Plan ahead, round by round, until the run starts.

    Assumes that nothing new is submitted and that every attempt uses its whole time limit; one
    without a limit ends when it has run *typical_runtime*, or that much from now if it already has.
    """
    assumption = f"nothing new is submitted; runs use their whole time limit, or {_span(typical_runtime)} without one"
    planner = Planner(snapshot)
    moment = now
    for _ in range(_ROUNDS_AHEAD):
        decided = planner.plan(moment)
        if any(admission.run_id == run_id for admission in decided.admissions):
            return Estimate(moment, assumption)
        planner.apply(changes_of(decided, queued=planner.queued, running=planner.running, now=moment))
        following = _next_moment(planner, moment, typical_runtime)
        if following is None:
            break
        moment, changes = following
        planner.apply(changes)
    return Estimate(None, assumption)


def position(run: QueuedRun, snapshot: Snapshot, *, now: datetime) -> int:
    """Count the waiting runs that would be considered before *run*, by class, share and age."""
    turns = Planner(snapshot).turns(now)
    own = _rank(run, turns)
    return sum(_rank(other, turns) < own for other in snapshot.queued)


def _rank(run: QueuedRun, turns: Turns) -> tuple[int, float, float, datetime, RunId]:
    return (
        -run.priority,
        turns.team_score(run.team),
        turns.user_score(run.team, run.user),
        run.submitted_at,
        run.run_id,
    )


def _about_running(attempt: RunningAttempt, now: datetime) -> list[str]:
    state = "is being stopped" if attempt.is_leaving else "runs"
    where = f"attempt {attempt.attempt} {state} on node {attempt.node_id} since {_span(now - attempt.started_at)}"
    loan = ["it uses capacity that other teams lend and may be asked to leave"] if attempt.borrowed else []
    return [where, *loan]


def _about_decision(run: QueuedRun, plan: Plan) -> list[str]:
    for admission in plan.admissions:
        if admission.run_id == run.run_id:
            return [f"it starts now on node {admission.node_id}"]
    return [plan.waiting[run.run_id].sentence()]


def _about_line(run: QueuedRun, snapshot: Snapshot, now: datetime) -> list[str]:
    ahead = position(run, snapshot, now=now)
    place = "it is first in line" if ahead == 0 else f"{ahead} of {len(snapshot.queued)} waiting runs come before it"
    return [f"{place}: priority {run.priority.label}, waiting since {_span(now - run.submitted_at)}"]


def _about_overtaking(run: QueuedRun, snapshot: Snapshot) -> list[str]:
    if not run.passed_over:
        return []
    patience = snapshot.settings.patience
    after = "a node is held back for it" if run.passed_over >= patience else f"after {patience} a node is held back"
    gpus = in_people_units(GPU, required_amount(run.requirements)[GPU])
    return [f"runs behind it started in {run.passed_over} rounds while its {gpus:g} GPUs were not free; {after}"]


def _next_moment(planner: Planner, now: datetime, typical: timedelta) -> tuple[datetime, Sequence[Change]] | None:
    """Return when the next attempts end or runs become due, and who ends then."""
    ends = [(_ends_at(attempt, now, typical), run_id) for run_id, attempt in planner.running.items()]
    due = [run.not_before for run in planner.queued.values() if run.not_before and run.not_before > now]
    moments = [*due, *(end for end, _ in ends)]
    if not moments:
        return None
    moment = min(moments)
    return moment, [AttemptEnded(run_id) for end, run_id in ends if end <= moment]


def _ends_at(attempt: RunningAttempt, now: datetime, typical: timedelta) -> datetime:
    if attempt.is_leaving:
        return now
    if attempt.ends_by is not None:
        return max(attempt.ends_by, now)
    ends = attempt.started_at + typical
    return ends if ends > now else now + typical


def _span(span: timedelta) -> str:
    seconds = max(0, int(span.total_seconds()))
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
