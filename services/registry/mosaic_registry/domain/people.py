"""Who may become what, and who may make them so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace

from mosaic.errors import BadInput
from mosaic.hosting.rights import GRANTS, may
from mosaic.ids import TeamName, UserName, is_id
from mosaic.model.identity import FLEET_ROLES, TEAM_ROLES, Caller, Permission, Role, Scope
from mosaic.model.people import Credential, User

_LONGEST_TEXT = 200
_SHORTEST_PASSWORD = 12
_LONGEST_PASSWORD = 1024


@dataclass(frozen=True, slots=True)
class Account(User):
    """A user with what only the registry knows."""

    #: Of argon2id; empty = there is no password.
    password_hash: str = ""

    @property
    def user(self) -> User:
        """The part that may be shown."""
        return User(**{field.name: getattr(self, field.name) for field in fields(User)})


def caller_for(account: Account, credential: Credential, address: str) -> Caller:
    """Return who asks when that credential was shown: what they are now, not when it was made."""
    via = f"{credential.kind.value}:{credential.credential_id}"
    return Caller(
        account.name, teams=account.teams, roles=account.roles, via=via, scopes=credential.scopes, address=address
    )


def is_admin(user: User) -> bool:
    """Tell whether they may do everything, and can sign in to do so: a service account does not count."""
    return user.active and user.owner_team is None and Role.ADMIN in user.roles


def may_grant(caller: Caller, role: Role, team: TeamName | str = "") -> bool:
    """Tell whether *caller* has all that *role* gives, for everybody's things: nobody gives more than they have."""
    given = [(permission, roles[role]) for permission, roles in GRANTS.items() if role in roles]
    return all(may(caller, what) if scope is Scope.ALL else may(caller, what, team=team) for what, scope in given)


def may_be(caller: Caller, user: User) -> bool:
    """Tell whether *caller* has all that *user* has, so that becoming them would gain nothing."""
    return all(may_grant(caller, role) for role in user.roles) and all(
        may_grant(caller, role, team) for team, role in user.teams.items()
    )


def may_manage(caller: Caller, user: User) -> bool:
    """Tell whether *caller* may change, lock out and speak for *user*."""
    # Only a service account belongs to a team; a person belongs to the fleet.
    team = user.owner_team or ""
    return may(caller, Permission.PEOPLE_CHANGE, team=team) and may_be(caller, user)


def is_self(caller: Caller, user: User) -> bool:
    """Tell whether *caller* is *user*, with a credential that may be used for everything."""
    return caller.user == user.name and caller.scopes is None


def visible(caller: Caller, user: User) -> User | None:
    """Return what *caller* may see of *user*, None when nothing."""
    if caller.user == user.name or may(caller, Permission.PEOPLE_READ):
        return user
    teams = {team: role for team, role in user.teams.items() if may(caller, Permission.PEOPLE_READ, team=team)}
    is_owned = user.owner_team is not None and may(caller, Permission.PEOPLE_READ, team=user.owner_team)
    return replace(user, teams=teams, roles=frozenset()) if teams or is_owned else None


def check(user: User) -> None:
    """Let pass what can be a user.

    Raises:
        BadInput: with every fault.
    """
    if faults := list(_faults(user)):
        raise BadInput(f"user {user.name[:_LONGEST_TEXT]!r}", faults)


def check_password(password: str, name: UserName) -> None:
    """Let pass a password that cannot be guessed at once.

    Raises:
        BadInput: it is too short, too long, or the name.
    """
    if not _SHORTEST_PASSWORD <= len(password) <= _LONGEST_PASSWORD:
        raise BadInput("password", [f"it has {_SHORTEST_PASSWORD} to {_LONGEST_PASSWORD} characters"])
    if password.casefold() == name.casefold():
        raise BadInput("password", ["it is the name"])


def _faults(user: User) -> Iterator[str]:
    if not is_id(user.name):
        yield "a name begins with a letter or digit and goes on with those and . _ @ -, up to 128"
    for what, text in (("display name", user.display_name), ("e-mail", user.email)):
        if len(text) > _LONGEST_TEXT or not text.isprintable():
            yield f"the {what} has at most {_LONGEST_TEXT} printable characters"
    yield from (f"{role.value} is a role in a team, not in the fleet" for role in _sorted(user.roles - FLEET_ROLES))
    yield from (f"{team!r} cannot be the name of a team" for team in user.teams if not is_id(team))
    strange = set(user.teams.values()) - TEAM_ROLES
    yield from (f"{role.value} is a role in the fleet, not in a team" for role in _sorted(strange))
    if user.owner_team is not None and (not is_id(user.owner_team) or user.teams.keys() - {user.owner_team}):
        yield "a service account belongs to one team and has a role in that team only"


def _sorted(roles: Iterable[Role]) -> list[Role]:
    return sorted(roles, key=lambda role: role.value)
