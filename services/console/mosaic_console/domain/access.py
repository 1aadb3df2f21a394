"""Who asks, and what a route needs of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Permission(str, Enum):
    """What a route may ask for; each route declares exactly one."""

    ANYONE = "anyone"  #: probes and sign-in, which tell a stranger nothing
    RUNS_READ = "runs:read"
    RUNS_SUBMIT = "runs:submit"
    RUNS_CHANGE = "runs:change"  #: cancel, pause, resume, retry
    FLEET_READ = "fleet:read"
    FLEET_CHANGE = "fleet:change"  #: drain
    TEAMS_READ = "teams:read"
    SIGNED_IN = "signed-in"  #: what anybody with a credential may: look at the pages' files, sign out


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: made at the door from a credential, never from a field of the request."""

    user: str
    #: ``token`` or ``session``.
    via: str
    permissions: frozenset[Permission]

    def may(self, permission: Permission) -> bool:
        """Tell whether it is allowed."""
        return permission in self.permissions


def owner(user: str, via: str) -> Caller:
    """Return the one person of one machine, who may do everything."""
    return Caller(user, via, frozenset(Permission))
