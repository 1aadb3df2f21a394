"""Credentials: made here, shown once, kept as a digest.

``mosaic_pat_<id>_<secret>_<crc32>``: the beginning tells scanners what was leaked, the end tells a slip of the finger
from a wrong secret without asking anybody, and the id finds the one digest that there is to compare with.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from mosaic.ids import UserName
from mosaic.model.people import PREFIXES, Credential, CredentialKind, checksum, new_text

TOKEN_LIFE = timedelta(days=90)
#: Longer than anybody remembers what a token was for.
LONGEST_TOKEN_LIFE = timedelta(days=366)
SESSION_LIFE = timedelta(days=7)
SESSION_IDLE = timedelta(hours=12)
#: Whoever follows a link does so soon.
CODE_LIFE = timedelta(hours=1)
#: When it was last used is written down no more often than that.
TOUCH_EVERY = timedelta(minutes=1)

_KINDS = {prefix: kind for kind, prefix in PREFIXES.items()}
_GRAMMAR = re.compile(
    rf"(?P<body>(?P<prefix>{'|'.join(_KINDS)})_(?P<id>[0-9a-f]{{16}})_[0-9a-f]{{64}})_(?P<checksum>[0-9a-f]{{8}})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCredential(Credential):
    """A credential with what proves it."""

    #: SHA-256 of the whole text.
    digest: str


@dataclass(frozen=True, slots=True)
class Shown:
    """What somebody shows, taken apart; whether it is true is not known yet."""

    kind: CredentialKind
    credential_id: str
    digest: str

    def proves(self, kept: KeptCredential) -> bool:
        """Compare in a time that tells nothing about where they differ."""
        return hmac.compare_digest(self.digest, kept.digest) and self.kind is kept.kind


def make(
    kind: CredentialKind, user: UserName, *, now: datetime, life: timedelta, **more: Any
) -> tuple[str, KeptCredential]:
    """Return a new credential as its owner shows it, and as it is kept."""
    text = new_text(kind)
    shown = read(text)
    assert shown is not None
    kept = KeptCredential(
        credential_id=shown.credential_id,
        kind=kind,
        user=user,
        created_at=now,
        expires_at=now + life,
        digest=shown.digest,
        **more,
    )
    return text, kept


def read(text: str) -> Shown | None:
    """Return what *text* claims to be; None when it cannot be any credential of ours."""
    found = _GRAMMAR.fullmatch(text)
    if found is None or found["checksum"] != checksum(found["body"]):
        return None
    return Shown(_KINDS[found["prefix"]], found["id"], _digest(text))


def is_open(credential: Credential, now: datetime) -> bool:
    """Tell whether its time has not passed: its date, and for a session also how long nobody used it."""
    if credential.kind is CredentialKind.SESSION:
        used_at = credential.last_used_at or credential.created_at
        if now - used_at >= SESSION_IDLE:
            return False
    return now < credential.expires_at


def is_due(credential: Credential, now: datetime) -> bool:
    """Tell whether it is time to write down that it was used."""
    return credential.last_used_at is None or now - credential.last_used_at >= TOUCH_EVERY


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
