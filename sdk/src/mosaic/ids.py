"""The names of things and the one grammar they share."""

from __future__ import annotations

import os
import re
import time
from typing import NewType

RunId = NewType("RunId", str)
WorkerName = NewType("WorkerName", str)
AgentId = NewType("AgentId", str)
NodeId = NewType("NodeId", str)
GpuId = NewType("GpuId", str)
TeamName = NewType("TeamName", str)
UserName = NewType("UserName", str)

#: What may stand in an id: safe in a path, a routing key, a URL and a log line.
ID_GRAMMAR = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}\Z")

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID_LENGTH = 26


def is_id(text: str) -> bool:
    """Tell whether *text* may name a run, worker, agent, node, team or user."""
    return ID_GRAMMAR.match(text) is not None


def new_run_id(now: float | None = None) -> RunId:
    """Return a fresh ULID: 26 characters that sort by the time they were made."""
    milliseconds = int((time.time() if now is None else now) * 1000)
    number = (milliseconds << 80) | int.from_bytes(os.urandom(10), "big")
    return RunId("".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5)))


def is_run_id(text: str) -> bool:
    """Tell whether *text* is a whole run id as `new_run_id` makes them."""
    return len(text) == _ULID_LENGTH and all(letter in _CROCKFORD for letter in text)
