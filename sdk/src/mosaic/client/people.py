"""People, their roles and their tokens; signing in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from mosaic.client.login import Login
from mosaic.client.rest import Rest
from mosaic.model.codec import from_json
from mosaic.model.identity import Permission, Role
from mosaic.model.people import Credential, User


@dataclass(frozen=True, slots=True)
class Me:
    """Who asks."""

    user: User
    #: The credential: ``token:ID`` or ``session:ID``.
    via: str
    #: All that it may be used for; None = whatever the user may.
    scopes: frozenset[Permission] | None = None


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was made."""

    token: Credential
    #: Told once, and kept nowhere.
    secret: str = field(repr=False)


class People:
    """People as the caller may see and change them; nobody gives more than they have."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    def me(self) -> Me:
        """Return who asks."""
        return from_json(Me, self._rest.ask("GET", "me"))

    def users(self, *, team: str = "") -> list[User]:
        """Return everybody whom one may see, or everybody of *team*."""
        where = ("teams", team, "members") if team else ("users",)
        return [from_json(User, user) for user in self._rest.ask("GET", *where)]

    def user(self, name: str) -> User:
        """Return one user."""
        return from_json(User, self._rest.ask("GET", "users", name))

    def add(
        self,
        name: str,
        *,
        display_name: str = "",
        email: str = "",
        password: str = "",
        owner_team: str | None = None,
        role: Role = Role.RESEARCHER,
    ) -> User:
        """Add a person; with *owner_team* a service account, which gets *role* in that team."""
        body = {"name": name, "display_name": display_name, "email": email, "password": password}
        owned = {"owner_team": owner_team, "teams": {owner_team: role.value}} if owner_team else {}
        return from_json(User, self._rest.ask("POST", "users", body={**body, **owned}))

    def change(
        self, name: str, *, display_name: str | None = None, email: str | None = None, active: bool | None = None
    ) -> User:
        """Change what is given; who is not *active* any more loses every session and token."""
        told = {"display_name": display_name, "email": email, "active": active}
        given = {key: value for key, value in told.items() if value is not None}
        return self._changed("PATCH", "users", name, body=given)

    def set_password(self, name: str, password: str, *, current: str = "") -> None:
        """Set a password, one's own or that of somebody one manages, and end every session of theirs."""
        self._rest.ask("PUT", "users", name, "password", body={"password": password, "current": current})

    def set_roles(self, name: str, roles: Collection[Role]) -> User:
        """Replace the roles in the fleet."""
        return self._changed("PUT", "users", name, "roles", body={"roles": sorted(role.value for role in roles)})

    def set_member(self, team: str, name: str, role: Role | None) -> User:
        """Give a role in a team, or take it away."""
        if role is None:
            return self._changed("DELETE", "teams", team, "members", name)
        return self._changed("PUT", "teams", team, "members", name, body={"role": role.value})

    def tokens(self, *, user: str = "") -> list[Credential]:
        """Return tokens: one's own, or those of a service account."""
        return [from_json(Credential, token) for token in self._rest.ask("GET", "tokens", user=user)]

    def sessions(self, *, user: str = "") -> list[Credential]:
        """Return the browsers that are signed in."""
        return [from_json(Credential, session) for session in self._rest.ask("GET", "sessions", user=user)]

    def issue_token(
        self, name: str, *, user: str = "", scopes: Collection[Permission] = (), life: timedelta | None = None
    ) -> NewToken:
        """Make a token for oneself, or for a service account, that lives 90 days where nothing is said."""
        body: dict[str, Any] = {"name": name, "user": user, "scopes": sorted(scope.value for scope in scopes)}
        if life is not None:
            body["life_s"] = life.total_seconds()
        return from_json(NewToken, self._rest.ask("POST", "tokens", body=body))

    def revoke(self, credential_id: str) -> None:
        """End a token or session at once."""
        self._rest.ask("DELETE", "tokens", credential_id)

    def _changed(self, method: str, *path: str, body: Any = None) -> User:
        return from_json(User, self._rest.ask(method, *path, body=body))


def sign_in(url: str, user: str, password: str, *, name: str) -> Login:
    """Return a login with a new token of *user*, which is called *name*.

    Raises:
        Unauthenticated: name or password is wrong.
        TooManyRequests: there were too many wrong ones.
    """
    login = Login(url.rstrip("/"))
    stranger = Rest(login)
    try:
        session = str(stranger.ask("POST", "sign-in", body={"user": user, "password": password})["session"])
    finally:
        stranger.close()
    rest = Rest(Login(login.url, session))
    try:
        people = People(rest)
        secret = people.issue_token(name).secret
        people.revoke(people.me().via.partition(":")[2])
    finally:
        rest.close()
    return Login(login.url, secret)
