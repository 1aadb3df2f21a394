"""Scores as every function here takes them: seeds down, tasks across, NaN where a seed has none."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def as_scores(scores: ArrayLike) -> Floats:
    """Return *scores* as ``(seeds, tasks)``; a plain list is of one task.

    Raises:
        ValueError: they have more than two dimensions.
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim > 2:
        raise ValueError(f"scores are (seeds,) or (seeds, tasks), not {table.shape}")
    return table.reshape(-1, 1) if table.ndim < 2 else table


def counts(table: Floats) -> NDArray[np.int64]:
    """Return how many seeds of each task have a score."""
    return np.asarray(np.count_nonzero(~np.isnan(table), axis=0), dtype=np.int64)
