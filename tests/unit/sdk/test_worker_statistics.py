"""The numbers that stand for a set of returns."""

from __future__ import annotations

import math
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.worker.statistics import bootstrap_interval, interquartile_mean, summarise_returns

RETURNS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([7.0], 7.0),
        ([1.0, 3.0], 2.0),
        ([0.0, 1.0, 3.0, 1000.0], 2.0),
        # A quarter of five is 1.25 values from each end: 2 and 4 count three quarters each.
        ([1.0, 2.0, 3.0, 4.0, 1000.0], 3.0),
        ([-50.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 900.0], 1.0),
    ],
)
def test_the_interquartile_mean_is_the_mean_of_the_middle_half(values: list[float], expected: float) -> None:
    assert expected == pytest.approx(interquartile_mean(values))


@given(RETURNS)
def test_the_interquartile_mean_lies_within_the_values_and_ignores_their_order(values: list[float]) -> None:
    found = interquartile_mean(values)

    assert min(values) - 1e-6 <= found <= max(values) + 1e-6
    assert found == interquartile_mean(values[::-1])


def test_the_interval_holds_the_mean_and_narrows_with_more_values() -> None:
    few, many = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0] * 25

    low, high = bootstrap_interval(few)
    narrow_low, narrow_high = bootstrap_interval(many)

    assert low < fmean(few) < high
    assert narrow_high - narrow_low < (high - low) / 3


def test_the_same_seed_gives_the_same_interval() -> None:
    values = [1.03, 5.11, 2.7, 8.9, 3.3, 4.21, 6.17]

    assert bootstrap_interval(values, seed=3) == bootstrap_interval(values, seed=3)
    assert bootstrap_interval(values, seed=3) != bootstrap_interval(values, seed=4)


def test_equal_returns_leave_nothing_uncertain() -> None:
    summary = summarise_returns([500.0] * 5)

    assert (5, 500.0, 500.0, (500.0, 500.0)) == (
        summary.count,
        summary.mean_return,
        summary.iqm_return,
        summary.iqm_ci,
    )


def test_no_returns_are_not_a_number_instead_of_an_error() -> None:
    summary = summarise_returns([])

    assert summary.count == 0
    assert math.isnan(summary.mean_return)
    assert math.isnan(summary.mean_ci[0])


def test_a_summary_is_plain_json() -> None:
    document = summarise_returns([1.0, 2.0]).to_dict()

    assert [1.0, 2.0] == document["mean_ci"]
    assert document["confidence"] == 0.95
