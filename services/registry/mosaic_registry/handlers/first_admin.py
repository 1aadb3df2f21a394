"""The first admin of a fleet, whom nobody could have added."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from mosaic.errors import BadInput
from mosaic.ids import UserName
from mosaic.model.identity import Role
from mosaic.model.people import CredentialKind
from mosaic_registry.domain.credential import LONGEST_TOKEN_LIFE, KeptCredential, make, read
from mosaic_registry.domain.people import Account, check, check_password, is_admin
from mosaic_registry.handlers.sign_in import code_for
from mosaic_registry.ports import Passwords, People, PeopleDraft

#: What the token of one machine's owner is called.
OWNER_TOKEN = "mosaic up"
#: What the token from the settings is called.
GIVEN_TOKEN = "MOSAIC_REGISTRY_ADMIN_TOKEN"


def add_first_admin(name: UserName, password: str, *, people: People, passwords: Passwords) -> bool:
    """Add an admin with that password where there is none; tell whether it was done.

    Raises:
        BadInput: the name or the password cannot be used.
    """
    check_password(password, name)
    kept = passwords.hash(password)
    with people.change() as draft:
        if any(is_admin(account) for account in draft.accounts()):
            return False
        draft.put_account(replace(_as_admin(name, draft), password_hash=kept))
        return True


def code_for_admin(name: UserName, *, people: People, now: datetime) -> str:
    """Make *name* an active admin and return a code that signs them in, once: for who holds the database.

    Raises:
        BadInput: the name cannot be used.
    """
    with people.change() as draft:
        draft.put_account(_as_admin(name, draft))
        return code_for(name, draft, now)[0]


def keep_admin_token(name: UserName, token: str, *, people: People, now: datetime) -> None:
    """Let *token*, which who runs the fleet has made, stand for an admin; another one that did before ends.

    Raises:
        BadInput: it is no token, or the name cannot be used.
    """
    shown = read(token)
    if shown is None or shown.kind is not CredentialKind.TOKEN:
        raise BadInput("MOSAIC_REGISTRY_ADMIN_TOKEN", ["is no token; `python -m mosaic_registry token` makes one"])
    with people.change() as draft:
        draft.put_account(_as_admin(name, draft))
        _end_tokens(name, GIVEN_TOKEN, draft)
        draft.put_credential(
            KeptCredential(
                credential_id=shown.credential_id,
                kind=shown.kind,
                user=name,
                created_at=now,
                expires_at=now + LONGEST_TOKEN_LIFE,
                name=GIVEN_TOKEN,
                digest=shown.digest,
            )
        )


def token_for_owner(name: UserName, *, people: People, now: datetime) -> str:
    """Make *name*, who owns the machine, an admin and return a token; one that an earlier start made ends.

    Raises:
        BadInput: the name cannot be used.
    """
    with people.change() as draft:
        draft.put_account(_as_admin(name, draft))
        _end_tokens(name, OWNER_TOKEN, draft)
        text, kept = make(CredentialKind.TOKEN, name, now=now, life=LONGEST_TOKEN_LIFE, name=OWNER_TOKEN)
        draft.put_credential(kept)
        return text


def end_owner_tokens(name: UserName, *, people: People) -> None:
    """End the tokens that starts of the platform made."""
    with people.change() as draft:
        _end_tokens(name, OWNER_TOKEN, draft)


def _end_tokens(name: UserName, called: str, draft: PeopleDraft) -> None:
    for credential in draft.credentials(name):
        if credential.name == called and credential.kind is CredentialKind.TOKEN:
            draft.remove_credential(credential.credential_id)


def _as_admin(name: UserName, draft: PeopleDraft) -> Account:
    account = draft.account(name) or Account(name)
    check(account.user)
    return replace(account, active=True, roles=account.roles | {Role.ADMIN}, owner_team=None)
