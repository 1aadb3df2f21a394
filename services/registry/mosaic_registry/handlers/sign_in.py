"""From a credential to a name: what the console asks before anything else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from mosaic.errors import BadInput, DatabaseUnavailable, Forbidden, Refused, TooManyRequests, Unauthenticated
from mosaic.ids import UserName, is_id
from mosaic.model.identity import Caller
from mosaic.model.people import CredentialKind, User
from mosaic_registry.domain.credential import (
    CODE_LIFE,
    SESSION_LIFE,
    KeptCredential,
    is_due,
    is_open,
    make,
    read,
)
from mosaic_registry.domain.guessing import counted, opens_at, rules
from mosaic_registry.domain.people import Account, caller_for, check
from mosaic_registry.ports import Passwords, People, PeopleDraft, PeopleView

log = structlog.get_logger(__name__)

#: Of sessions and of codes, each so many at once; the oldest makes room.
_MOST = 50
#: The same for a wrong name and a wrong password: who guesses learns nothing.
_WRONG = "name or password is wrong"
_LONGEST_ISSUER, _LONGEST_SUBJECT = 500, 255


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A session that was opened."""

    #: What the browser shows from now on.
    session: str
    user: UserName
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Vouched:
    """Whom an identity provider has vouched for."""

    issuer: str
    subject: str
    user: User
    #: Whether `user.teams` is what the provider says of teams; if not, what they have stays.
    gives_teams: bool = False


def authenticate(shown: str, *, people: People, now: datetime, address: str = "") -> Caller:
    """Return for whom a token or session stands now.

    Raises:
        Unauthenticated: it stands for nobody: unknown, ended, or its user may not enter any more.
    """
    with people.read() as view:
        found = _holder(shown, view, now)
    if found is None or found[0].kind is CredentialKind.CODE:
        raise Unauthenticated("the credential is not known or has ended; sign in again")
    credential, account = found
    if is_due(credential, now):
        _touch(credential, people, now)
    return caller_for(account, credential, address)


def sign_in(
    name: str, password: str, *, people: People, passwords: Passwords, now: datetime, address: str = ""
) -> SignedIn:
    """Open a session for who knows the password.

    Raises:
        Unauthenticated: name or password is wrong, or the user may not enter.
        TooManyRequests: after too many wrong ones; this one was not looked at.
    """
    # What cannot be a name is counted under one that nobody can have.
    user = UserName(name if is_id(name) else "-")
    with people.read() as view:
        _check_guessing(user, address, view, now)
        account = view.account(user)
    # Outside of any transaction: it takes long, and everybody else would wait.
    is_right = passwords.is_right(password, account.password_hash if account else "")
    with people.change() as draft:
        # Asked again: many tries at once must not be more than one after the other.
        _check_guessing(user, address, draft, now)
        current = draft.account(user)
        if is_right and account and current and current.active and current.password_hash == account.password_hash:
            for rule in rules(user, address):
                if rule.key != f"from {address}":
                    draft.forget_failures(rule.key)
            return _open_session(current, draft, now, address)
        for rule in rules(user, address):
            draft.put_failures(counted(rule, draft.failures(rule.key), now))
    raise Unauthenticated(_WRONG)


def redeem(code: str, *, people: People, now: datetime, address: str = "") -> SignedIn:
    """Open a session with a one-time code.

    Raises:
        Unauthenticated: the code is unknown, used or too old.
    """
    with people.change() as draft:
        found = _holder(code, draft, now)
        if found is None or found[0].kind is not CredentialKind.CODE:
            raise Unauthenticated("the link was used already or is too old; `mosaic console` makes another")
        draft.remove_credential(found[0].credential_id)
        return _open_session(found[1], draft, now, address)


