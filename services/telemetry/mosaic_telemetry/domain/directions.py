"""Which way is better, judged by a metric's name; for most nobody can say."""

from __future__ import annotations

import re
from enum import Enum


class Direction(Enum):
    """Which values are better."""

    HIGHER = "higher"
    LOWER = "lower"


_HIGHER = frozenset({"return", "returns", "reward", "rewards", "rew", "score", "success", "win", "wins", "accuracy"})
_LOWER = frozenset({"loss", "losses", "error", "errors"})
#: With one of these a name is not about the value itself.
_ABOUT = frozenset({"std", "var", "variance", "scale", "scaling", "coef", "weight", "count", "length", "steps", "norm"})
_WORD = re.compile(r"[a-z]+")


def direction_of(name: str) -> Direction | None:
    """Return which values of the metric *name* are better, None where that is not known.

    The last part of the name decides (``losses/entropy`` is no loss), or a group called just ``loss``.
    """
    group, _, last = name.lower().rpartition("/")
    words = set(_WORD.findall(last))
    if words & _ABOUT:
        return None
    if words & _LOWER or group.rpartition("/")[2] == "loss":
        return Direction.LOWER
    return Direction.HIGHER if words & _HIGHER else None
