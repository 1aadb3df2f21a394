"""Passwords by argon2id."""

from __future__ import annotations

import threading
from functools import cached_property

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

#: Each takes 64 MiB; more at once would let strangers fill the memory.
_AT_ONCE = 2


class Argon2Passwords:
    """Takes the same time whether there is a password or not, so that nobody learns which names exist."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        """Use *hasher*; without one, the library's own choice, which follows RFC 9106."""
        self._hasher = hasher or PasswordHasher()
        self._places = threading.BoundedSemaphore(_AT_ONCE)

    @cached_property
    def _nobodys(self) -> str:
        return self._hasher.hash("nobody has this password")

    def hash(self, password: str) -> str:
        """Return what is kept instead of *password*."""
        with self._places:
            return self._hasher.hash(password)

    def is_right(self, password: str, kept: str) -> bool:
        """Tell whether it is the password of which *kept* is the hash; of an empty one none is."""
        with self._places:
            try:
                return self._hasher.verify(kept or self._nobodys, password) and bool(kept)
            except (VerificationError, InvalidHashError):
                return False
