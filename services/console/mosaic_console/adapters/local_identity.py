"""One person: whoever shows the token, follows a link that was made with it, or has a session from such a link."""

from __future__ import annotations

from mosaic.ids import UserName
from mosaic.model.identity import Caller, Role
from mosaic_console.domain.keys import Keyring
from mosaic_console.ports import Credential


class LocalIdentity:
    """Everybody with a valid credential is the same user, who may do everything."""

    def __init__(self, keyring: Keyring, user: str) -> None:
        self._keyring = keyring
        self._user = UserName(user)

    def authenticate(self, credential: Credential) -> Caller | None:
        """Return who shows it; None for a stranger."""
        is_valid = self._keyring.is_token if credential.kind == "token" else self._keyring.is_session
        if not is_valid(credential.secret):
            return None
        return Caller(self._user, roles=frozenset({Role.ADMIN}), via=credential.kind)

    def new_code(self, _caller: Caller) -> str:
        """Return a code that opens one session, once."""
        return self._keyring.new_code()

    def redeem(self, code: str) -> str | None:
        """Return the secret of a new session, or None: *code* is unknown, used or too old."""
        return self._keyring.redeem(code)

    def end_session(self, secret: str) -> None:
        """Close that session."""
        self._keyring.end_session(secret)
