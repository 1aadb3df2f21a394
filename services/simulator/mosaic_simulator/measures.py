"""What a recording says about the policy: used, waited, shared, thrown away, starved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from mosaic.ids import RunId, TeamName
from mosaic_simulator.fair_wait import fair_waits
from mosaic_simulator.fleet import Fleet
from mosaic_simulator.recording import Ending, Outcome, Recording, Sample
from mosaic_simulator.statistics import jain, mean, percentile
from mosaic_simulator.trace import TracedRun


@dataclass(frozen=True, slots=True)
class Waits:
    """How long runs waited, in seconds."""

    runs: int
    p50: float
    p95: float
    p99: float
    longest: float

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Waits:
        """Measure the waits of *outcomes*; a run that never started has waited until the end."""
        waits = sorted(outcome.waited for outcome in outcomes)
        p50, p95, p99 = (percentile(waits, percent) for percent in (50, 95, 99))
        return cls(len(waits), p50, p95, p99, waits[-1] if waits else 0.0)


@dataclass(frozen=True, slots=True)
class Starvation:
    """The run that waited longest, measured against what would have been fair."""

    run_id: RunId
    team: TeamName
    waited: float
    fair_wait: float

    @property
    def ratio(self) -> float:
        """Its wait as a multiple of the fair one."""
        return self.waited / self.fair_wait


@dataclass(frozen=True, slots=True)
class Measures:
    """One policy on one trace, in numbers."""

    policy: str
    #: Parts of the GPU time that was there while runs were submitted: held, and held by work that was kept.
    utilisation: float
    goodput: float
    #: Jain index of the teams' decayed shares while all of them had runs waiting; None if that never was.
    jain: float | None
    jain_worst: float | None
    waits: Waits
    team_waits: dict[TeamName, Waits]
    starvation: Starvation | None
    preemptions: int
    steps_thrown_away: float
    gpu_hours_preempted: float
    gpu_hours_failed: float
    finished: int
    over_time_limit: int
    never_started: int
    rounds: int


def measure(recording: Recording, fleet: Fleet, *, half_life: float) -> Measures:
    """Sum *recording* up; *half_life* (seconds) is how long a team must have waited to count as saturated."""
    outcomes = recording.outcomes
    fairness = saturated_fairness(recording.samples, {each.run.team for each in outcomes}, half_life)
    held, lost = recording.gpu_seconds_held, recording.gpu_seconds_lost
    up = recording.gpu_seconds_up or 1.0
    endings = [outcome.ending for outcome in outcomes]
    return Measures(
        policy=recording.policy,
        utilisation=held / up,
        goodput=(held - lost) / up,
        jain=mean(fairness) if fairness else None,
        jain_worst=min(fairness, default=None),
        waits=Waits.of(outcomes),
        team_waits=_waits_by_team(outcomes),
        starvation=_starvation(outcomes, fleet),
        preemptions=sum(outcome.preemptions for outcome in outcomes),
        steps_thrown_away=sum(outcome.steps_thrown_away for outcome in outcomes),
        gpu_hours_preempted=sum(each.lost_to_preemption * each.run.gpus for each in outcomes) / 3600,
        gpu_hours_failed=sum(each.lost_to_failures * each.run.gpus for each in outcomes) / 3600,
        finished=endings.count(Ending.FINISHED),
        over_time_limit=endings.count(Ending.TIME_LIMIT),
        never_started=endings.count(Ending.NEVER),
        rounds=recording.rounds,
    )


def saturated_fairness(samples: Sequence[Sample], teams: Collection[TeamName], half_life: float) -> list[float]:
    """Return Jain's index at every sample at which all of *teams* are saturated.

    A team is saturated once it has had runs waiting without a pause for *half_life* seconds: before
    that, its decayed share still speaks of a time when it did not ask for more.
    """
    waiting_since: dict[TeamName, float] = {}
    found = []
    for sample in samples:
        waiting_since = {team: waiting_since.get(team, sample.at) for team in sample.backlogged}
        if all(sample.at - waiting_since.get(team, sample.at) >= half_life for team in teams):
            found.append(jain(sample.shares.get(team, 0.0) for team in teams))
    return found


def _waits_by_team(outcomes: Iterable[Outcome]) -> dict[TeamName, Waits]:
    by_team: dict[TeamName, list[Outcome]] = {}
    for outcome in outcomes:
        by_team.setdefault(outcome.run.team, []).append(outcome)
    return {team: Waits.of(by_team[team]) for team in sorted(by_team)}


def _starvation(outcomes: Sequence[Outcome], fleet: Fleet) -> Starvation | None:
    """Find the worst wait over fair wait.

    The fair wait is that of the fluid (`fair_wait`) plus the mean length of a run: whoever shares
    machines with others waits, at times, for one of them to end.
    """
    if not outcomes:
        return None
    runs = [outcome.run for outcome in outcomes]
    one_run = mean([run.work_seconds for run in runs])
    fair = fair_waits(runs, _parts(runs, fleet), lambda run: dominant_share(run, fleet))
    worst = max(outcomes, key=lambda each: each.waited / (fair[each.run.run_id] + one_run))
    run = worst.run
    return Starvation(run.run_id, run.team, worst.waited, fair[run.run_id] + one_run)


def _parts(runs: Iterable[TracedRun], fleet: Fleet) -> dict[TeamName, float]:
    """Return the part of the fleet due to each team that submits anything."""
    asking = {run.team for run in runs}
    weights = {team.name: team.weight for team in fleet.teams if team.name in asking}
    return {team: weight / sum(weights.values()) for team, weight in weights.items()}


def dominant_share(run: TracedRun, fleet: Fleet) -> float:
    """Return the largest part of the fleet's cpus, memory or GPUs that *run* holds."""
    needs = (run.resources.cpus, float(run.resources.memory_mb), run.gpus)
    return max(need / there if there else 0.0 for need, there in zip(needs, fleet.capacity, strict=True))
