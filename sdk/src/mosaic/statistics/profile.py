"""Which part of the seeds gets how far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mosaic.statistics.bootstrap import CONFIDENCE, interval, resampled, why_no_interval
from mosaic.statistics.scores import Floats, as_scores, counts

_RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Profile:
    """Of each threshold, which part of all scores is above it."""

    thresholds: Floats
    shares: Floats
    #: None where there is no interval; `note` says why.
    low: Floats | None
    high: Floats | None
    n: int
    note: str = ""


def performance_profile(
    scores: ArrayLike,
    thresholds: ArrayLike,
    *,
    resamples: int = _RESAMPLES,
    confidence: float = CONFIDENCE,
    rng: np.random.Generator | int = 0,
) -> Profile:
    """Return for each threshold the part of all scores, over seeds and tasks, that is strictly above it.

    A profile that is nowhere below another one is better whatever score one cares for. The interval is that of
    `bootstrap`, for each threshold by itself.
    """
    table, levels = as_scores(scores), np.asarray(thresholds, dtype=np.float64)
    shares, n = _shares_above(table[np.newaxis], levels)[0], int(counts(table).sum())
    note = why_no_interval(table)
    if note:
        return Profile(levels, shares, None, None, n, note)
    draws = resampled(table, resamples, np.random.default_rng(rng))
    low, high = interval(np.concatenate([_shares_above(drawn, levels) for drawn in draws]), confidence)
    return Profile(levels, shares, low, high, n)


def _shares_above(stack: Floats, levels: Floats) -> Floats:
    told = np.sum(~np.isnan(stack), axis=(1, 2))
    above = np.stack([np.sum(stack > level, axis=(1, 2)) for level in levels], axis=-1)
    return np.asarray(above / np.where(told > 0, told, np.nan)[:, np.newaxis])
