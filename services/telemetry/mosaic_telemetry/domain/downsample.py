"""Points of a series summed up as they arrive."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Bucket(NamedTuple):
    """Neighbouring points of a series. Points that are not a number count, but have no extremes."""

    step_first: float
    step_last: float
    points: int
    #: How many of them are numbers.
    numbers: int
    #: Of the numbers; NaN when there are none.
    minimum: float
    maximum: float
    total: float

    @property
    def mean(self) -> float:
        """The mean of the numbers, NaN when there are none."""
        return self.total / self.numbers if self.numbers else math.nan

    @property
    def middle(self) -> float:
        """The step at which to draw it."""
        return (self.step_first + self.step_last) / 2


def bucket_of(steps: Sequence[float], values: Sequence[float]) -> Bucket:
    """Return the one bucket of all the points, of which there is at least one."""
    total = sum(values)
    if total != total:
        return _bucket_with_holes(steps, values)
    return Bucket(min(steps), max(steps), len(values), len(values), min(values), max(values), total)


def joined(left: Bucket, right: Bucket) -> Bucket:
    """Return both as one."""
    if not left.numbers or not right.numbers:
        numbers = right if right.numbers else left
        minimum, maximum, total = numbers.minimum, numbers.maximum, numbers.total
    else:
        minimum, maximum = min(left.minimum, right.minimum), max(left.maximum, right.maximum)
        total = left.total + right.total
    return Bucket(
        min(left.step_first, right.step_first),
        max(left.step_last, right.step_last),
        left.points + right.points,
        left.numbers + right.numbers,
        minimum,
        maximum,
        total,
    )


def _bucket_with_holes(steps: Sequence[float], values: Sequence[float]) -> Bucket:
    numbers = [value for value in values if value == value]
    if not numbers:
        return Bucket(min(steps), max(steps), len(values), 0, math.nan, math.nan, math.nan)
    # Infinities of both signs have no sum; their mean is honestly not a number.
    total = sum(numbers)
    return Bucket(min(steps), max(steps), len(values), len(numbers), min(numbers), max(numbers), total)