def sign_in_by_provider(vouched: Vouched, *, people: People, now: datetime, address: str = "") -> SignedIn:
    """Open a session for whom a provider vouches; who comes for the first time gets an account.

    Raises:
        BadInput: the provider's name for them, or its teams, cannot be used.
        Refused: the name belongs to an account that the provider did not make.
        Unauthenticated: the user may not enter.
    """
    if not (0 < len(vouched.issuer) <= _LONGEST_ISSUER and 0 < len(vouched.subject) <= _LONGEST_SUBJECT):
        raise BadInput("identity", ["a provider names itself and whom it vouches for, in a few hundred letters"])
    with people.change() as draft:
        name = draft.identity(vouched.issuer, vouched.subject)
        account = draft.account(name) if name else _first_visit(vouched, draft)
        if account is None or not account.active:
            raise Unauthenticated("this account may not enter; ask an admin of the fleet")
        if vouched.gives_teams and account.teams != vouched.user.teams:
            account = replace(account, teams=vouched.user.teams)
            check(account.user)
            draft.put_account(account)
        return _open_session(account, draft, now, address)


def sign_out(session: str, *, people: People, now: datetime) -> None:
    """End a session; an unknown one has ended already."""
    with people.change() as draft:
        found = _holder(session, draft, now)
        if found is not None and found[0].kind is CredentialKind.SESSION:
            draft.remove_credential(found[0].credential_id)


def new_code(caller: Caller, *, people: People, now: datetime) -> tuple[str, KeptCredential]:
    """Return a code that opens one session of the caller's, once.

    Raises:
        Forbidden: a session may do more than the token that asks for it.
    """
    if caller.scopes is not None:
        raise Forbidden(caller.user, "a token without scopes", "sign-in links")
    with people.change() as draft:
        return code_for(caller.user, draft, now, address=caller.address)


def code_for(user: UserName, draft: PeopleDraft, now: datetime, address: str = "") -> tuple[str, KeptCredential]:
    """Return a code that opens one session of *user*'s, once."""
    return _keep_newest(draft, make(CredentialKind.CODE, user, now=now, life=CODE_LIFE, address=address))


def _first_visit(vouched: Vouched, draft: PeopleDraft) -> Account:
    user = vouched.user
    check(user)
    if draft.account(user.name) is not None:
        # An account is never handed over because somebody elsewhere chose its name.
        raise Refused(f"there is an account {user.name!r} already, which is not this identity's; ask an admin")
    account = Account(user.name, user.display_name, user.email)
    draft.put_account(account)
    draft.put_identity(vouched.issuer, vouched.subject, user.name)
    return account


def _open_session(account: Account, draft: PeopleDraft, now: datetime, address: str) -> SignedIn:
    made = make(CredentialKind.SESSION, account.name, now=now, life=SESSION_LIFE, address=address[:64])
    session, kept = _keep_newest(draft, made)
    return SignedIn(session, account.name, kept.expires_at)


def _keep_newest(draft: PeopleDraft, made: tuple[str, KeptCredential]) -> tuple[str, KeptCredential]:
    kept = made[1]
    same = [one for one in draft.credentials(kept.user) if one.kind is kept.kind]
    for oldest in same[: max(0, len(same) - _MOST + 1)]:
        draft.remove_credential(oldest.credential_id)
    draft.put_credential(kept)
    return made


def _holder(text: str, view: PeopleView, now: datetime) -> tuple[KeptCredential, Account] | None:
    """Return the credential that *text* proves and whose it is; None when it proves nothing, or nothing any more."""
    shown = read(text)
    kept = view.credential(shown.credential_id) if shown else None
    if shown is None or kept is None or not shown.proves(kept) or not is_open(kept, now):
        return None
    account = view.account(kept.user)
    return (kept, account) if account is not None and account.active else None


def _check_guessing(user: UserName, address: str, view: PeopleView, now: datetime) -> None:
    waits = [opens_at(rule, view.failures(rule.key)) for rule in rules(user, address)]
    latest = max((until for until in waits if until is not None), default=now)
    if latest > now:
        raise TooManyRequests("wrong passwords", (latest - now).total_seconds())


def _touch(credential: KeptCredential, people: People, now: datetime) -> None:
    try:
        people.touch(credential.credential_id, now)
    except DatabaseUnavailable as error:
        # A disk that is full must not lock out those who come to see why.
        log.warning("when a credential was used is not written down", reason=str(error))
