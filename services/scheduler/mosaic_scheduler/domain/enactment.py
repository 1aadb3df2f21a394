"""Making a plan true: the changes it stands for, refused when they cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from mosaic.errors import Refused
from mosaic.ids import RunId
from mosaic.lifecycle import AttemptState
from mosaic_scheduler.domain.changes import AttemptHolds, PlanningChange, RunQueued, changed
from mosaic_scheduler.domain.plan import Admission, Plan
from mosaic_scheduler.domain.run import QueuedRun, RunningAttempt
from mosaic_scheduler.domain.snapshot import Snapshot


class PlanOutdated(Refused):
    """The plan speaks of runs that no longer stand where it found them."""

    code = "plan_outdated"

    def __init__(self, run_id: RunId, why: str) -> None:
        self.run_id = run_id
        super().__init__(f"the plan no longer holds for run {run_id}: {why}; plan again")


def enacted(snapshot: Snapshot, plan: Plan, *, now: datetime) -> Snapshot:
    """Return *snapshot* once *plan* is carried out: starts hold leases, victims are leaving.

    Raises:
        PlanOutdated: the plan was made for another snapshot, or has been carried out already.
    """
    queued = {run.run_id: run for run in snapshot.queued}
    running = {attempt.run_id: attempt for attempt in snapshot.running}
    return changed(snapshot, changes_of(plan, queued=queued, running=running, now=now))


def changes_of(
    plan: Plan,
    *,
    queued: Mapping[RunId, QueuedRun],
    running: Mapping[RunId, RunningAttempt],
    now: datetime,
) -> list[PlanningChange]:
    """Return what becomes different when *plan* is carried out over those runs.

    Raises:
        PlanOutdated: a run to start does not wait, or an attempt to stop is not there.
    """
    starts = [AttemptHolds(_attempt(queued, running, admission, now)) for admission in plan.admissions]
    stops = [AttemptHolds(_leaving(running, *stop)) for stop in _stops(plan)]
    overtaken = [
        RunQueued(replace(queued[run_id], passed_over=queued[run_id].passed_over + 1))
        for run_id in plan.overtaken
        if run_id in queued
    ]
    return [*starts, *stops, *overtaken]


def _stops(plan: Plan) -> Iterator[tuple[RunId, int]]:
    victims = {(victim.run_id, victim.attempt) for victim in plan.preemptions}
    overdue = {(expiry.run_id, expiry.attempt) for expiry in plan.expiries}
    yield from sorted(victims | overdue)


def _attempt(
    queued: Mapping[RunId, QueuedRun],
    running: Mapping[RunId, RunningAttempt],
    admission: Admission,
    now: datetime,
) -> RunningAttempt:
    run = queued.get(admission.run_id)
    if run is None or admission.run_id in running:
        raise PlanOutdated(admission.run_id, "it does not wait any more")
    if run.attempt != admission.attempt:
        raise PlanOutdated(run.run_id, f"its next attempt is {run.attempt}, not {admission.attempt}")
    return RunningAttempt(
        run_id=run.run_id,
        attempt=run.attempt,
        team=run.team,
        user=run.user,
        worker=run.worker,
        agent_id=admission.agent_id,
        node_id=admission.node_id,
        lease=admission.lease,
        started_at=now,
        priority=run.priority,
        ends_by=admission.ends_by,
        resume_grade=run.resume_grade,
        borrowed=admission.borrowed,
        state=AttemptState.ADMITTED,
    )


def _leaving(running: Mapping[RunId, RunningAttempt], run_id: RunId, attempt: int) -> RunningAttempt:
    found = running.get(run_id)
    if found is None or found.attempt != attempt:
        raise PlanOutdated(run_id, f"its attempt {attempt} is not running")
    if found.is_leaving:
        raise PlanOutdated(run_id, f"its attempt {attempt} has been asked to leave already")
    return replace(found, state=AttemptState.STOPPING)
