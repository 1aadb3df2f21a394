"""The three numbers fairness and waiting are judged by."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence


def jain(shares: Iterable[float]) -> float:
    """Return Jain's index of *shares*: 1.0 when all are equal, 1/n when one has everything.

    No shares, or none above zero, count as equal.
    """
    values = tuple(shares)
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Return the value that *percent* of the sorted *ordered* do not exceed (nearest rank); 0 when empty."""
    if not ordered:
        return 0.0
    rank = math.ceil(percent / 100 * len(ordered))
    return ordered[max(rank, 1) - 1]


def mean(values: Collection[float]) -> float:
    """Return the arithmetic mean of *values*, 0 when there are none."""
    return sum(values) / len(values) if values else 0.0
