"""Why a run waits and when it may start, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mosaic.errors import RunNotFound
from mosaic.ids import RunId
from mosaic.lifecycle import AttemptState
from mosaic_scheduler.domain.amount import GPU, in_people_units, required_amount
from mosaic_scheduler.domain.changes import AttemptEnded, PlanningChange
from mosaic_scheduler.domain.enactment import changes_of
from mosaic_scheduler.domain.fairness import Turns
from mosaic_scheduler.domain.plan import Plan
from mosaic_scheduler.domain.planner import Planner
from mosaic_scheduler.domain.run import QueuedRun, RunningAttempt

#: Rounds looked ahead for an estimate; beyond that the future is too uncertain to name a time.
_ROUNDS_AHEAD = 200


@dataclass(frozen=True, slots=True)
class Estimate:
    """When a run may start, and what was assumed to say so."""

    #: None when it does not start under the assumption.
    starts_at: datetime | None
    assumption: str


def explain(run_id: RunId, planner: Planner, *, now: datetime, reason: str = "") -> list[str]:
    """Say in sentences why the run waits, or where it runs; a round is planned when the *reason* is not given.

    Raises:
        RunNotFound: the run neither waits nor runs.
    """
    if run_id in planner.running:
        return _about_running(planner.running[run_id], now)
    run = planner.queued.get(run_id)
    if run is None:
        raise RunNotFound(run_id)
    why = reason or _decision(run, planner.plan(now))
    return [why, _about_line(run, planner, now), *_about_overtaking(run, planner)]


def how_to_resume(run_id: RunId) -> str:
    """Say what lets a paused run go on."""
    return f"`mosaic resume {run_id}` lets it go on, `mosaic cancel {run_id}` ends it"


def estimate_start(
    run_id: RunId, planner: Planner, *, now: datetime, typical_runtime: timedelta = timedelta(hours=1)
) -> Estimate:
    """Plan ahead, round by round, until the run starts; *planner* stands there afterwards.

    Assumes that nothing new is submitted and that every attempt uses its whole time limit; one
    without a limit ends when it has run *typical_runtime*, or that much from now if it already has.
    """
    assumption = f"nothing new is submitted; runs use their whole time limit, or {_span(typical_runtime)} without one"
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


def position(run: QueuedRun, planner: Planner, *, now: datetime) -> int:
    """Count the waiting runs that would be considered before *run*, by class, share and age."""
    turns = planner.turns(now)
    own = _rank(run, turns)
    return sum(_rank(other, turns) < own for other in planner.queued.values())


def _rank(run: QueuedRun, turns: Turns) -> tuple[int, float, float, datetime, RunId]:
    return (
        -run.priority,
        turns.team_score(run.team),
        turns.user_score(run.team, run.user),
        run.submitted_at,
        run.run_id,
    )


def _about_running(attempt: RunningAttempt, now: datetime) -> list[str]:
    if attempt.state is AttemptState.PAUSED:
        kept = f"attempt {attempt.attempt} is paused on node {attempt.node_id} and keeps its place there"
        return [kept, how_to_resume(attempt.run_id)]
    state = "is being stopped" if attempt.is_leaving else "runs"
    where = f"attempt {attempt.attempt} {state} on node {attempt.node_id} since {_span(now - attempt.started_at)}"
    loan = ["it uses capacity that other teams lend and may be asked to leave"] if attempt.borrowed else []
    return [where, *loan]


def _decision(run: QueuedRun, plan: Plan) -> str:
    for admission in plan.admissions:
        if admission.run_id == run.run_id:
            return f"it starts now on node {admission.node_id}"
    return plan.waiting[run.run_id].sentence()


def _about_line(run: QueuedRun, planner: Planner, now: datetime) -> str:
    ahead = position(run, planner, now=now)
    place = "it is first in line" if ahead == 0 else f"{ahead} of {len(planner.queued)} waiting runs come before it"
    return f"{place}: priority {run.priority.label}, waiting since {_span(now - run.submitted_at)}"


def _about_overtaking(run: QueuedRun, planner: Planner) -> list[str]:
    if not run.passed_over:
        return []
    patience = planner.settings.patience
    after = "a node is held back for it" if run.passed_over >= patience else f"after {patience} a node is held back"
    gpus = in_people_units(GPU, required_amount(run.resources)[GPU])
    return [f"runs behind it started in {run.passed_over} rounds while its {gpus:g} GPUs were not free; {after}"]


def _next_moment(
    planner: Planner, now: datetime, typical: timedelta
) -> tuple[datetime, Sequence[PlanningChange]] | None:
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
