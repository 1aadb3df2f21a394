"""Curves of several runs on one axis, though each has steps and an end of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mosaic.statistics.bootstrap import CONFIDENCE, interval, resampled
from mosaic.statistics.iqm import middle_mean
from mosaic.statistics.scores import Floats, counts

#: ``last``: what was known by then. ``linear``: on the line between the points around it.
How = Literal["last", "linear"]

_POINTS = 200
_RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Aligned:
    """Curves on common steps: ``values`` is ``(runs, steps)``, NaN where a run has not begun or has ended."""

    steps: Floats
    values: Floats

    @property
    def n(self) -> NDArray[np.int64]:
        """How many runs have a value at each step."""
        return counts(self.values)


@dataclass(frozen=True, slots=True)
class Band:
    """The interquartile mean of several runs at each step, with its interval and how many runs are behind it."""

    steps: Floats
    iqm: Floats
    #: NaN where fewer than two runs are.
    low: Floats
    high: Floats
    n: NDArray[np.int64]


def align(
    curves: Sequence[tuple[ArrayLike, ArrayLike]], grid: ArrayLike | int = _POINTS, *, how: How = "last"
) -> Aligned:
    """Return *curves*, each ``(steps, values)``, on the steps of *grid*; a number makes so many even ones of all.

    Nothing is made up: a run has no value before its first point and none after its last. Where several points of a run
    are at one step the last one counts; a value that is no finite number is as if it had not been told.

    Raises:
        ValueError: a curve has more steps than values, or fewer.
    """
    read = [_read(steps, values) for steps, values in curves]
    steps = _even(read, grid) if isinstance(grid, int) else np.asarray(grid, dtype=np.float64)
    rows = [_at(xs, ys, steps, how) for xs, ys in read]
    return Aligned(steps, np.stack(rows) if rows else np.empty((0, len(steps))))


def band(
    aligned: Aligned,
    *,
    resamples: int = _RESAMPLES,
    confidence: float = CONFIDENCE,
    rng: np.random.Generator | int = 0,
) -> Band:
    """Return the interquartile mean at each step with the interval of `bootstrap`, over the runs that got so far.

    Where runs end, ``n`` falls and the curve may jump: those that are left are others, not better ones.
    """
    values, n = aligned.values, aligned.n
    draws = resampled(values, resamples, np.random.default_rng(rng)) if values.size else ()
    told = [middle_mean(np.swapaxes(drawn, 1, 2)) for drawn in draws]
    low, high = interval(np.concatenate(told), confidence) if told else np.full((2, len(n)), np.nan)
    low, high = np.where(n > 1, (low, high), np.nan)
    return Band(aligned.steps, middle_mean(values.T), low, high, n)


def _read(steps: ArrayLike, values: ArrayLike) -> tuple[Floats, Floats]:
    """Return the points of a curve that can be used, in the order of their steps, one for each."""
    xs, ys = np.asarray(steps, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if xs.shape != ys.shape or xs.ndim != 1:
        raise ValueError(f"a curve has as many steps as values, not {xs.shape} and {ys.shape}")
    usable = np.isfinite(xs) & np.isfinite(ys)
    order = np.argsort(xs[usable], kind="stable")
    xs, ys = xs[usable][order], ys[usable][order]
    is_last = np.append(xs[1:] != xs[:-1], True)[: len(xs)]
    return xs[is_last], ys[is_last]


def _even(read: Sequence[tuple[Floats, Floats]], points: int) -> Floats:
    ends = [end for xs, _ in read if len(xs) for end in (xs[0], xs[-1])]
    return np.linspace(min(ends), max(ends), points) if ends else np.empty(0)


def _at(xs: Floats, ys: Floats, steps: Floats, how: How) -> Floats:
    if not len(xs):
        return np.full(len(steps), np.nan)
    if how == "linear":
        found = np.interp(steps, xs, ys)
    else:
        found = ys[np.maximum(np.searchsorted(xs, steps, side="right") - 1, 0)]
    return np.where((steps >= xs[0]) & (steps <= xs[-1]), found, np.nan)
