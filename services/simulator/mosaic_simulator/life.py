"""One traced run on its way through the simulation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone

from mosaic.ids import RunId
from mosaic.lifecycle import AttemptState
from mosaic_scheduler.domain.plan import Admission
from mosaic_scheduler.domain.run import QueuedRun, ResumeGrade, RunningAttempt
from mosaic_simulator.meters import Resources
from mosaic_simulator.recording import Ending, Outcome
from mosaic_simulator.trace import TracedRun

#: Event time zero. Any moment would do; a fixed one keeps plans equal from one simulation to the next.
EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)


def moment(seconds: float) -> datetime:
    """Return the date of an event time."""
    return EPOCH + timedelta(seconds=seconds)


@dataclass(slots=True)
class Life:
    """Where one run stands and what became of its time; all spans in seconds."""

    run: TracedRun
    queued: QueuedRun
    queued_since: float
    running: RunningAttempt | None = None
    started_at: float = 0.0
    #: Work behind its last checkpoint when the present attempt began.
    resumed_from: float = 0.0
    #: When the present attempt stopped working, because it was asked to or its node failed.
    stopped_at: float | None = None
    stopped_by_failure: bool = False
    beneficiary: RunId | None = None
    first_start: float | None = None
    waited: float = 0.0
    preemptions: int = 0
    lost_to_preemption: float = 0.0
    lost_to_failures: float = 0.0
    held: Resources = field(default=(0.0, 0.0, 0.0))

    @classmethod
    def submitted(cls, run: TracedRun) -> Life:
        """Begin with *run* as it is submitted."""
        wall = run.max_wall_seconds
        queued = QueuedRun(
            run_id=run.run_id,
            team=run.team,
            user=run.user,
            worker=run.worker,
            resources=run.resources,
            submitted_at=moment(run.at),
            priority=run.priority,
            max_wall=None if wall is None else timedelta(seconds=wall),
            resume_grade=run.resume_grade,
        )
        return cls(run, queued, queued_since=run.at)

    @property
    def attempt(self) -> int:
        """The number of the present or next attempt."""
        return self.queued.attempt

    def is_working(self, attempt: int) -> bool:
        """Tell whether *attempt* is the present one and has not been told to stop."""
        return self.running is not None and attempt == self.attempt and self.stopped_at is None

    def start(self, admission: Admission, at: float) -> RunningAttempt:
        """Begin the attempt that *admission* decided."""
        self.waited += at - self.queued_since
        self.first_start = at if self.first_start is None else self.first_start
        self.started_at, self.stopped_at = at, None
        lease = admission.lease
        self.held = (lease.cpus, float(lease.memory_mb), lease.gpu_total)
        self.running = RunningAttempt(
            run_id=self.run.run_id,
            attempt=admission.attempt,
            team=self.run.team,
            user=self.run.user,
            worker=self.run.worker,
            agent_id=admission.agent_id,
            node_id=admission.node_id,
            lease=lease,
            started_at=moment(at),
            priority=self.run.priority,
            ends_by=admission.ends_by,
            resume_grade=self.run.resume_grade,
            borrowed=admission.borrowed,
        )
        return self.running

    def work_left(self) -> float:
        """Return the work between the last checkpoint and the end of the run."""
        return self.run.work_seconds - self.resumed_from

    def checkpointed(self, at: float, start_seconds: float) -> RunningAttempt | None:
        """Return the attempt with its latest checkpoint, None when it has saved none yet."""
        saved = self._kept(at, start_seconds) - self.resumed_from
        if self.running is None or saved <= 0:
            return None
        saved_at = moment(self.started_at + start_seconds + saved)
        self.running = replace(self.running, last_checkpoint_at=saved_at)
        return self.running

    def stop(self, at: float, start_seconds: float, *, beneficiary: RunId | None) -> float:
        """End the work of the present attempt and return the seconds of it that are lost.

        With a *beneficiary* it was preempted; without, its node failed.
        """
        kept = self._kept(at, start_seconds)
        lost = self._done(at, start_seconds) - kept
        self.resumed_from, self.stopped_at = kept, at
        self.beneficiary, self.stopped_by_failure = beneficiary, beneficiary is None
        if beneficiary is None:
            self.lost_to_failures += lost
        else:
            self.preemptions += 1
            self.lost_to_preemption += lost
        return lost

    def leaving(self) -> RunningAttempt:
        """Return the present attempt as one that was asked to stop."""
        assert self.running is not None
        self.running = replace(self.running, state=AttemptState.STOPPING)
        return self.running

    def requeue(self, at: float) -> QueuedRun:
        """Queue the next attempt; the run keeps its age and remembers for whom it had to leave."""
        evicted_for = self.queued.evicted_for | ({self.beneficiary} if self.beneficiary else set())
        self.queued = replace(self.queued, attempt=self.attempt + 1, passed_over=0, evicted_for=frozenset(evicted_for))
        self.running, self.queued_since = None, at
        return self.queued

    def overtaken(self) -> QueuedRun:
        """Count one more round in which a run behind it started."""
        self.queued = replace(self.queued, passed_over=self.queued.passed_over + 1)
        return self.queued

    def outcome(self, ending: Ending, at: float | None) -> Outcome:
        """Sum the life up."""
        return Outcome(
            run=self.run,
            ending=ending,
            waited=self.waited,
            first_start=self.first_start,
            ended=at,
            preemptions=self.preemptions,
            lost_to_preemption=self.lost_to_preemption,
            lost_to_failures=self.lost_to_failures,
        )

    def _done(self, at: float, start_seconds: float) -> float:
        return self.resumed_from + max(at - self.started_at - start_seconds, 0.0)

    def _kept(self, at: float, start_seconds: float) -> float:
        if self.run.resume_grade is ResumeGrade.RESTARTS:
            return 0.0
        return self.run.kept_work(self._done(at, start_seconds))
