"""What an agent needs to join a fleet, in one word: ``mosaic_join_<sha256 of CA>_<id>_<secret>``.

The digest comes first on purpose: an agent downloads the CA, compares, and only then shows the secret.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field

from mosaic.errors import BadInput

_GRAMMAR = re.compile(r"mosaic_join_([0-9a-f]{64})_([0-9a-f]{16})_([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class JoinToken:
    """An invitation as it is handed over."""

    ca_digest: str
    invite_id: str
    secret: str = field(repr=False)

    @property
    def text(self) -> str:
        """The whole word."""
        return f"mosaic_join_{self.ca_digest}_{self.invite_id}_{self.secret}"

    @property
    def digest(self) -> str:
        """What is kept instead of the secret."""
        return hashlib.sha256(self.secret.encode()).hexdigest()

    def is_of(self, ca: bytes) -> bool:
        """Tell whether *ca*, as the registry sends it, is the one the invitation speaks of."""
        return hmac.compare_digest(digest_of_ca(ca), self.ca_digest)

    @classmethod
    def new(cls, ca: bytes) -> JoinToken:
        """Return one that nobody can guess."""
        return cls(digest_of_ca(ca), secrets.token_hex(8), secrets.token_hex(32))

    @classmethod
    def read(cls, text: str) -> JoinToken:
        """Return what *text* says.

        Raises:
            BadInput: it is no invitation.
        """
        found = _GRAMMAR.fullmatch(text.strip())
        if found is None:
            raise BadInput("join token", ["it is not one; `mosaic agents invite` prints one"])
        return cls(*found.groups())


def digest_of_ca(ca: bytes) -> str:
    """Return the fingerprint of what is believed: all certificates of the CA file."""
    return hashlib.sha256(ca).hexdigest()
