"""`mosaic.statistics` gives the numbers of `rliable`, and with the same draws the very same intervals."""

from __future__ import annotations

import numpy as np
import pytest

from mosaic.statistics import bootstrap, iqm, performance_profile, probability_of_improvement
from tests.unit.statistics.oracle import SameDraws, library, metrics

SHAPES = [(2, 1), (3, 1), (5, 1), (10, 1), (4, 3), (7, 5), (30, 2)]
RESAMPLES = 300


def scores(shape: tuple[int, int], seed: int, *, ties: bool = False) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(100, 40, shape)
    return np.round(drawn, -1) if ties else drawn


def rliable_interval(func: object, given: object, seed: int) -> tuple[np.ndarray, np.ndarray]:
    np.random.seed(seed)
    values, intervals = library.get_interval_estimates({"x": given}, func, reps=RESAMPLES)
    return values["x"], intervals["x"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ties", [False, True])
def test_the_interquartile_mean_and_its_interval_are_those_of_rliable(shape: tuple[int, int], ties: bool) -> None:
    given = scores(shape, 1, ties=ties)
    value, ((low,), (high,)) = rliable_interval(lambda x: np.array([metrics.aggregate_iqm(x)]), given, 7)

    told = bootstrap(given, resamples=RESAMPLES, rng=SameDraws(7, RESAMPLES, shape))

    assert pytest.approx(value[0]) == told.value == iqm(given)
    assert pytest.approx((low, high)) == (told.low, told.high)
    assert given.size == told.n


def test_our_own_draws_lead_to_the_same_interval_but_for_chance() -> None:
    given = scores((10, 3), 2)
    np.random.seed(1)
    _, intervals = library.get_interval_estimates(
        {"x": given}, lambda x: np.array([metrics.aggregate_iqm(x)]), reps=10_000
    )

    told = bootstrap(given, resamples=50_000)

    width = told.high - told.low
    assert np.abs(intervals["x"].ravel() - (told.low, told.high)).max() < 0.05 * width


@pytest.mark.parametrize(
    ("x_shape", "y_shape"), [((5, 1), (5, 1)), ((3, 1), (8, 1)), ((6, 4), (4, 4)), ((2, 2), (9, 2))]
)
@pytest.mark.parametrize("ties", [False, True])
def test_the_probability_of_improvement_and_its_interval_are_those_of_rliable(
    x_shape: tuple[int, int], y_shape: tuple[int, int], ties: bool
) -> None:
    x, y = scores(x_shape, 3, ties=ties) + 20, scores(y_shape, 4, ties=ties)

    def func(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.array([metrics.probability_of_improvement(x, y)])

    value, ((low,), (high,)) = rliable_interval(func, (x, y), 11)
    told = probability_of_improvement(x, y, resamples=RESAMPLES, rng=SameDraws(11, RESAMPLES, x_shape, y_shape))

    assert pytest.approx(value[0]) == told.value
    assert pytest.approx((low, high)) == (told.low, told.high)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_performance_profile_and_its_band_are_those_of_rliable(shape: tuple[int, int]) -> None:
    given, levels = scores(shape, 5, ties=True), np.arange(0.0, 201.0, 20.0)
    np.random.seed(13)
    shares, bands = library.create_performance_profile({"x": given}, levels, reps=RESAMPLES)

    told = performance_profile(given, levels, resamples=RESAMPLES, rng=SameDraws(13, RESAMPLES, shape))

    np.testing.assert_allclose(told.shares, shares["x"])
    np.testing.assert_allclose([told.low, told.high], bands["x"])
