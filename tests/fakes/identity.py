"""The registry's rules on people in memory, as the console asks them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta, timezone
from typing import Any

from mosaic.errors import Unauthenticated
from mosaic.ids import TeamName, UserName
from mosaic.model.identity import Caller, Permission, Role
from mosaic.model.people import Credential as KnownCredential
from mosaic.model.people import CredentialKind, User, new_text
from mosaic_console.domain.provider import Vouched
from mosaic_console.ports import Credential, Issued
from mosaic_registry.handlers import people, sign_in
from mosaic_registry.handlers.first_admin import keep_admin_token
from tests.fakes.people import InMemoryPeople, PlainPasswords


def _now() -> datetime:
    return datetime.now(timezone.utc)


class InMemoryIdentity:
    """What `mosaic_registry` would answer; whoever shows `token` is *owner*, an admin."""

    def __init__(self, owner: str = "ada", *, token: str = "", clock: Callable[[], datetime] = _now) -> None:
        self.store = InMemoryPeople()
        self.passwords = PlainPasswords()
        self.clock = clock
        self.owner = UserName(owner)
        self.token = token or new_text(CredentialKind.TOKEN)
        keep_admin_token(self.owner, self.token, people=self.store, now=clock())
        #: Who was refused at the door, what they lacked and what they asked for.
        self.refused: list[tuple[str, str, str]] = []

    def authenticate(self, credential: Credential) -> Caller | None:
        try:
            return sign_in.authenticate(
                credential.secret, people=self.store, now=self.clock(), address=credential.address
            )
        except Unauthenticated:
            return None

    def sign_in(self, user: str, password: str, address: str) -> str:
        opened = sign_in.sign_in(
            user, password, people=self.store, passwords=self.passwords, now=self.clock(), address=address
        )
        return opened.session

    def sign_in_by_provider(self, vouched: Vouched, address: str) -> str:
        user = User(UserName(vouched.name), vouched.display_name, vouched.email, teams=vouched.teams or {})
        seen = sign_in.Vouched(vouched.issuer, vouched.subject, user, gives_teams=vouched.teams is not None)
        return sign_in.sign_in_by_provider(seen, people=self.store, now=self.clock(), address=address).session

    def new_code(self, caller: Caller) -> str:
        return sign_in.new_code(caller, people=self.store, now=self.clock())[0]

    def redeem(self, code: str, address: str) -> str | None:
        try:
            return sign_in.redeem(code, people=self.store, now=self.clock(), address=address).session
        except Unauthenticated:
            return None

    def end_session(self, secret: str) -> None:
        sign_in.sign_out(secret, people=self.store, now=self.clock())

    def note_refusal(self, caller: Caller, permission: str, target: str) -> None:
        self.refused.append((caller.user, permission, target))

    def people(self, caller: Caller) -> InMemoryPeopleOf:
        return InMemoryPeopleOf(self, caller)

    def code(self) -> str:
        """Return a code that signs the owner in."""
        caller = self.authenticate(Credential("token", self.token))
        assert caller is not None
        return self.new_code(caller)

    def close(self) -> None:
        """Let go of nothing."""


class InMemoryPeopleOf:
    """People in the name of one caller."""

    def __init__(self, identity: InMemoryIdentity, caller: Caller) -> None:
        self._caller, self._store = caller, identity.store
        self._passwords, self._clock = identity.passwords, identity.clock

    def user(self, name: str = "") -> User:
        return people.get_user(self._caller, UserName(name), people=self._store)

    def users(self, team: str = "") -> list[User]:
        return people.list_users(self._caller, team, people=self._store)

    def add(self, user: User, password: str = "") -> User:
        return people.add_user(self._caller, user, password, people=self._store, passwords=self._passwords)

    def change(self, name: str, **given: Any) -> User:
        return people.change_user(self._caller, UserName(name), people=self._store, **given)

    def set_password(self, name: str, password: str, current: str = "") -> None:
        people.set_password(
            self._caller, UserName(name), password, current, people=self._store, passwords=self._passwords
        )

    def set_roles(self, name: str, roles: Collection[Role]) -> User:
        return people.set_roles(self._caller, UserName(name), frozenset(roles), people=self._store)

    def set_member(self, team: str, name: str, role: Role | None) -> User:
        return people.set_member(self._caller, TeamName(team), UserName(name), role, people=self._store)

    def issue_token(
        self, name: str, *, user: str = "", scopes: Collection[Permission] = (), life: timedelta | None = None
    ) -> Issued:
        text, kept = people.issue_token(
            self._caller,
            UserName(user),
            name,
            frozenset(scopes) or None,
            life,
            people=self._store,
            now=self._clock(),
        )
        return Issued(kept, text)

    def credentials(self, user: str, kind: CredentialKind) -> list[KnownCredential]:
        return people.list_credentials(self._caller, UserName(user), kind, people=self._store)

    def revoke(self, credential_id: str) -> None:
        people.revoke(self._caller, credential_id, people=self._store)
