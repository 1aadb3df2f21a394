"""Secret values sealed with AES-256-GCM by a key that is in a file, not in the database."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mosaic.errors import BadInput, Refused

_NONCE = 12
HOW_TO_MAKE = "make a key with `openssl rand -base64 32` and name its file in MOSAIC_SCHEDULER_SECRETS_KEY_FILE"


class AesVault:
    """Seals with the newest key, and opens with every key that it has."""

    def __init__(self, keys: str) -> None:
        """Take the text of a key file: one key of 32 bytes in base64 a line, the newest first; empty = no key.

        Raises:
            BadInput: names each line that is no such key.
        """
        lines = [line.strip() for line in keys.splitlines() if line.strip()]
        faults = [f"line {number} is not 32 bytes in base64" for number, line in enumerate(lines, 1) if not _key(line)]
        if faults:
            raise BadInput("key of the secrets", [*faults, HOW_TO_MAKE])
        self._keys = {_id_of(key): AESGCM(key) for key in map(_key, lines)}

    def seal(self, value: str, place: str) -> tuple[str, bytes]:
        """Return the id of the key, and *value* so that it can be opened only at *place*.

        Raises:
            Refused: there is no key.
        """
        if not self._keys:
            raise Refused(f"this fleet keeps no secrets: {HOW_TO_MAKE}")
        key_id, key = next(iter(self._keys.items()))
        nonce = os.urandom(_NONCE)
        return key_id, nonce + key.encrypt(nonce, value.encode(), place.encode())

    def open(self, key_id: str, sealed: bytes, place: str) -> str | None:
        """Return what was sealed for *place*; None if its key is gone or it was tampered with."""
        key = self._keys.get(key_id)
        try:
            return key.decrypt(sealed[:_NONCE], sealed[_NONCE:], place.encode()).decode() if key else None
        except InvalidTag:
            return None

    @property
    def newest(self) -> str:
        """The id of the key that seals; empty when there is none."""
        return next(iter(self._keys), "")


def _key(line: str) -> bytes:
    try:
        key = base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError):
        return b""
    return key if len(key) == 32 else b""


def _id_of(key: bytes) -> str:
    return hashlib.sha256(b"mosaic secrets " + key).hexdigest()[:16]
