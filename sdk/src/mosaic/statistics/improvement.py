"""How likely one set of seeds does better than another."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mosaic.statistics.bootstrap import CONFIDENCE, RESAMPLES, Estimate, interval, resampled, why_no_interval
from mosaic.statistics.scores import Floats, as_scores, counts


def probability_of_improvement(
    scores: ArrayLike,
    baseline: ArrayLike,
    *,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    rng: np.random.Generator | int = 0,
) -> Estimate:
    """Return how likely a random seed of *scores* is above a random seed of *baseline*, averaged over tasks.

    Of each task it is the part of all pairs of seeds in which the first is higher; equal ones count half (the
    Mann-Whitney U over the number of pairs). It says how often, not by how much. Its interval is that of `bootstrap`,
    with both sides resampled by themselves; ``n`` is the number of scores of both.

    Raises:
        ValueError: the two have different tasks.
    """
    x, y = as_scores(scores), as_scores(baseline)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"{x.shape[1]} tasks cannot be compared with {y.shape[1]}")
    value, n = float(_share_above(x[np.newaxis], y[np.newaxis])[0]), int(counts(x).sum() + counts(y).sum())
    note = why_no_interval(x) or why_no_interval(y)
    if note:
        return Estimate(value, None, None, n, note)
    draws = np.random.default_rng(rng)
    of_x = np.concatenate(list(resampled(x, resamples, draws)))
    of_y = np.concatenate(list(resampled(y, resamples, draws)))
    low, high = interval(_share_above(of_x, of_y), confidence)
    return Estimate(value, float(low), float(high), n)


def _share_above(x: Floats, y: Floats) -> Floats:
    """Return for each resample how many pairs have the higher one in *x*, averaged over tasks."""
    wins = np.zeros((len(x), x.shape[2]))
    for row in range(x.shape[1]):
        mine = x[:, row : row + 1]
        wins += np.sum((mine > y) + 0.5 * (mine == y), axis=1)
    pairs = _told(x) * _told(y)
    share = np.divide(wins, pairs, out=np.full(wins.shape, np.nan), where=pairs > 0)
    return np.asarray(np.mean(share, axis=1))


def _told(stack: Floats) -> Floats:
    return np.asarray(np.sum(~np.isnan(stack), axis=1, dtype=np.float64))
