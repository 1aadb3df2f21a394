"""How far an aggregate would move with other seeds: the stratified percentile bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mosaic.statistics.iqm import middle_mean
from mosaic.statistics.scores import Floats, as_scores, counts

#: Reduces ``(resamples, seeds, tasks)`` to one number for each resample; NaN is no score.
Statistic = Callable[[Floats], Floats]

RESAMPLES = 10_000
CONFIDENCE = 0.95
#: Numbers that are held at once, however many resamples are asked for.
_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number over several seeds, and where it would lie with others."""

    value: float
    #: None where there is no interval; `note` says why.
    low: float | None
    high: float | None
    #: Scores behind it, over all tasks.
    n: int
    note: str = ""


def bootstrap(
    scores: ArrayLike,
    statistic: Statistic | None = None,
    *,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    rng: np.random.Generator | int = 0,
) -> Estimate:
    """Return *statistic* of the scores (the interquartile mean if none is given) with its confidence interval.

    Each resample draws, with replacement and for each task by itself, as many seeds as the task has; the interval holds
    the middle *confidence* of what *statistic* makes of the resamples. Tasks are never resampled: the interval is about
    other seeds on the same tasks. An equal *rng* gives an equal interval. A task with fewer than two seeds has no
    spread that could be resampled: then there is no interval, and the note says so.
    """
    table, reduce = as_scores(scores), statistic or _iqm_of_all
    value, n = float(reduce(table[np.newaxis])[0]), int(counts(table).sum())
    note = why_no_interval(table)
    if note:
        return Estimate(value, None, None, n, note)
    told = [reduce(drawn) for drawn in resampled(table, resamples, np.random.default_rng(rng))]
    low, high = interval(np.concatenate(told), confidence)
    return Estimate(value, float(low), float(high), n)


def why_no_interval(table: Floats) -> str:
    """Return why the seeds of *table* say nothing about other seeds; nothing when they do."""
    fewest = int(counts(table).min(initial=2))
    if table.size == 0 or fewest == 0:
        return "no seed: no interval"
    return "one seed: no interval" if fewest == 1 else ""


def resampled(table: Floats, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield stacks of resamples of *table*, as `bootstrap` draws them; a task that lacks seeds lacks them in each."""
    # A stable order keeps seeds as they were given; those without a score move to the end, where none is drawn.
    order = np.argsort(np.isnan(table), axis=0, kind="stable")
    packed, count = np.take_along_axis(table, order, axis=0), counts(table)
    is_missing = np.arange(len(table))[:, np.newaxis] >= count
    at_once = max(1, _AT_ONCE // max(1, table.size))
    for begun in range(0, resamples, at_once):
        size = (min(at_once, resamples - begun), *table.shape)
        rows = rng.integers(0, np.maximum(count, 1), size=size)
        drawn = np.take_along_axis(packed[np.newaxis], rows, axis=1)
        drawn[:, is_missing] = np.nan
        yield drawn


def interval(told: Floats, confidence: float) -> Floats:
    """Return the two ends that hold the middle *confidence* of *told*, over the first axis."""
    outside = 100 * (1 - confidence) / 2
    with np.errstate(invalid="ignore"):  # between two infinite values lies no number
        return np.asarray(np.percentile(told, [outside, 100 - outside], axis=0))


def _iqm_of_all(stack: Floats) -> Floats:
    return middle_mean(stack.reshape(len(stack), -1))
