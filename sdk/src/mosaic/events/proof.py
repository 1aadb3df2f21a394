"""Proof that events come from whom they name.

The scheduler and telemetry share one secret, the event key. The scheduler derives a key from it for every attempt and
hands that key, beside the control token, to the one agent whose claim succeeded. The agent signs each frame with it;
telemetry derives the same key again, so it keeps nothing and asks nobody. What the scheduler itself says is signed with
a key of its own. Whoever can publish but has no key can say nothing.
"""

from __future__ import annotations

import hmac

from mosaic.errors import BadInput, MosaicError
from mosaic.events.frame import EncodedFrame
from mosaic.ids import is_id

#: As many letters as ``openssl rand -hex 16`` prints; a key that people make up is shorter.
_SHORTEST = 32

#: What to do who has no event key.
HOW_TO_MAKE = (
    "make one with `openssl rand -hex 32` and give the same to the scheduler and to telemetry, in a file that only "
    "they can read: MOSAIC_EVENT_KEY_FILE"
)


class FrameForged(MosaicError):
    """The frame carries no proof that the agent of its attempt sent it."""

    code = "frame_forged"


class EventKey:
    """What the scheduler and telemetry share, and nobody else has."""

    def __init__(self, text: str) -> None:
        """Take the key as it was set.

        Raises:
            BadInput: it could be guessed.
        """
        if len(text) < _SHORTEST:
            raise BadInput("event key", [f"it has fewer than {_SHORTEST} characters; {HOW_TO_MAKE}"])
        self._key = text.encode()

    def of_attempt(self, run_id: str, attempt: int) -> str:
        """Return the key with which the agent of that attempt signs."""
        return hmac.digest(self._key, f"attempt {run_id} {attempt}".encode(), "sha256").hex()

    def sign(self, kind: str, body: bytes) -> str:
        """Return the proof that the scheduler says *body*, which is a message of *kind*."""
        return sign(hmac.digest(self._key, f"scheduler {kind}".encode(), "sha256").hex(), body)

    def check_frame(self, frame: EncodedFrame) -> None:
        """Raise `FrameForged` unless the agent of the attempt that *frame* names packed and signed it."""
        wanted = sign(self.of_attempt(frame.run_id, frame.attempt), frame.body) if is_id(frame.run_id) else ""
        if not wanted or not _same(frame.proof, wanted):
            named = f"attempt {frame.attempt} of run {frame.run_id[:128]!r}"
            raise FrameForged(f"it carries no proof that the agent of {named} sent it")

    def is_signed(self, kind: str, body: bytes, proof: object) -> bool:
        """Tell whether *proof* is what `sign` returned for the same message."""
        return _same(proof, self.sign(kind, body))


def sign(key: str, body: bytes) -> str:
    """Return the proof of *body* by *key*; without a key there is none."""
    return hmac.digest(key.encode(), body, "sha256").hex() if key else ""


def _same(shown: object, wanted: str) -> bool:
    return isinstance(shown, str) and hmac.compare_digest(shown.encode("utf-8", "replace"), wanted.encode())
