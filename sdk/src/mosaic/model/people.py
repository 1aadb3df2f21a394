"""People and service accounts, and the credentials that stand for them."""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from types import MappingProxyType

from mosaic.ids import TeamName, UserName
from mosaic.model.identity import Permission, Role


class CredentialKind(str, Enum):
    """What a credential is good for."""

    TOKEN = "token"  #: scripts; until its date
    SESSION = "session"  #: one browser
    CODE = "code"  #: opens one session, once


#: How a credential begins tells scanners what was leaked.
PREFIXES: Mapping[CredentialKind, str] = MappingProxyType(
    {
        CredentialKind.TOKEN: "mosaic_pat",
        CredentialKind.SESSION: "mosaic_session",
        CredentialKind.CODE: "mosaic_code",
    }
)


def new_text(kind: CredentialKind) -> str:
    """Return a credential that nobody can guess and nobody knows yet: ``<prefix>_<id>_<secret>_<crc32>``."""
    body = f"{PREFIXES[kind]}_{secrets.token_hex(8)}_{secrets.token_hex(32)}"
    return f"{body}_{checksum(body)}"


def checksum(body: str) -> str:
    """Return how a credential ends, which tells a slip of the finger from a wrong secret without asking anybody."""
    return f"{zlib.crc32(body.encode()):08x}"


@dataclass(frozen=True, slots=True)
class User:
    """A person, or a service account that works for a team."""

    name: UserName
    display_name: str = ""
    email: str = ""
    #: False ends every credential, and there are no new ones.
    active: bool = True
    #: Of `FLEET_ROLES`.
    roles: frozenset[Role] = frozenset()
    #: Of `TEAM_ROLES`.
    teams: Mapping[TeamName, Role] = field(default_factory=dict)
    #: The team that a service account belongs to; None = a person.
    owner_team: TeamName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What is known of a credential; the secret itself is shown once and kept nowhere."""

    credential_id: str
    kind: CredentialKind
    user: UserName
    created_at: datetime
    expires_at: datetime
    #: What it is for, in the words of who made it.
    name: str = ""
    #: All that it may be used for; None = whatever its user may.
    scopes: frozenset[Permission] | None = None
    #: Written at most once a minute.
    last_used_at: datetime | None = None
    #: From where it was asked for.
    address: str = ""
