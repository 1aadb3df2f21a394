"""What was asked and decided: one entry each, chained so that one that was changed or taken out shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any


class ActorKind(str, Enum):
    """What kind of thing acted."""

    PERSON = "person"
    AGENT = "agent"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One decision: who, by which credential, what, on whose thing, and whether it was allowed. Never a secret."""

    time: datetime
    #: As histories name them: ``user:NAME`` or ``agent:ID``.
    actor: str
    #: What was asked for: a verb on a kind of thing, such as ``runs:cancel``.
    action: str
    target: str = ""
    team: str = ""
    allowed: bool = True
    #: Of a refusal, or as the actor gave it.
    reason: str = ""
    kind: ActorKind = ActorKind.PERSON
    #: The credential: ``token:ID``, ``session:ID`` or ``certificate:SERIAL``.
    via: str = ""
    request_id: str = ""
    address: str = ""
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    #: The service that wrote it: each has a chain of its own, counted from 1 without a gap.
    service: str = ""
    seq: int = 0
    #: SHA-256 of the hash before it and this entry; `chained` says of what exactly.
    hash: str = ""

    def chained(self, previous: str) -> str:
        """Return the hash of this entry behind one whose hash is *previous* (empty for the first)."""
        said = {
            "time": round(self.time.timestamp() * 1_000_000),
            "kind": self.kind.value,
            **{name: getattr(self, name) for name in _AS_IT_IS},
            "before": dict(self.before),
            "after": dict(self.after),
        }
        text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()


_AS_IT_IS = (
    *("service", "seq", "actor", "via", "action", "target", "team"),
    *("allowed", "reason", "request_id", "address"),
)


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries are wanted; empty fields ask for all."""

    team: str = ""
    #: A name, or with its kind as in `AuditEntry.actor`.
    actor: str = ""
    since: datetime | None = None
    #: Only those after the one with this number.
    after: int = 0


def broken_link(entries: Iterable[AuditEntry]) -> str | None:
    """Return where the chain of one service, read from its first entry on, does not hold; None when it does."""
    previous, expected = "", 1
    for entry in entries:
        if entry.seq != expected:
            return f"entry {expected} of the {entry.service} is missing: {entry.seq} follows"
        if entry.hash != entry.chained(previous):
            return f"entry {entry.seq} of the {entry.service} is not what was written, or one before it is not"
        previous, expected = entry.hash, expected + 1
    return None
