"""Keeps the decayed use that the policy is fed, for teams and for users."""

from __future__ import annotations

from mosaic.ids import TeamName, UserName
from mosaic_scheduler.domain.snapshot import PolicySettings, Usage
from mosaic_simulator.fleet import Fleet
from mosaic_simulator.life import Life, moment
from mosaic_simulator.meters import ShareMeter


class UsageMeter:
    """Told of starts and ends in order of time; a start is charged the policy's entry penalty."""

    def __init__(self, fleet: Fleet, settings: PolicySettings) -> None:
        half_life = settings.half_life.total_seconds()
        self._penalty = settings.entry_penalty.total_seconds()
        self._teams: ShareMeter[TeamName] = ShareMeter(fleet.capacity, half_life)
        self._users: ShareMeter[tuple[TeamName, UserName]] = ShareMeter(fleet.capacity, half_life)

    def started(self, life: Life, at: float) -> None:
        """Note that an attempt took its lease."""
        self._change(life, 1, at)
        self._teams.charge(life.run.team, life.held, self._penalty)
        self._users.charge((life.run.team, life.run.user), life.held, self._penalty)

    def ended(self, life: Life, at: float) -> None:
        """Note that an attempt gave its lease back."""
        self._change(life, -1, at)

    def fold(self, at: float) -> Usage:
        """Return the use up to the moment *at*."""
        return Usage(as_of=moment(at), teams=self._teams.shares(at), users=self._users.shares(at))

    def _change(self, life: Life, sign: int, at: float) -> None:
        self._teams.change(life.run.team, life.held, sign, at)
        self._users.change((life.run.team, life.run.user), life.held, sign, at)
