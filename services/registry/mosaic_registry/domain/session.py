"""Session tokens: given once at registration, checked at every later call, stored only as a digest."""

from __future__ import annotations

import hashlib
import hmac
import secrets


def new_token() -> str:
    """Return a token nobody can guess."""
    return secrets.token_urlsafe(32)


def digest_of(token: str) -> str:
    """Return what is stored and shared instead of *token*."""
    return hashlib.sha256(token.encode()).hexdigest()


def matches(token: str, digest: str) -> bool:
    """Compare in a time that tells nothing about where they differ."""
    return hmac.compare_digest(digest_of(token), digest)
