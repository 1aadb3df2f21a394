"""Who asks, what they are in each team, and the verbs that may be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from mosaic.ids import TeamName, UserName


class Role(str, Enum):
    """What somebody is: the first three within a team, the others for the whole fleet."""

    VIEWER = "viewer"  #: sees the team's runs
    RESEARCHER = "researcher"  #: submits, and changes their own
    TEAM_ADMIN = "team-admin"  #: any run of the team, its members, its limits per user
    OPERATOR = "operator"  #: machines: drain, invite, revoke
    ADMIN = "admin"  #: everything
    AUDITOR = "auditor"  #: the audit trail and nothing else


TEAM_ROLES = frozenset({Role.VIEWER, Role.RESEARCHER, Role.TEAM_ADMIN})
FLEET_ROLES = frozenset(Role) - TEAM_ROLES


class Permission(str, Enum):
    """What may be asked for; every route, gRPC method and stream topic declares exactly one."""

    ANYONE = "anyone"  #: probes and sign-in, which tell a stranger nothing
    SIGNED_IN = "signed-in"  #: what anybody with a credential may: the pages' files, one's own tokens, sign out
    RUNS_READ = "runs:read"
    RUNS_SUBMIT = "runs:submit"
    RUNS_CHANGE = "runs:change"  #: cancel, pause, resume, retry
    TEAMS_READ = "teams:read"
    TEAMS_LIMIT = "teams:limit"  #: a team's limits per user
    TEAMS_CHANGE = "teams:change"  #: weights and quotas, which are taken from other teams
    FLEET_READ = "fleet:read"
    FLEET_CHANGE = "fleet:change"  #: drain
    AGENTS_ADMIT = "agents:admit"  #: invite and revoke
    PEOPLE_READ = "people:read"
    PEOPLE_CHANGE = "people:change"  #: members and their roles; nobody gives more than they have
    SECRETS_READ = "secrets:read"  #: names only; no call returns a value
    SECRETS_CHANGE = "secrets:change"
    AUDIT_READ = "audit:read"
    AGENT = "agent"  #: what an agent says of itself and of its attempts
    SERVICE = "service"  #: what services ask each other
    CONSOLE = "console"  #: what only the console asks: who a credential is, to sign somebody in


class Scope(str, Enum):
    """Of whose things a permission speaks."""

    OWN = "own"
    TEAM = "team"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: made at the door from a credential, never from a field of the request."""

    user: UserName
    teams: Mapping[TeamName, Role] = field(default_factory=dict)
    #: Of `FLEET_ROLES`.
    roles: frozenset[Role] = frozenset()
    #: The credential, for the audit trail: ``token:ID``, ``session:ID`` or ``certificate:SERIAL``.
    via: str = ""
    #: All that a token was made for; None = whatever its owner may.
    scopes: frozenset[Permission] | None = None
    request_id: str = ""
    address: str = ""

    @property
    def actor(self) -> str:
        """The name by which histories know them."""
        return f"user:{self.user}"
