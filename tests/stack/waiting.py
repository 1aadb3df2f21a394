"""Waiting for something to become true, never longer than it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

ValueT = TypeVar("ValueT")

#: CI has two noisy cores; a deadline only bounds how long a failure takes.
PATIENCE_S = 60.0

_PAUSE_S = 0.05


def until(look: Callable[[], ValueT], *, what: str, seconds: float = PATIENCE_S) -> ValueT:
    """Return the first truthy value of *look*; fail, naming *what* and the last value, when time is up."""
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s for {what}; last seen: {seen!r}")
        time.sleep(_PAUSE_S)
    return seen
