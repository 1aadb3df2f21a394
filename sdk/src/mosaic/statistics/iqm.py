"""The interquartile mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mosaic.statistics.scores import Floats

#: Part of the scores that is left out at each end.
_TRIMMED = 0.25


def iqm(scores: ArrayLike) -> float:
    """Return the mean of the middle half of all *scores*, over seeds and tasks alike.

    Of n scores the int(n / 4) lowest and as many highest are left out, so of fewer than four it is the mean. It moves
    less than the mean by one lucky seed, and needs fewer seeds than the median. NaN without any score.
    """
    return float(middle_mean(np.ravel(np.asarray(scores, dtype=np.float64))))


def middle_mean(values: Floats) -> Floats:
    """Return the interquartile mean over the last axis, for all the others at once; NaN is no score."""
    ordered = np.sort(values, axis=-1)  # NaN comes last
    count = np.count_nonzero(~np.isnan(ordered), axis=-1)[..., np.newaxis]
    cut = (count * _TRIMMED).astype(np.int64)
    place = np.arange(ordered.shape[-1])
    kept = (place >= cut) & (place < count - cut)
    with np.errstate(invalid="ignore"):  # of both infinities there is no sum
        total = np.sum(ordered, axis=-1, where=kept)
    size = (count - 2 * cut)[..., 0]
    return np.asarray(np.divide(total, size, out=np.full(np.shape(total), np.nan), where=size > 0))
