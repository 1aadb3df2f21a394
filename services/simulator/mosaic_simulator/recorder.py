"""Follows a simulation and writes its recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from mosaic.ids import RunId, TeamName
from mosaic_scheduler.domain.reasons import Reason
from mosaic_simulator.fleet import Fleet
from mosaic_simulator.life import Life
from mosaic_simulator.meters import Integral, ShareMeter
from mosaic_simulator.recording import Ending, Outcome, Recording, Sample
from mosaic_simulator.trace import Trace


class Recorder:
    """Told of every change in order of time; `finish` returns the recording."""

    def __init__(self, trace: Trace, fleet: Fleet, *, half_life: float, samples: int) -> None:
        self._horizon = trace.horizon_seconds
        self._up = Integral(self._horizon)
        self._held = Integral(self._horizon)
        self._lost_gpu_seconds = 0.0
        self._weights = {team.name: team.weight for team in fleet.teams}
        self._shares: ShareMeter[TeamName] = ShareMeter(fleet.capacity, half_life)
        self._waiting: Counter[TeamName] = Counter({team.name: 0 for team in fleet.teams})
        self._idle: set[TeamName] = set()
        self._last_waiting: Mapping[RunId, Reason] = {}
        self._outcomes: list[Outcome] = []
        self._samples: list[Sample] = []
        self._sample_every = max(self._horizon / samples, 1.0)
        self._next_sample = self._sample_every
        self._rounds = 0
        self._up.change(fleet.gpu_count, 0.0)

    def advance(self, to: float) -> None:
        """Take the samples that fall before the moment *to*."""
        while self._next_sample <= to:
            self._take_sample(self._next_sample)
            self._next_sample += self._sample_every

    def gpus_up(self, by: float, at: float) -> None:
        """Note that GPUs came (positive) or failed (negative)."""
        self._up.change(by, at)

    def queued(self, life: Life) -> None:
        """Note that a run waits."""
        self._waiting[life.run.team] += 1

    def started(self, life: Life, at: float) -> None:
        """Note that an attempt took its lease."""
        self._waiting[life.run.team] -= 1
        self._hold(life, 1, at)

    def released(self, life: Life, at: float) -> None:
        """Note that an attempt holds its lease no longer."""
        self._hold(life, -1, at)

    def lost(self, life: Life, seconds: float, at: float) -> None:
        """Note work that has to be done again."""
        if at <= self._horizon:
            self._lost_gpu_seconds += seconds * life.run.gpus

    def ended(self, life: Life, ending: Ending, at: float | None) -> None:
        """Note that a run will never be heard of again."""
        self._outcomes.append(life.outcome(ending, at))

    def round(self, waiting: Mapping[RunId, Reason]) -> None:
        """Note one scheduling round and why runs wait after it."""
        self._rounds += 1
        self._last_waiting = waiting
        self._idle.update(team for team, count in self._waiting.items() if not count)

    def finish(self, policy: str, at: float) -> Recording:
        """Return the recording of everything up to the moment *at*."""
        self.advance(at)
        self._up.settle(self._horizon)
        self._held.settle(self._horizon)
        return Recording(
            policy=policy,
            outcomes=tuple(sorted(self._outcomes, key=lambda outcome: (outcome.run.at, outcome.run.run_id))),
            samples=tuple(self._samples),
            horizon=self._horizon,
            gpu_seconds_up=self._up.area,
            gpu_seconds_held=self._held.area,
            gpu_seconds_lost=self._lost_gpu_seconds,
            rounds=self._rounds,
        )

    def _hold(self, life: Life, sign: int, at: float) -> None:
        self._held.change(sign * life.held[2], at)
        self._shares.change(life.run.team, life.held, sign, at)

    def _take_sample(self, at: float) -> None:
        codes = Counter(reason.code.value for reason in self._last_waiting.values())
        self._samples.append(
            Sample(
                at=at,
                gpus_up=self._up.level,
                gpus_used=self._shares.gpus_held(),
                waiting=dict(self._waiting),
                shares={team: use / self._weights[team] for team, use in self._shares.shares(at).items()},
                backlogged=frozenset(team for team in self._waiting if team not in self._idle),
                reasons=dict(codes),
            )
        )
        self._idle = {team for team, count in self._waiting.items() if not count}
