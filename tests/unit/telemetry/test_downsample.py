from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_telemetry.domain.downsample import bucket_of, joined

some_values = st.lists(st.floats(-1e6, 1e6) | st.just(math.nan), min_size=1, max_size=200)


@given(some_values, some_values)
def test_joining_buckets_equals_the_bucket_of_all_points(left: list[float], right: list[float]) -> None:
    steps = [float(step) for step in range(len(left) + len(right))]

    whole = bucket_of(steps, left + right)
    pieces = joined(bucket_of(steps[: len(left)], left), bucket_of(steps[len(left) :], right))

    assert whole[:4] == pieces[:4]
    assert whole[4:] == pytest.approx(pieces[4:], nan_ok=True, abs=1e-6)


def test_infinity_is_an_extreme_and_not_a_number_is_none() -> None:
    bucket = bucket_of([1.0, 2.0, 3.0], [math.inf, math.nan, -math.inf])

    assert (3, 2) == (bucket.points, bucket.numbers)
    assert (-math.inf, math.inf) == (bucket.minimum, bucket.maximum)
    assert math.isnan(bucket.mean)


def test_a_bucket_is_drawn_in_the_middle_of_its_steps() -> None:
    assert bucket_of([10.0, 20.0], [1.0, 3.0]).middle == 15.0
    assert bucket_of([10.0, 20.0], [1.0, 3.0]).mean == 2.0
