"""The credentials of one machine: a token for scripts, one-time codes for links, sessions for browsers.

All are 256-bit random, kept as hashes only, and end with the process.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections.abc import Callable

#: Whoever follows a link does so soon; `mosaic console` makes another.
CODE_LIFE_S = 3600.0
SESSION_LIFE_S = 7 * 86_400.0
#: Of each so many at once; the oldest makes room.
_MOST = 100

Clock = Callable[[], float]


def new_secret() -> str:
    """Return 256 random bits as text that fits into a URL, a header and a cookie."""
    return secrets.token_urlsafe(32)


class Keyring:
    """Knows what was handed out; may be used by several threads."""

    def __init__(self, token: str, *, clock: Clock) -> None:
        self._token = _digest(token)
        self._clock = clock
        self._codes: dict[str, float] = {}
        self._sessions: dict[str, float] = {}
        self._lock = threading.Lock()

    def is_token(self, shown: str) -> bool:
        """Tell whether *shown* is the token; it takes the same time whatever is shown."""
        return hmac.compare_digest(self._token, _digest(shown))

    def new_code(self) -> str:
        """Return a code that opens one session, once."""
        return self._hand_out(self._codes, CODE_LIFE_S)

    def redeem(self, code: str) -> str | None:
        """Return the id of a new session, or None: *code* is unknown, used or too old."""
        with self._lock:
            ends_at = self._codes.pop(_digest(code), 0.0)
        return self._hand_out(self._sessions, SESSION_LIFE_S) if self._clock() < ends_at else None

    def is_session(self, session_id: str) -> bool:
        """Tell whether that session is open now."""
        with self._lock:
            return self._clock() < self._sessions.get(_digest(session_id), 0.0)

    def end_session(self, session_id: str) -> None:
        """Close that session; the next request with it is a stranger's."""
        with self._lock:
            self._sessions.pop(_digest(session_id), None)

    def _hand_out(self, kept: dict[str, float], life_s: float) -> str:
        secret = new_secret()
        with self._lock:
            while len(kept) >= _MOST:
                del kept[next(iter(kept))]
            kept[_digest(secret)] = self._clock() + life_s
        return secret


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
