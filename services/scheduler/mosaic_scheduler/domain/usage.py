"""Recent use of the fleet, decayed exponentially: who has had much is served later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from mosaic.ids import TeamName, UserName
from mosaic_scheduler.domain.snapshot import Usage

#: Below this an old value says nothing any more and is dropped.
_NEGLIGIBLE = 1e-9

KeyT = TypeVar("KeyT")


def kept_after(span: timedelta, half_life: timedelta) -> float:
    """Return which part of past use still counts after *span*."""
    return float(0.5 ** (max(span, timedelta()) / half_life))


def fold(
    usage: Usage,
    *,
    teams: Mapping[TeamName, float],
    users: Mapping[tuple[TeamName, UserName], float],
    now: datetime,
    half_life: timedelta,
) -> Usage:
    """Bring *usage* up to *now*, given the dominant shares held ever since it was last folded."""
    kept = kept_after(now - usage.as_of, half_life)
    return Usage(now, _folded(usage.teams, teams, kept), _folded(usage.users, users, kept))


def charge_starts(
    usage: Usage,
    starts: Iterable[tuple[TeamName, UserName, float]],
    *,
    entry_penalty: timedelta,
    half_life: timedelta,
) -> Usage:
    """Charge each start, a team, a user and a dominant share, as if it had already run *entry_penalty*."""
    part = entry_part(entry_penalty, half_life)
    teams, users = dict(usage.teams), dict(usage.users)
    for team, user, share in starts:
        teams[team] = teams.get(team, 0.0) + part * share
        users[team, user] = users.get((team, user), 0.0) + part * share
    return Usage(usage.as_of, teams, users)


def entry_part(entry_penalty: timedelta, half_life: timedelta) -> float:
    """Return what a start is charged, as a part of the share it takes."""
    return 1.0 - kept_after(entry_penalty, half_life)


def _folded(past: Mapping[KeyT, float], held: Mapping[KeyT, float], kept: float) -> dict[KeyT, float]:
    present = {key: past.get(key, 0.0) * kept + held.get(key, 0.0) * (1.0 - kept) for key in {**past, **held}}
    return {key: value for key, value in present.items() if value > _NEGLIGIBLE}
