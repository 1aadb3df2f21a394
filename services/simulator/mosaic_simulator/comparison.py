"""Several policies on one trace, and what a team's waits would be without the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mosaic.ids import TeamName
from mosaic_scheduler.domain.planner import Planner
from mosaic_scheduler.domain.snapshot import PolicySettings
from mosaic_simulator.baselines import BASELINES
from mosaic_simulator.engine import PolicyFactory, simulate
from mosaic_simulator.fleet import Fleet
from mosaic_simulator.measures import Measures, Waits, measure
from mosaic_simulator.options import SimulationOptions
from mosaic_simulator.recording import Recording
from mosaic_simulator.trace import Trace

#: The name our own policy goes by.
OURS = "mosaic"

#: Everything a trace can be played against, ours first.
POLICIES: Mapping[str, PolicyFactory] = MappingProxyType({OURS: Planner, **BASELINES})


@dataclass(frozen=True)
class Scenario:
    """One trace on one fleet under one set of settings."""

    trace: Trace
    fleet: Fleet
    settings: PolicySettings = PolicySettings()
    options: SimulationOptions = SimulationOptions()

    def play(self, policy: str = OURS) -> Result:
        """Play the trace against the policy called *policy*."""
        recording = simulate(
            self.trace,
            self.fleet,
            POLICIES[policy],
            name=policy,
            settings=self.settings,
            options=self.options,
        )
        half_life = self.settings.half_life.total_seconds()
        return Result(recording, measure(recording, self.fleet, half_life=half_life))

    def alone(self, team: TeamName) -> Scenario:
        """Return what *team* would have alone on its quota: nobody else submits, and it borrows nothing."""
        return Scenario(self.trace.of_team(team), self.fleet.without_borrowing(team), self.settings, self.options)


@dataclass(frozen=True)
class Result:
    """What one policy did and how it is judged."""

    recording: Recording
    measures: Measures


@dataclass(frozen=True, slots=True)
class Isolation:
    """A team's waits among the others, beside those it has alone on its quota."""

    team: TeamName
    together: Waits
    alone: Waits
    #: Waits below this are the granularity of rounds, not of sharing.
    floor_seconds: float

    @property
    def p95_ratio(self) -> float:
        """How many times longer the p95 wait became because of the others."""
        return max(self.together.p95, self.floor_seconds) / max(self.alone.p95, self.floor_seconds)


def compare(scenario: Scenario, baselines: Iterable[str]) -> tuple[Result, ...]:
    """Play the scenario against our policy and each of *baselines*, in that order."""
    return tuple(scenario.play(policy) for policy in (OURS, *baselines))


def isolation(scenario: Scenario, result: Result, teams: Iterable[TeamName]) -> tuple[Isolation, ...]:
    """Return how much the others cost each of *teams* in *result*, by playing each alone on its quota."""
    floor = scenario.options.round_seconds
    return tuple(
        Isolation(team, result.measures.team_waits[team], scenario.alone(team).play().measures.waits, floor)
        for team in teams
    )
