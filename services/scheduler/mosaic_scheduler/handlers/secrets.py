"""Secrets of users and teams: set, listed by name, forgotten; no call returns a value."""

from __future__ import annotations

from mosaic.errors import Forbidden, NotFound
from mosaic.hosting.audit import by
from mosaic.hosting.rights import may_somewhere, require, visible_teams
from mosaic.ids import TeamName
from mosaic.model.identity import Caller, Permission
from mosaic.model.secret import Secret
from mosaic_scheduler.domain.secret import SecretOwner, check_secret
from mosaic_scheduler.ports import Clock, RunStore, Vault

_MOST = 1000


def set_secret(
    name: str, value: str, team: TeamName, *, caller: Caller, store: RunStore, vault: Vault, clock: Clock
) -> Secret:
    """Keep a secret of *team*, or of *caller* when no team is named.

    Raises:
        BadInput: name or value cannot be those of a secret.
        NotFound: they may not see the team.
        Forbidden: they may not change its secrets.
        Refused: there is no key to seal it with.
    """
    owner = _changeable(team, caller)
    check_secret(name, value)
    secret = Secret(name, team, caller.user, clock())
    with store.write() as work:
        if len(work.secrets(owner)) >= _MOST:
            raise Forbidden(caller.user, f"fewer than {_MOST} secrets", owner.key)
        replaced = work.put_secret(owner, secret, value, vault)
        facts = {"target": name, "team": team, "before": {"is_set": replaced}, "after": {"is_set": True}}
        work.audit(by(caller, "secrets:set", at=secret.updated_at, **facts))
    return secret


def visible(caller: Caller, *, store: RunStore) -> list[Secret]:
    """Return the secrets that runs of *caller* may name: their own, and those of their teams."""
    with store.read() as work:
        seen = visible_teams(caller, Permission.SECRETS_READ)
        teams = seen if seen is not None else {team.name for team in work.teams()} | set(caller.teams)
        owners = [SecretOwner(user=caller.user), *(SecretOwner(team=team) for team in sorted(teams))]
        return [secret for owner in owners for secret in work.secrets(owner)]


def delete_secret(name: str, team: TeamName, *, caller: Caller, store: RunStore, clock: Clock) -> None:
    """Forget a secret of *team*, or of *caller*; runs that wait and name it will not start without it.

    Raises:
        NotFound: there is none that they may see.
        Forbidden: they may not change it.
    """
    owner = _changeable(team, caller)
    with store.write() as work:
        if not work.remove_secret(owner, name):
            raise _missing(name, team)
        work.audit(by(caller, "secrets:delete", at=clock(), target=name, team=team))


def _changeable(team: TeamName, caller: Caller) -> SecretOwner:
    if not team:
        if not may_somewhere(caller, Permission.SECRETS_CHANGE):
            raise Forbidden(caller.user, Permission.SECRETS_CHANGE.value, "secrets")
        return SecretOwner(user=caller.user)
    missing = NotFound(f"there is no team {team[:100]!r}")
    require(caller, Permission.SECRETS_CHANGE, what=f"secrets of team {team}", missing=missing, team=team)
    return SecretOwner(team=team)


def _missing(name: str, team: TeamName) -> NotFound:
    whose = f" of team {team}" if team else ""
    return NotFound(f"there is no secret {name[:100]!r}{whose}; `mosaic secrets` lists those you may see")
