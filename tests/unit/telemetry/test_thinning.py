from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_telemetry.domain.thinning import Buckets, as_points, cut_for, gathered, smooth

some_values = st.lists(st.floats(-1e6, 1e6) | st.just(math.nan), min_size=1, max_size=200)
some_ends = st.tuples(st.floats(-1e12, 1e12), st.floats(0, 1e12)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def thinned(values: list[float], resolution: int, stretch: float = 1.0) -> Buckets:
    steps = np.arange(len(values), dtype=np.float64) * stretch
    return gathered(as_points(steps, np.array(values)), cut_for(0.0, steps[-1], resolution))


@given(some_values, st.integers(1, 30), st.sampled_from([0.001, 1.0, 1000.0]))
def test_thinning_never_hides_an_extreme_or_loses_a_point(values: list[float], resolution: int, stretch: float) -> None:
    buckets = thinned(values, resolution, stretch)
    numbers = [value for value in values if value == value]

    assert len(buckets) <= resolution
    assert (len(values), len(numbers)) == (sum(buckets.points), sum(buckets.numbers))
    if numbers:
        assert (min(numbers), max(numbers)) == (np.nanmin(buckets.minima), np.nanmax(buckets.maxima))
    assert buckets.lasts[-1] == values[-1] or math.isnan(values[-1])


@given(some_ends, st.integers(1, 2000), st.booleans())
def test_the_finest_cut_that_fits_is_taken(ends: tuple[float, float], resolution: int, is_log: bool) -> None:
    low, high = (abs(end) + 1e-6 for end in sorted(map(abs, ends))) if is_log else ends
    cut = cut_for(low, high, resolution, is_log=is_log)
    finer = type(cut)(cut.exponent - 1, is_log)

    first, last = cut.places(np.array([low, high]))

    assert last - first + 1 <= resolution
    if high - low > 1e-3 * (1 + abs(low)) and resolution > 2:
        first, last = finer.places(np.array([low, high]))
        assert last - first + 1 > resolution


@given(st.integers(200, 900), st.integers(1, 100))
def test_a_point_stays_in_its_bucket_when_others_follow(count: int, more: int) -> None:
    cut = cut_for(0.0, count, 50)
    steps = np.arange(count + more, dtype=np.float64)

    before, after = (gathered(as_points(some, np.sin(some)), cut) for some in (steps[:count], steps))

    settled = len(before) - 1
    assert before.means[:settled].tolist() == after.means[:settled].tolist()
    assert before.first[:settled].tolist() == after.first[:settled].tolist()


def test_points_are_put_into_the_order_of_x() -> None:
    buckets = as_points(np.array([3.0, 1.0, 2.0]), np.array([30.0, 10.0, 20.0]))

    assert [10.0, 20.0, 30.0] == buckets.means.tolist()


def test_infinity_is_an_extreme_and_what_is_no_number_is_none() -> None:
    (bucket,) = [gathered(as_points(np.arange(3.0), np.array([math.inf, math.nan, -math.inf])), cut_for(0, 2, 1))]

    assert (3, 2) == (bucket.points[0], bucket.numbers[0])
    assert (-math.inf, math.inf) == (bucket.minima[0], bucket.maxima[0])
    assert math.isnan(bucket.means[0])


@pytest.mark.parametrize("weight", [0.001, 0.5, 0.9, 0.999])
def test_smoothing_is_the_plain_moving_average_of_every_point(weight: float) -> None:
    values = np.random.default_rng(1).normal(100.0, 5.0, 5000)
    expected, average = [], 0.0
    for place, value in enumerate(values, start=1):
        average = average * weight + (1 - weight) * value
        expected.append(average / (1 - weight**place))

    assert expected == pytest.approx(smooth(values, weight).tolist(), rel=1e-9)


def test_smoothing_leaves_out_what_is_no_finite_number() -> None:
    told = smooth(np.array([math.nan, 2.0, math.inf, 2.0]), 0.9)

    assert [True, False, True, False] == np.isnan(told).tolist()
    assert pytest.approx([2.0, 2.0]) == told[[1, 3]].tolist()
