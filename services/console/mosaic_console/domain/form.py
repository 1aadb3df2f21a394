"""What a page's forms bring back, which another site's forms cannot know."""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import parse_qs

FIELD = "form_token"
_MOST_FIELDS = 1000


def token_of(session: str) -> str:
    """Return the token of every form that is shown in *session*; from it nobody gets back to the session."""
    return hmac.new(session.encode(), b"form", hashlib.sha256).hexdigest()


def is_ours(body: bytes, session: str) -> bool:
    """Tell whether *body* is a form that was shown in *session*."""
    try:
        told = parse_qs(body.decode("utf-8"), max_num_fields=_MOST_FIELDS).get(FIELD, [""])
    except ValueError:
        return False
    return len(told) == 1 and hmac.compare_digest(told[0].encode(), token_of(session).encode())
