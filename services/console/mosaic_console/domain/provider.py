"""Signing in by an identity provider (OpenID Connect): what is asked, what must come back, and who that makes them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mosaic.errors import BadInput
from mosaic.ids import TeamName, is_id
from mosaic.model.identity import TEAM_ROLES, Role

#: Whoever is in several groups of one team has the strongest role.
_STRENGTH = (Role.VIEWER, Role.RESEARCHER, Role.TEAM_ADMIN)


@dataclass(frozen=True, slots=True)
class Flow:
    """One sign-in under way: kept by the browser that began it, and by nobody else."""

    #: Comes back in the address: the answer is to this browser's question.
    state: str
    #: Comes back inside of the provider's token: it was made for this question.
    nonce: str
    #: Proves at the end that who redeems the code is who asked for it (PKCE).
    verifier: str = field(repr=False)

    @classmethod
    def new(cls) -> Flow:
        """Return one that nobody can guess."""
        return cls(*(secrets.token_urlsafe(32) for _ in range(3)))

    @classmethod
    def read(cls, cookie: str) -> Flow | None:
        """Return what `cookie` wrote; None when it is nothing of ours."""
        parts = cookie.split(".")
        return cls(*parts) if len(parts) == 3 and all(len(part) == 43 for part in parts) else None

    @property
    def cookie(self) -> str:
        """The flow as the browser keeps it."""
        return f"{self.state}.{self.nonce}.{self.verifier}"

    @property
    def challenge(self) -> str:
        """What the provider is told of the verifier."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    def is_answered_by(self, state: str) -> bool:
        """Tell whether *state* is ours."""
        return hmac.compare_digest(self.state.encode(), state.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class Vouched:
    """Whom the provider vouches for."""

    issuer: str
    subject: str
    name: str
    display_name: str = ""
    email: str = ""
    #: None = the provider says nothing of teams.
    teams: Mapping[TeamName, Role] | None = None


@dataclass(frozen=True, slots=True)
class Claims:
    """Which claims say who somebody is."""

    user_claim: str = "preferred_username"
    teams_claim: str = "groups"
    #: Group -> team and role; empty = teams are given here, not by the provider.
    teams: Mapping[str, tuple[TeamName, Role]] = field(default_factory=dict)

    def vouched(self, claims: Mapping[str, Any]) -> Vouched:
        """Return whom *claims*, which were checked, speak of.

        Raises:
            BadInput: the claim that names people is missing, or an e-mail that nobody has confirmed.
        """
        name = claims.get(self.user_claim)
        if not isinstance(name, str) or not name:
            raise BadInput("identity", [f"the provider says nothing under {self.user_claim!r}"])
        if self.user_claim == "email" and claims.get("email_verified") is not True:
            raise BadInput("identity", ["the provider has not confirmed the e-mail"])
        return Vouched(
            issuer=str(claims["iss"]),
            subject=str(claims["sub"]),
            name=name,
            display_name=_text(claims.get("name")),
            email=_text(claims.get("email")),
            teams=self._roles(claims.get(self.teams_claim)) if self.teams else None,
        )

    def _roles(self, told: Any) -> dict[TeamName, Role]:
        groups = [told] if isinstance(told, str) else told if isinstance(told, list) else []
        roles: dict[TeamName, Role] = {}
        for team, role in (self.teams[group] for group in groups if isinstance(group, str) and group in self.teams):
            roles[team] = max(role, roles.get(team, role), key=_STRENGTH.index)
        return roles


def read_teams(text: str) -> dict[str, tuple[TeamName, Role]]:
    """Return what ``GROUP=TEAM:ROLE; ...`` says.

    Raises:
        BadInput: with every part that says nothing.
    """
    found: dict[str, tuple[TeamName, Role]] = {}
    faults = []
    for part in filter(None, map(str.strip, text.split(";"))):
        group, _, meant = part.rpartition("=")
        team, _, role = meant.partition(":")
        if group and is_id(team) and role in _words(TEAM_ROLES):
            found[group] = (TeamName(team), Role(role))
        else:
            faults.append(f"{part!r} is not GROUP=TEAM:ROLE with one of {', '.join(_words(TEAM_ROLES))}")
    if faults:
        raise BadInput("MOSAIC_CONSOLE_OIDC_TEAMS", faults)
    return found


def _words(roles: Iterable[Role]) -> list[str]:
    return sorted(role.value for role in roles)


def _text(told: Any) -> str:
    return told[:200] if isinstance(told, str) and told.isprintable() else ""
