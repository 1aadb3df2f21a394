"""What teams hold against what they are guaranteed: quota, lending, borrowing."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from mosaic.ids import TeamName, UserName
from mosaic.model.team import Team
from mosaic_scheduler.domain.amount import CPU, GPU, LABELS, MEMORY, RESOURCES, UNITS, Amount, in_people_units
from mosaic_scheduler.domain.reasons import Reason, ReasonCode

_NO_QUOTA: tuple[int | None, ...] = (None, None, None)


class Standing(Enum):
    """On whose account a run would start."""

    OWN = "own"  #: within its team's quota, or its team has none to exceed
    BORROWED = "borrowed"  #: beyond it


class Account:
    """What a team or a user holds."""

    __slots__ = ("held", "running")

    def __init__(self) -> None:
        self.held = [0, 0, 0]
        self.running = 0


class Ledger:
    """Who holds how much, and what is left to lend.

    What no team's quota claims belongs to nobody and is lent like idle quota. Teams without a
    quota live on that too, without a guarantee.
    """

    def __init__(self, capacity: list[int]) -> None:
        self.teams: dict[TeamName, Team] = {}
        self.accounts: dict[TeamName, Account] = {}
        self.users: dict[tuple[TeamName, UserName], Account] = {}
        self._capacity = capacity
        self._quotas: dict[TeamName, tuple[int | None, ...]] = {}
        #: For each resource, what teams claim or exceed, less what they lend: see `spare`.
        self._balance = [0, 0, 0]
        # Answers that hold until something changes; most rounds ask for the same few many times.
        self._largest: dict[int, tuple[int, TeamName]] = {}
        self._refusals: dict[tuple[TeamName, Amount, bool], Reason | None] = {}

    def put_team(self, team: Team) -> None:
        """Add *team*, or replace what was known of it."""
        self._reweigh(team.name, -1)
        self.teams[team.name] = team
        self._quotas[team.name] = _exact_quota(team)
        self._reweigh(team.name, 1)

    def forget_answers(self) -> None:
        """Answer anew from now on: an account, or the capacity of the fleet, is different."""
        self._largest.clear()
        self._refusals.clear()

    def charge(self, team: TeamName, user: UserName, amount: Amount, sign: int = 1) -> None:
        """Book *amount* on the accounts of *team* and *user*; a *sign* of -1 takes it back."""
        account = self.account(team)
        self._reweigh(team, -1)
        _book(account, amount, sign)
        self._reweigh(team, 1)
        _book(self.user_account(team, user), amount, sign)

    def load(self, teams: Iterable[Team], held: Iterable[tuple[TeamName, UserName, Amount]]) -> None:
        """Fill an empty ledger at once."""
        for team, user, amount in held:
            _book(self.user_account(team, user), amount, 1)
        for (team, _), account in self.users.items():
            total = self.account(team)
            _book(total, account.held, 1)
            total.running += account.running - 1
        for name in self.accounts:
            self._reweigh(name, 1)
        for tenant in teams:
            self.put_team(tenant)

    def account(self, team: TeamName) -> Account:
        """Return what *team* holds."""
        known = self.accounts.get(team)
        if known is None:
            known = self.accounts[team] = Account()
        return known

    def user_account(self, team: TeamName, user: UserName) -> Account:
        """Return what *user* of *team* holds."""
        known = self.users.get((team, user))
        if known is None:
            known = self.users[team, user] = Account()
        return known

    def quota(self, team: TeamName, resource: int) -> int | None:
        """Return what *team* is guaranteed of *resource*; None when it has no quota."""
        quotas = self._quotas.get(team)
        return None if quotas is None else quotas[resource]

    def spare(self, resource: int) -> int:
        """Return how much of *resource* could be borrowed: idle quota that is lent, what nobody claims."""
        return self._capacity[resource] + self._balance[resource]

    def overdraft(self, team: TeamName, resource: int, extra: int = 0) -> int:
        """Return by how much *team* would exceed its quota of *resource* with *extra* more."""
        quota = self.quota(team, resource)
        return 0 if quota is None else max(0, self.account(team).held[resource] + extra - quota)

    def standing(self, team: TeamName, amount: Amount | list[int]) -> Standing:
        """Tell on whose account *amount* more would be for *team*."""
        quotas = self._quotas.get(team)
        if quotas is None:
            return Standing.OWN
        held = self.account(team).held
        for quota, holds, extra in zip(quotas, held, amount, strict=True):
            if quota is not None and extra > 0 and holds + extra > quota:
                return Standing.BORROWED
        return Standing.OWN

    def is_within_whole_quota(self, team: TeamName, amount: Amount) -> bool:
        """Tell whether *amount* alone would stay within the quota of *team*."""
        quotas = self._quotas.get(team, _NO_QUOTA)
        return all(quota is None or extra <= quota for quota, extra in zip(quotas, amount, strict=True))

    def is_guaranteed(self, team: TeamName) -> bool:
        """Tell whether *team* has a quota of anything."""
        return any(quota is not None for quota in self._quotas.get(team, ()))

    def why_not_borrow(self, team: TeamName, amount: Amount, *, resumable: bool) -> Reason | None:
        """Say why *team* may not borrow what *amount* exceeds its quota by; None when it may."""
        key = (team, amount, resumable)
        try:
            return self._refusals[key]
        except KeyError:
            refusal = self._refusals[key] = self._why_not_borrow(team, amount, resumable)
            return refusal

    def is_overdrawn(self, team: TeamName, amount: Amount) -> bool:
        """Tell whether *team* already exceeds its quota of something that *amount* is of."""
        quotas = self._quotas.get(team, _NO_QUOTA)
        held = self.account(team).held
        for quota, holds, asked in zip(quotas, held, amount, strict=True):
            if quota is not None and asked and holds > quota:
                return True
        return False

    def lent_out(self, team: TeamName, amount: Amount) -> Reason | None:
        """Name who uses idle quota of *team* that *amount* would need; None when nobody does."""
        for resource in RESOURCES:
            quota = self.quota(team, resource)
            if amount[resource] and quota is not None:
                held = self.account(team).held[resource]
                overdraft, borrower = self._largest_overdraft(resource)
                lent = min(overdraft, quota - held)
                if lent > 0:
                    facts = self._position(team, resource)
                    return Reason.of(
                        ReasonCode.LENT_OUT, **facts, lent=in_people_units(resource, lent), borrower=borrower
                    )
        return None

    def _why_not_borrow(self, team: TeamName, amount: Amount, resumable: bool) -> Reason | None:
        quotas, held = self._quotas[team], self.account(team).held
        for resource in RESOURCES:
            quota, extra = quotas[resource], amount[resource]
            if quota is not None and extra and held[resource] + extra > quota:
                reason = self._why_not_borrow_one(team, resource, extra, resumable)
                if reason is not None:
                    return reason
        return None

    def _why_not_borrow_one(self, team: TeamName, resource: int, extra: int, resumable: bool) -> Reason | None:
        limit = self.teams[team].borrowing_limit_gpus if resource == GPU else None
        if limit is not None and self.overdraft(team, resource, extra) > limit * UNITS[GPU]:
            return Reason.of(ReasonCode.BORROWING_LIMIT, **self._position(team, resource), limit=limit)
        if not resumable:
            return Reason.of(ReasonCode.LOAN_NOT_RECALLABLE, **self._position(team, resource))
        if self.spare(resource) + self._effect(team, resource, extra) < 0:
            lendable = in_people_units(resource, max(0, self.spare(resource)))
            return Reason.of(ReasonCode.QUOTA_USED, **self._position(team, resource), lendable=lendable)
        return None

    def _largest_overdraft(self, resource: int) -> tuple[int, TeamName]:
        known = self._largest.get(resource)
        if known is None:
            known = max((self.overdraft(name, resource), name) for name in self.accounts)
            self._largest[resource] = known
        return known

    def _position(self, team: TeamName, resource: int) -> dict[str, str | float]:
        quota = self.quota(team, resource) or 0
        held = self.account(team).held[resource]
        return {
            "team": team,
            "used": in_people_units(resource, held),
            "quota": in_people_units(resource, quota),
            "resource": LABELS[resource],
        }

    def _reweigh(self, team: TeamName, sign: int) -> None:
        held = self.account(team).held
        self.forget_answers()
        for resource in RESOURCES:
            self._balance[resource] += sign * self._weight(team, resource, held[resource])

    def _effect(self, team: TeamName, resource: int, extra: int) -> int:
        held = self.account(team).held[resource]
        return self._weight(team, resource, held + extra) - self._weight(team, resource, held)

    def _weight(self, team: TeamName, resource: int, held: int) -> int:
        quota = self.quota(team, resource)
        if quota is None:
            return -held
        idle = quota - held
        if idle <= 0:
            return idle - quota
        limit = self.teams[team].lending_limit_gpus if resource == GPU else None
        lends = idle if limit is None else min(idle, int(limit * UNITS[GPU]))
        return lends - quota


def _exact_quota(team: Team) -> tuple[int | None, ...]:
    limits: Iterable[float | None] = (team.quota.gpus, team.quota.cpus, team.quota.memory_mb)
    return tuple(None if limit is None else int(limit * unit) for limit, unit in zip(limits, UNITS, strict=True))


def _book(account: Account, amount: Amount | list[int], sign: int) -> None:
    held = account.held
    held[GPU] += sign * amount[GPU]
    held[CPU] += sign * amount[CPU]
    held[MEMORY] += sign * amount[MEMORY]
    account.running += sign
