"""Meters that follow the use of the fleet through event time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mosaic.ids import TeamName

#: cpus, memory_mb, gpus: what a lease holds and what shares are taken of.
Resources = tuple[float, float, float]


class Integral:
    """The area under a level that changes in steps, cut off at a horizon."""

    def __init__(self, horizon: float) -> None:
        self.level = 0.0
        self.area = 0.0
        self._horizon = horizon
        self._since = 0.0

    def change(self, by: float, at: float) -> None:
        """Raise the level by *by* from the moment *at* on."""
        self.settle(at)
        self.level += by

    def settle(self, at: float) -> None:
        """Count the area up to the moment *at*."""
        until = min(at, self._horizon)
        if until > self._since:
            self.area += self.level * (until - self._since)
            self._since = until


@dataclass(slots=True)
class _TeamUse:
    held: list[float]
    share: float = 0.0
    decayed: float = 0.0
    since: float = 0.0


class ShareMeter:
    """The decayed dominant share of each team, measured apart from the policy that is judged by it."""

    def __init__(self, weights: Mapping[TeamName, float], fleet: Resources, half_life: float) -> None:
        """Start with nothing used; *fleet* is what there is, *half_life* in seconds."""
        self._weights = dict(weights)
        self._fleet = fleet
        self._half_life = half_life
        self._teams = {team: _TeamUse([0.0, 0.0, 0.0]) for team in weights}

    def change(self, team: TeamName, by: Resources, sign: int, at: float) -> None:
        """Add (*sign* 1) or remove (-1) a lease of *team* at the moment *at*."""
        use = self._teams[team]
        self._settle(use, at)
        held = use.held
        for index in (0, 1, 2):
            held[index] += sign * by[index]
        use.share = max(held[i] / self._fleet[i] if self._fleet[i] else 0.0 for i in (0, 1, 2))

    def gpus_held(self) -> dict[TeamName, float]:
        """Return the GPUs each team holds now."""
        return {team: use.held[2] for team, use in self._teams.items()}

    def shares(self, at: float) -> dict[TeamName, float]:
        """Return each team's decayed share over its weight, as a mean share of the recent past."""
        for use in self._teams.values():
            self._settle(use, at)
        return {team: use.decayed / self._weights[team] for team, use in self._teams.items()}

    def _settle(self, use: _TeamUse, at: float) -> None:
        """Fold the time since the last change: the past fades, the present share takes its place."""
        if at > use.since:
            fade = 0.5 ** ((at - use.since) / self._half_life)
            use.decayed = use.decayed * fade + use.share * (1.0 - fade)
            use.since = at


def total(resources: Iterable[Resources]) -> Resources:
    """Return the sum of *resources*, kind by kind."""
    cpus = memory_mb = gpus = 0.0
    for each in resources:
        cpus, memory_mb, gpus = cpus + each[0], memory_mb + each[1], gpus + each[2]
    return cpus, memory_mb, gpus
