"""Who may do what: one table, asked by the handler that knows whose thing it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mosaic.errors import Forbidden, NotFound
from mosaic.ids import TeamName
from mosaic.model.identity import Caller, Permission, Role, Scope

_TEAM_MEMBERS = {Role.VIEWER: Scope.TEAM, Role.RESEARCHER: Scope.TEAM, Role.TEAM_ADMIN: Scope.TEAM}
_ALL_BUT_AUDITORS = dict.fromkeys(set(Role) - {Role.AUDITOR}, Scope.ALL)

#: Permission -> role -> of whose things. What is not here no person may.
GRANTS: Mapping[Permission, Mapping[Role, Scope]] = MappingProxyType(
    {
        Permission.RUNS_READ: {**_TEAM_MEMBERS, Role.ADMIN: Scope.ALL},
        Permission.RUNS_SUBMIT: {Role.RESEARCHER: Scope.OWN, Role.TEAM_ADMIN: Scope.TEAM, Role.ADMIN: Scope.ALL},
        Permission.RUNS_CHANGE: {Role.RESEARCHER: Scope.OWN, Role.TEAM_ADMIN: Scope.TEAM, Role.ADMIN: Scope.ALL},
        Permission.TEAMS_READ: {**_TEAM_MEMBERS, Role.OPERATOR: Scope.ALL, Role.ADMIN: Scope.ALL},
        Permission.TEAMS_LIMIT: {Role.TEAM_ADMIN: Scope.TEAM, Role.ADMIN: Scope.ALL},
        Permission.TEAMS_CHANGE: {Role.ADMIN: Scope.ALL},
        Permission.FLEET_READ: {
            **dict.fromkeys(_TEAM_MEMBERS, Scope.ALL),
            Role.OPERATOR: Scope.ALL,
            Role.ADMIN: Scope.ALL,
        },
        Permission.FLEET_CHANGE: {Role.OPERATOR: Scope.ALL, Role.ADMIN: Scope.ALL},
        Permission.AGENTS_ADMIT: {Role.OPERATOR: Scope.ALL, Role.ADMIN: Scope.ALL},
        Permission.PEOPLE_READ: {Role.TEAM_ADMIN: Scope.TEAM, Role.ADMIN: Scope.ALL},
        Permission.PEOPLE_CHANGE: {Role.TEAM_ADMIN: Scope.TEAM, Role.ADMIN: Scope.ALL},
        Permission.SECRETS_READ: {Role.RESEARCHER: Scope.TEAM, Role.TEAM_ADMIN: Scope.TEAM, Role.ADMIN: Scope.ALL},
        Permission.SECRETS_CHANGE: {Role.RESEARCHER: Scope.OWN, Role.TEAM_ADMIN: Scope.TEAM, Role.ADMIN: Scope.ALL},
        Permission.AUDIT_READ: {Role.TEAM_ADMIN: Scope.TEAM, Role.ADMIN: Scope.ALL, Role.AUDITOR: Scope.ALL},
    }
)

#: Who may see a thing of which this is asked; what one may not see does not exist.
_SEEN_BY: Mapping[Permission, Permission] = MappingProxyType(
    {
        Permission.RUNS_SUBMIT: Permission.TEAMS_READ,
        Permission.RUNS_CHANGE: Permission.RUNS_READ,
        Permission.TEAMS_LIMIT: Permission.TEAMS_READ,
        Permission.TEAMS_CHANGE: Permission.TEAMS_READ,
        Permission.FLEET_CHANGE: Permission.FLEET_READ,
        Permission.PEOPLE_CHANGE: Permission.PEOPLE_READ,
        Permission.SECRETS_CHANGE: Permission.SECRETS_READ,
    }
)


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided."""

    allowed: bool
    #: Whether the caller may know that the thing exists.
    visible: bool


def may(caller: Caller, permission: Permission, *, owner: str = "", team: TeamName | str = "") -> bool:
    """Tell whether *caller* may do that to a thing of *owner* in *team*; a thing of the fleet is nobody's."""
    if permission in (Permission.ANYONE, Permission.SIGNED_IN):
        return True
    if caller.scopes is not None and permission not in caller.scopes:
        return False
    granted = GRANTS.get(permission, {})
    if any(granted.get(role) is Scope.ALL for role in (*caller.roles, *caller.teams.values())):
        return True
    scope = granted.get(caller.teams[TeamName(team)]) if team in caller.teams else None
    return scope is Scope.TEAM or (scope is Scope.OWN and owner == caller.user)


def may_somewhere(caller: Caller, permission: Permission) -> bool:
    """Tell whether *caller* may do that to anything at all: what a door asks before it knows what it is about."""
    return may(caller, permission) or any(
        may(caller, permission, owner=caller.user, team=team) for team in caller.teams
    )


def visible_teams(caller: Caller, permission: Permission = Permission.RUNS_READ) -> frozenset[TeamName] | None:
    """Return the teams whose things a list may hold; None means all."""
    return None if may(caller, permission) else _teams(caller, permission)


def _teams(caller: Caller, permission: Permission) -> frozenset[TeamName]:
    return frozenset(team for team in caller.teams if may(caller, permission, owner=caller.user, team=team))


def decide(caller: Caller, permission: Permission, *, owner: str = "", team: TeamName | str = "") -> Decision:
    """Return whether *caller* may, and if not, whether they may know why."""
    allowed = may(caller, permission, owner=owner, team=team)
    seen_by = _SEEN_BY.get(permission, permission)
    return Decision(allowed, allowed or may(caller, seen_by, owner=owner, team=team))


def require(
    caller: Caller, permission: Permission, *, what: str, missing: NotFound, owner: str = "", team: TeamName | str = ""
) -> None:
    """Let pass who may.

    Raises:
        NotFound: *missing*; they may not even know of it.
        Forbidden: they see it, but may not do this to *what*.
    """
    decision = decide(caller, permission, owner=owner, team=team)
    if not decision.visible:
        raise missing
    if not decision.allowed:
        raise Forbidden(caller.user, permission.value, what)
