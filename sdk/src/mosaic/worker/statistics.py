"""What a handful of returns comes to: the mean, the interquartile mean and how sure one may be of them.

Few seeds and heavy tails are the rule in reinforcement learning. The interquartile mean forgives single
lucky or broken episodes, and the bootstrap assumes nothing about the distribution.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, pstdev
from typing import Any

#: How often the sample is drawn anew; more makes the interval steadier, not narrower.
RESAMPLES = 2_000

Statistic = Callable[[Sequence[float]], float]


@dataclass(frozen=True)
class ReturnSummary:
    """A set of episode returns in a few numbers; all are NaN when there was no episode."""

    count: int
    mean_return: float
    std_return: float
    min_return: float
    max_return: float
    iqm_return: float
    #: Bounds of the confidence interval of the mean, then of the interquartile mean.
    mean_ci: tuple[float, float]
    iqm_ci: tuple[float, float]
    confidence: float = 0.95

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def summarise_returns(returns: Sequence[float], *, seed: int = 0, confidence: float = 0.95) -> ReturnSummary:
    """Summarise *returns*; the same returns and *seed* always give the same intervals."""
    values = [float(value) for value in returns]
    if not values:
        nothing = math.nan
        return ReturnSummary(0, *(nothing,) * 5, mean_ci=(nothing, nothing), iqm_ci=(nothing, nothing))
    return ReturnSummary(
        count=len(values),
        mean_return=fmean(values),
        std_return=pstdev(values),
        min_return=min(values),
        max_return=max(values),
        iqm_return=interquartile_mean(values),
        mean_ci=bootstrap_interval(values, fmean, seed=seed, confidence=confidence),
        iqm_ci=bootstrap_interval(values, interquartile_mean, seed=seed, confidence=confidence),
        confidence=confidence,
    )


def interquartile_mean(values: Sequence[float]) -> float:
    """Return the mean of the middle half of *values*, NaN when there are none.

    A quarter of the weight is cut from either end; a value on the edge counts for the part that remains,
    so that the result does not jump with the number of values.
    """
    if not values:
        return math.nan
    ordered = sorted(values)
    cut = len(ordered) / 4
    whole = math.floor(cut)
    inner = ordered[whole : len(ordered) - whole]
    if len(inner) == 1:
        return float(inner[0])
    edge = 1 - (cut - whole)
    total = math.fsum(inner[1:-1]) + edge * (inner[0] + inner[-1])
    return total / (len(inner) - 2 + 2 * edge)


def bootstrap_interval(
    values: Sequence[float],
    statistic: Statistic = fmean,
    *,
    seed: int = 0,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of *statistic* over *values*; NaN bounds when there are none."""
    if not values:
        return (math.nan, math.nan)
    generator = random.Random(seed)
    size = len(values)
    drawn = sorted(statistic(generator.choices(values, k=size)) for _ in range(resamples))
    tail = (1 - confidence) / 2
    return (_quantile(drawn, tail), _quantile(drawn, 1 - tail))


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
