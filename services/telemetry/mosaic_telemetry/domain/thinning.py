"""A curve in few buckets whose borders stand still: whatever is added later, a point stays in its bucket.

Borders are multiples of a power of two, on a logarithmic axis of a power of two of an octave. Looking closer halves
the buckets, growth joins two neighbours; nothing else ever moves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from mosaic_telemetry.domain.downsample import Bucket

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_LEAST_EXPONENT = -60
#: Decimal digits by which weights within one block of smoothing may differ.
_DIGITS = 120
_LONGEST_BLOCK = 1024


@dataclass(frozen=True, slots=True)
class Buckets:
    """Neighbouring points, summed up; one place in every column for each bucket."""

    first: Floats
    final: Floats
    points: Places
    #: How many of the points are numbers.
    numbers: Places
    #: Of the numbers; NaN when there are none.
    minima: Floats
    maxima: Floats
    totals: Floats
    #: The value of the last point; NaN where it is not known.
    lasts: Floats
    #: The mean of the smoothed values; NaN where nothing was smoothed.
    smoothed: Floats

    def __len__(self) -> int:
        return len(self.first)

    @property
    def means(self) -> Floats:
        """The mean of the numbers of each, NaN when there are none."""
        means = np.divide(self.totals, self.numbers, out=np.full(len(self), np.nan), where=self.numbers > 0)
        return np.asarray(means)

    @property
    def middles(self) -> Floats:
        """Where to draw each."""
        return (self.first + self.final) / 2

    def taken(self, which: NDArray[np.bool_] | slice) -> Buckets:
        """Return those of *which*."""
        return Buckets(*(getattr(self, field.name)[which] for field in fields(self)))


@dataclass(frozen=True, slots=True)
class Cut:
    """Where an axis is cut: at the multiples of 2 ** *exponent*, of its logarithm to base 2 if *is_log*."""

    exponent: int
    is_log: bool = False

    def places(self, x: Floats) -> Floats:
        """Return the number of the bucket of each *x*, a whole one, or infinite far beyond what was cut."""
        with np.errstate(over="ignore"):
            return np.floor((np.log2(x) if self.is_log else x) * 2.0**-self.exponent)

    def border(self, place: float) -> float:
        """Return where bucket *place* begins."""
        with np.errstate(over="ignore"):
            at = float(np.ldexp(place, self.exponent))
            return float(np.exp2(at)) if self.is_log else at


def cut_for(low: float, high: float, resolution: int, *, is_log: bool = False) -> Cut:
    """Return the finest cut with at most *resolution* buckets from *low* to *high*.

    Both are finite, and above 0 if *is_log*.
    """
    ends = np.array([low, high])
    across = (math.log2(high) - math.log2(low)) / resolution if is_log else high / resolution - low / resolution
    exponent = max(_LEAST_EXPONENT, math.frexp(across)[1] - 1) if across > 0 else _LEAST_EXPONENT
    while True:
        cut = Cut(exponent, is_log)
        first, last = cut.places(ends)
        # Beyond 2 ** 53 neighbouring whole numbers are the same float.
        if max(abs(first), abs(last)) < 2.0**53 and last - first < resolution:
            return cut
        exponent += 1


def as_points(x: Floats, values: Floats, smoothed: Floats | None = None) -> Buckets:
    """Return every point as a bucket of its own, in the order of *x*."""
    order = np.argsort(x, kind="stable") if np.any(x[1:] < x[:-1]) else slice(None)
    x, values = x[order], values[order]
    soft = np.full(len(x), np.nan) if smoothed is None else smoothed[order]
    ones, numbers = np.ones(len(x), np.int64), (values == values).astype(np.int64)
    return Buckets(x, x, ones, numbers, values, values, values, values, soft)


def as_buckets(rollups: Sequence[Bucket]) -> Buckets:
    """Return what was summed up before, in the order of its steps."""
    rows = np.array(sorted(rollups, key=lambda bucket: bucket.step_first), dtype=np.float64).reshape(-1, 7)
    first, final, points, numbers, minima, maxima, totals = rows.T
    unknown = np.full(len(rows), np.nan)
    counts = points.astype(np.int64), numbers.astype(np.int64)
    return Buckets(first, final, *counts, minima, maxima, totals, unknown, unknown)


def gathered(buckets: Buckets, cut: Cut) -> Buckets:
    """Return *buckets*, which are in order, joined within the borders of *cut*."""
    if not len(buckets):
        return buckets
    places = cut.places(buckets.first)
    starts = np.flatnonzero(np.append(True, places[1:] != places[:-1]))
    ends = np.append(starts[1:], len(places)) - 1
    is_number, is_smooth = buckets.numbers > 0, buckets.smoothed == buckets.smoothed
    smooth = np.add.reduceat(np.where(is_smooth, buckets.smoothed, 0.0), starts)
    count = np.add.reduceat(is_smooth.astype(np.int64), starts)
    with np.errstate(invalid="ignore"):  # infinities of both signs have no sum; their mean is honestly not a number
        totals = np.add.reduceat(np.where(is_number, buckets.totals, 0.0), starts)
    return Buckets(
        buckets.first[starts],
        np.maximum.reduceat(buckets.final, starts),
        np.add.reduceat(buckets.points, starts),
        np.add.reduceat(buckets.numbers, starts),
        np.fmin.reduceat(buckets.minima, starts),
        np.fmax.reduceat(buckets.maxima, starts),
        totals,
        buckets.lasts[ends],
        np.divide(smooth, count, out=np.full(len(starts), np.nan), where=count > 0),
    )


def smooth(values: Floats, weight: float) -> Floats:
    """Return the exponential moving average over every point, each new one with 1 - *weight*.

    The start is not pulled to zero. What is no finite number is left out, and has no smoothed value.
    """
    is_finite = np.isfinite(values)
    told = np.full(len(values), np.nan)
    told[is_finite] = _averaged(values[is_finite], weight)
    return told


def _averaged(values: Floats, weight: float) -> Floats:
    """Return the average of finite numbers, block by block: within one all at once, from one to the next in turn."""
    if not len(values) or weight <= 0:
        return values
    size = min(len(values), _LONGEST_BLOCK, max(1, int(_DIGITS / -math.log10(weight))))
    rows = -(-len(values) // size)
    table = np.append(values, np.zeros(rows * size - len(values))).reshape(rows, size)
    powers = weight ** np.arange(1, size + 1)
    within = np.cumsum(table * ((1 - weight) / powers), axis=1) * powers
    carried, carry, whole = np.empty(rows), 0.0, weight**size
    for row, last in enumerate(within[:, -1].tolist()):
        carried[row] = carry
        carry = carry * whole + last
    averages = (within + carried[:, np.newaxis] * powers).ravel()[: len(values)]
    return np.asarray(averages / -np.expm1(np.arange(1, len(values) + 1) * math.log(weight)))
