"""Thin a series without lying about its extremes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
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


def points_as_buckets(steps: Iterable[float], values: Iterable[float]) -> Iterator[Bucket]:
    """Yield every point as a bucket of its own."""
    for step, value in zip(steps, values, strict=True):
        yield Bucket(step, step, 1, int(value == value), value, value, value)


def thin_points(steps: Sequence[float], values: Sequence[float], resolution: int) -> list[Bucket]:
    """Return the points in at most *resolution* buckets of neighbours; 0 = every point by itself.

    Slices of points are summed up as wholes, so this is fast for hundreds of thousands of them.
    """
    if resolution <= 0 or len(values) <= resolution:
        return list(points_as_buckets(steps, values))
    share = len(values) / resolution
    borders = [round(slot * share) for slot in range(resolution + 1)]
    return [bucket_of(steps[begin:end], values[begin:end]) for begin, end in pairwise(borders)]


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


def thin(buckets: Sequence[Bucket], resolution: int) -> list[Bucket]:
    """Return at most *resolution* buckets over the same points; 0 = as they are.

    Neighbours are joined so that each result holds about as many points as any other; every minimum
    and maximum survives in the result that covers it.
    """
    if resolution <= 0 or len(buckets) <= resolution:
        return list(buckets)
    share = sum(bucket.points for bucket in buckets) / resolution
    thinned: list[Bucket] = []
    seen = 0
    for bucket in buckets:
        slot = min(int(seen / share), resolution - 1)
        seen += bucket.points
        if slot < len(thinned):
            thinned[-1] = joined(thinned[-1], bucket)
        else:
            thinned.append(bucket)
    return thinned


def _bucket_with_holes(steps: Sequence[float], values: Sequence[float]) -> Bucket:
    numbers = [value for value in values if value == value]
    if not numbers:
        return Bucket(min(steps), max(steps), len(values), 0, math.nan, math.nan, math.nan)
    # Infinities of both signs have no sum; their mean is honestly not a number.
    total = sum(numbers)
    return Bucket(min(steps), max(steps), len(values), len(numbers), min(numbers), max(numbers), total)
