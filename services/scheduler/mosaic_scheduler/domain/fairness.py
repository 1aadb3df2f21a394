"""Whose turn it is: weighted dominant share, held now and used lately."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from heapq import heapify, heappop, heappush, heapreplace

from mosaic.ids import TeamName, UserName
from mosaic_scheduler.domain.amount import Amount, dominant
from mosaic_scheduler.domain.line import Group, Head
from mosaic_scheduler.domain.quota import Ledger
from mosaic_scheduler.domain.snapshot import PolicySettings, Usage
from mosaic_scheduler.domain.usage import entry_part, kept_after


class UserLine:
    """The users of one team that still have groups to try, lowest score first, then oldest run."""

    __slots__ = ("_groups", "_users")

    def __init__(self) -> None:
        self._users: list[tuple[float, Head, UserName]] = []
        self._groups: dict[UserName, list[tuple[Head, Group]]] = {}

    def add(self, score: float, user: UserName, groups: list[tuple[Head, Group]]) -> None:
        """Let *user* stand in line with *groups*, each with its oldest run."""
        heapify(groups)
        self._groups[user] = groups
        heappush(self._users, (score, groups[0][0], user))

    def first(self) -> Group | None:
        """Return the group whose turn it is; None when nobody is left."""
        return self._groups[self._users[0][2]][0][1] if self._users else None

    def head(self) -> Head:
        """Return the run whose turn it is."""
        return self._users[0][1]

    def started(self, score: float, head: Head | None) -> None:
        """Note the user's new *score* and the next run of the group, None when it has no more."""
        user = self._users[0][2]
        groups = self._groups[user]
        if head is not None:
            heapreplace(groups, (head, groups[0][1]))
        else:
            heappop(groups)
        if groups:
            heapreplace(self._users, (score, groups[0][0], user))
        else:
            heappop(self._users)

    def skip(self) -> None:
        """Try the first group no more in this pass."""
        groups = self._groups[self._users[0][2]]
        heappop(groups)
        if not groups:
            heappop(self._users)


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
        self._user_scores: dict[tuple[TeamName, UserName], float] = {}
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
        known = self._user_scores.get(key)
        if known is None:
            held = dominant(self._ledger.user_account(team, user).held, self._capacity)
            known = held + self._usage.users.get(key, 0.0) * self._kept + self._user_penalties[key]
            self._user_scores[key] = known
        return known

    def holds_changed(self, team: TeamName, user: UserName) -> None:
        """Reckon the score of *user* anew when it is next asked for."""
        self._user_scores.pop((team, user), None)

    def started(self, team: TeamName, user: UserName, amount: Amount) -> None:
        """Charge the entry penalty of a run that starts in this round."""
        penalty = self._entry_part * dominant(amount, self._capacity)
        self._team_penalties[team] += penalty
        self._user_penalties[team, user] += penalty
        self.holds_changed(team, user)
