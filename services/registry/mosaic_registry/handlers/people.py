"""Users, service accounts, their roles, and their tokens: who may change whom is decided here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta

from mosaic.errors import BadInput, Forbidden, NotFound, Refused, Unauthenticated
from mosaic.hosting.rights import may
from mosaic.ids import TeamName, UserName, is_id
from mosaic.model.identity import Caller, Permission, Role
from mosaic.model.people import Credential, CredentialKind, User
from mosaic_registry.domain.credential import LONGEST_TOKEN_LIFE, TOKEN_LIFE, KeptCredential, make
from mosaic_registry.domain.people import (
    Account,
    check,
    check_password,
    is_admin,
    is_self,
    may_grant,
    may_manage,
    visible,
)
from mosaic_registry.ports import Passwords, People, PeopleDraft, PeopleView

_MOST_TOKENS = 100
_LONGEST_NAME = 200
_CHANGE = Permission.PEOPLE_CHANGE.value


def get_user(caller: Caller, name: UserName, *, people: People) -> User:
    """Return what *caller* may see of *name*, or of themselves when no name is given.

    Raises:
        NotFound: there is nobody of that name whom they may see.
    """
    with people.read() as view:
        return _seen(caller, name or caller.user, view)[1]


def list_users(caller: Caller, team: TeamName | str = "", *, people: People) -> list[User]:
    """Return whom *caller* may see, by name: all, or those of *team*."""
    with people.read() as view:
        found = [visible(caller, account.user) for account in view.accounts(TeamName(team) if team else None)]
    return [user for user in found if user is not None and (not team or team in user.teams or team == user.owner_team)]


def add_user(caller: Caller, user: User, password: str, *, people: People, passwords: Passwords) -> User:
    """Add a person, which takes an admin of the fleet, or a service account, for which one of its team is enough.

    Raises:
        BadInput: with every fault.
        Forbidden: the caller may not, or would give more than they have.
        Refused: the name is taken.
    """
    check(user)
    if password and user.owner_team is not None:
        raise BadInput(f"user {user.name!r}", ["a service account has tokens and no password"])
    if not may_manage(caller, user):
        raise Forbidden(caller.user, _CHANGE, f"user {user.name}")
    if password:
        check_password(password, user.name)
    kept = passwords.hash(password) if password else ""
    with people.change() as draft:
        if draft.account(user.name) is not None:
            raise Refused(f"there is a user {user.name!r} already; names are never given twice")
        account = Account(**{field.name: getattr(user, field.name) for field in fields(user)}, password_hash=kept)
        draft.put_account(account)
    return user


def change_user(
    caller: Caller,
    name: UserName,
    *,
    people: People,
    display_name: str | None = None,
    email: str | None = None,
    active: bool | None = None,
) -> User:
    """Change what is given; who is deactivated loses every session and token with it.

    Raises:
        NotFound: there is nobody of that name whom they may see.
        Forbidden: people change their own texts; all else takes who manages the account.
        Refused: they are the last admin.
        BadInput: with every fault.
    """
    told = {"display_name": display_name, "email": email, "active": active}
    wanted = {key: value for key, value in told.items() if value is not None}

    def changed(account: Account) -> Account:
        if "active" in wanted or not is_self(caller, account):
            _require_manager(caller, account)
        return replace(account, **wanted)  # type: ignore[arg-type]

    return _change(caller, name, changed, people)


def set_roles(caller: Caller, name: UserName, roles: frozenset[Role], *, people: People) -> User:
    """Replace the roles in the fleet.

    Raises:
        NotFound: there is nobody of that name whom they may see.
        Forbidden: the caller may not, or would give more than they have.
        Refused: they are the last admin.
    """

    def changed(account: Account) -> Account:
        _require_manager(caller, account)
        if not all(may_grant(caller, role) for role in roles):
            raise Forbidden(caller.user, "every right that the role gives", f"user {name}")
        return replace(account, roles=roles)

    return _change(caller, name, changed, people)


def set_member(caller: Caller, team: TeamName, name: UserName, role: Role | None, *, people: People) -> User:
    """Give *name* a role in *team*, or take theirs away.

    Raises:
        NotFound: there is nobody of that name, or no team that the caller may see.
        Forbidden: the caller may not, or would give more than they have.
    """
    if not is_id(team):
        raise BadInput("team", [f"{team[:_LONGEST_NAME]!r} cannot be the name of a team"])
    if not may(caller, Permission.PEOPLE_CHANGE, team=team):
        if team not in caller.teams:
            raise NotFound(f"there is no team {team!r} that you may see")
        raise Forbidden(caller.user, _CHANGE, f"team {team}")
    with people.change() as draft:
        account = draft.account(name)
        if account is None:
            raise _nobody(name)
        at_stake = [each for each in (role, account.teams.get(team)) if each is not None]
        if not all(may_grant(caller, each, team) for each in at_stake):
            raise Forbidden(caller.user, "every right that the role gives", f"team {team}")
        others = {each: held for each, held in account.teams.items() if each != team}
        changed = replace(account, teams=others | ({team: role} if role else {}))
        check(changed.user)
        draft.put_account(changed)
        return visible(caller, changed.user) or User(name)


def set_password(
    caller: Caller, name: UserName, password: str, current: str, *, people: People, passwords: Passwords
) -> None:
    """Set a password and end every session of the user: one's own, or that of somebody one manages.

    Who signs in by a provider gets no password by themselves: it would outlive their account there.

    Raises:
        NotFound: there is nobody of that name whom they may see.
        Unauthenticated: the current password is wrong.
        Forbidden: it is neither theirs nor in their care.
        BadInput: the password is too easy, or a service account's.
    """
    name = name or caller.user
    with people.read() as view:
        account = _seen(caller, name, view)[0]
    if account.owner_team is not None:
        raise BadInput("password", ["a service account has tokens and no password"])
    if is_self(caller, account) and account.password_hash:
        if not passwords.is_right(current, account.password_hash):
            raise Unauthenticated("the current password is wrong")
    else:
        _require_manager(caller, account)
    check_password(password, name)
    kept = passwords.hash(password)
    with people.change() as draft:
        latest = draft.account(name) or account
        draft.put_account(replace(latest, password_hash=kept))
        _end_credentials(name, draft, keep=CredentialKind.TOKEN)


def issue_token(
    caller: Caller,
    user: UserName,
    name: str,
    scopes: frozenset[Permission] | None,
    life: timedelta | None,
    *,
    people: People,
    now: datetime,
) -> tuple[str, KeptCredential]:
    """Make a token for oneself or for a service account; its text is returned here and nowhere else.

    Raises:
        NotFound: there is nobody of that name whom they may see.
        Forbidden: nobody makes tokens for other people, and none that may do more than who makes it.
        BadInput: name or life cannot be.
        Refused: there are too many.
    """
    with people.change() as draft:
        account = _seen(caller, user or caller.user, draft)[0]
        is_own = account.name == caller.user
        if not is_own and (account.owner_team is None or not may_manage(caller, account)):
            raise Forbidden(caller.user, "being the one", f"tokens of {account.name}")
        _check_token(caller, name, scopes, life)
        tokens = [one for one in draft.credentials(account.name) if one.kind is CredentialKind.TOKEN]
        if len(tokens) >= _MOST_TOKENS:
            raise Refused(f"{account.name} has {_MOST_TOKENS} tokens already; revoke some")
        text, kept = make(
            CredentialKind.TOKEN,
            account.name,
            now=now,
            life=life or TOKEN_LIFE,
            name=name,
            scopes=scopes,
            address=caller.address[:64],
        )
        draft.put_credential(kept)
        return text, kept


def list_credentials(
    caller: Caller, user: UserName, kind: CredentialKind | None = None, *, people: People
) -> list[Credential]:
    """Return tokens and sessions of *user*, or one's own.

    Raises:
        NotFound: there is nobody of that name whose credentials they may see.
    """
    with people.read() as view:
        account = _seen(caller, user or caller.user, view)[0]
        if account.name != caller.user and not may_manage(caller, account):
            raise _nobody(account.name)
        return [
            one
            for one in view.credentials(account.name)
            if one.kind is not CredentialKind.CODE and kind in (None, one.kind)
        ]


def revoke(caller: Caller, credential_id: str, *, people: People) -> None:
    """End a token or session at once.

    Raises:
        NotFound: there is none whose user the caller is or manages.
    """
    with people.change() as draft:
        found = draft.credential(credential_id)
        account = draft.account(found.user) if found else None
        if found is None or account is None or not (account.name == caller.user or may_manage(caller, account)):
            raise NotFound(f"there is no token or session {credential_id[:_LONGEST_NAME]!r} that you may end")
        draft.remove_credential(credential_id)


def _seen(caller: Caller, name: UserName, view: PeopleView) -> tuple[Account, User]:
    account = view.account(name)
    seen = visible(caller, account.user) if account else None
    if account is None or seen is None:
        raise _nobody(name)
    return account, seen


def _change(caller: Caller, name: UserName, change: Callable[[Account], Account], people: People) -> User:
    with people.change() as draft:
        before = _seen(caller, name, draft)[0]
        after = change(before)
        check(after.user)
        if is_admin(before) and not is_admin(after):
            _require_another_admin(name, draft.accounts())
        draft.put_account(after)
        if not after.active:
            _end_credentials(name, draft)
        return visible(caller, after.user) or after.user


def _require_manager(caller: Caller, account: Account) -> None:
    if not may_manage(caller, account):
        raise Forbidden(caller.user, _CHANGE, f"user {account.name}")


def _require_another_admin(name: UserName, accounts: Sequence[Account]) -> None:
    if not any(is_admin(account) and account.name != name for account in accounts):
        raise Refused(f"{name} is the last active admin of the fleet; make somebody else an admin first")


def _check_token(caller: Caller, name: str, scopes: frozenset[Permission] | None, life: timedelta | None) -> None:
    faults = []
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        faults.append(f"say what it is for, in 1 to {_LONGEST_NAME} printable characters")
    if life is not None and not timedelta() < life <= LONGEST_TOKEN_LIFE:
        faults.append(f"it lives longer than 0 s and at most {LONGEST_TOKEN_LIFE.days} days")
    if scopes is not None and not scopes:
        faults.append("with an empty list of scopes it is good for nothing; leave the list out")
    if faults:
        raise BadInput("token", faults)
    if caller.scopes is not None and (scopes is None or scopes - caller.scopes):
        raise Forbidden(caller.user, "a token that may do as much itself", "a token that may do more")


def _end_credentials(name: UserName, draft: PeopleDraft, *, keep: CredentialKind | None = None) -> None:
    for credential in draft.credentials(name):
        if credential.kind is not keep:
            draft.remove_credential(credential.credential_id)


def _nobody(name: str) -> NotFound:
    return NotFound(f"there is no user {name[:_LONGEST_NAME]!r} whom you may see")
