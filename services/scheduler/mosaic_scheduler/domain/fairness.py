"""Whose turn it is: weighted dominant share, held now and used lately."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from mosaic.ids import TeamName, UserName
from mosaic_scheduler.domain.amount import Amount, dominant
from mosaic_scheduler.domain.quota import Ledger
from mosaic_scheduler.domain.snapshot import PolicySettings, Usage
from mosaic_scheduler.domain.usage import entry_part, kept_after


class Turns:
    """The order of teams and of users within a team, for one round; the lowest score is served first.

    A score is the dominant share held now plus the decayed average of the past. What starts in this
    round counts at once, with its entry penalty. A team's score is divided by its weight.
    """

    def __init__(
        self, ledger: Ledger, usage: Usage, settings: PolicySettings, capacity: list[int], now: datetime
    ) -> None:
        self._ledger = ledger
        self._usage = usage
        self._capacity = capacity
        self._kept = kept_after(now - usage.as_of, settings.half_life)
        self._entry_part = entry_part(settings.entry_penalty, settings.half_life)
        self._team_penalties: defaultdict[TeamName, float] = defaultdict(float)
        self._user_penalties: defaultdict[tuple[TeamName, UserName], float] = defaultdict(float)

    def team_score(self, name: TeamName) -> float:
        """Return how much of its due *name* has had."""
        team = self._ledger.teams.get(name)
        weight = team.weight if team is not None and team.weight > 0 else 1.0
        held = dominant(self._ledger.account(name).held, self._capacity)
        return (held + self._usage.teams.get(name, 0.0) * self._kept + self._team_penalties[name]) / weight

    def user_score(self, team: TeamName, user: UserName) -> float:
        """Return how much *user* has had; all users of a team are due the same."""
        key = (team, user)
        held = dominant(self._ledger.user_account(team, user).held, self._capacity)
        return held + self._usage.users.get(key, 0.0) * self._kept + self._user_penalties[key]

    def started(self, team: TeamName, user: UserName, amount: Amount) -> None:
        """Charge the entry penalty of a run that starts in this round."""
        penalty = self._entry_part * dominant(amount, self._capacity)
        self._team_penalties[team] += penalty
        self._user_penalties[team, user] += penalty
