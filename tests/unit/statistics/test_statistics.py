"""What `mosaic.statistics` makes of few seeds, of none, of scores that are missing, and of curves that end early."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.statistics import (
    Estimate,
    align,
    band,
    bootstrap,
    iqm,
    performance_profile,
    probability_of_improvement,
)

NAN = math.nan
SCORES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        pytest.param([3.0], 3.0, id="one score is its own mean"),
        pytest.param([1, 2, 6], 3.0, id="of fewer than four nothing is left out"),
        pytest.param([-1000, 1, 3, 1000], 2.0, id="of four the lowest and the highest"),
        pytest.param([0, 1, 2, 3, 1000], 2.0, id="of five one at each end"),
        pytest.param([1, 2, NAN, 6], 3.0, id="what is missing is no score"),
        pytest.param([-math.inf, 1, 3, 5], 2.0, id="one that diverged is trimmed like any other extreme"),
    ],
)
def test_the_interquartile_mean(scores: list[float], expected: float) -> None:
    assert expected == iqm(scores)


@pytest.mark.parametrize("scores", [[], [NAN, NAN]])
def test_without_any_score_there_is_no_mean(scores: list[float]) -> None:
    assert math.isnan(iqm(scores))
    told = bootstrap(scores)
    assert (True, None, None, 0, "no seed: no interval") == (
        math.isnan(told.value), told.low, told.high, told.n, told.note,
    )  # fmt: skip


def test_one_seed_has_a_value_but_no_interval_and_says_so() -> None:
    assert Estimate(5.0, None, None, 1, "one seed: no interval") == bootstrap([5.0, NAN])
    assert Estimate(1.0, None, None, 4, "one seed: no interval") == probability_of_improvement([5.0], [1.0, 2.0, 3.0])
    assert performance_profile([5.0], [1.0]).low is None


def test_one_task_with_one_seed_leaves_the_whole_without_an_interval() -> None:
    told = bootstrap([[1.0, 5.0], [2.0, NAN], [3.0, NAN]])

    assert (4, None, "one seed: no interval") == (told.n, told.low, told.note)


def test_equal_scores_have_an_interval_without_width_and_improve_on_each_other_half_the_time() -> None:
    told = bootstrap([7.0] * 5)
    assert (7.0, 7.0, 7.0) == (told.value, told.low, told.high)

    better = probability_of_improvement([7.0] * 5, [7.0] * 3)
    assert (0.5, 0.5, 0.5) == (better.value, better.low, better.high)


def test_a_missing_seed_gives_the_interval_of_those_that_are_there() -> None:
    whole, holed = np.array([1.0, 2.0, 4.0, 8.0]), np.array([1.0, NAN, 2.0, 4.0, NAN, 8.0])

    told = bootstrap(holed, resamples=40_000)
    expected = bootstrap(whole, resamples=40_000)

    assert (4, expected.value) == (told.n, told.value)
    assert pytest.approx((expected.low, expected.high), rel=0.02) == (told.low, told.high)


def test_tasks_are_resampled_by_themselves() -> None:
    """Two tasks far apart: if seeds could change the task, the interval would reach from one to the other."""
    told = bootstrap([[0.0, 1000.0], [1.0, 1001.0], [2.0, 1002.0], [3.0, 1003.0]])

    assert told.low is not None
    assert told.high is not None
    assert 490 < told.low <= told.value <= told.high < 515


def test_an_equal_generator_gives_an_equal_interval() -> None:
    scores = np.random.default_rng(0).normal(size=20)

    assert bootstrap(scores, rng=3) == bootstrap(scores, rng=np.random.default_rng(3))
    assert bootstrap(scores, rng=3) != bootstrap(scores, rng=4)


def test_a_statistic_of_ones_own_is_resampled_as_well() -> None:
    told = bootstrap([1.0, 2.0, 9.0], lambda stack: stack.mean(axis=(1, 2)))

    assert 4.0 == told.value


def test_so_many_resamples_as_do_not_fit_at_once_are_drawn_in_turns() -> None:
    told = bootstrap(np.arange(1000.0), resamples=5000)

    assert told.low is not None
    assert told.high is not None
    assert told.low < told.value < told.high


@given(SCORES)
def test_the_mean_of_the_middle_lies_among_the_scores_and_its_interval_around_no_less(scores: list[float]) -> None:
    told = bootstrap(scores, resamples=200)
    slack = 1e-9 * (1 + max(map(abs, scores)))

    assert min(scores) - slack <= told.value <= max(scores) + slack
    if told.low is not None and told.high is not None:
        assert min(scores) - slack <= told.low <= told.high <= max(scores) + slack


@given(SCORES, SCORES)
def test_one_of_two_is_better_or_the_other_and_ties_count_half(x: list[float], y: list[float]) -> None:
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a in x for b in y]

    better = probability_of_improvement(x, y, resamples=2).value
    worse = probability_of_improvement(y, x, resamples=2).value

    assert pytest.approx(sum(pairs) / len(pairs)) == better
    assert pytest.approx(1.0) == better + worse


def test_different_tasks_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="1 tasks cannot be compared with 2"):
        probability_of_improvement([1.0], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="scores are"):
        bootstrap(np.zeros((2, 2, 2)))


def test_infinite_scores_are_extremes_and_no_reason_to_warn() -> None:
    assert 2.0 == bootstrap([math.inf, -math.inf, 1.0, 3.0, 2.0]).value


def test_a_profile_counts_what_is_strictly_above() -> None:
    told = performance_profile([1.0, 2.0, 3.0, NAN], [0.0, 1.0, 3.0])

    assert ([1.0, pytest.approx(2 / 3), 0.0], 3) == (list(told.shares), told.n)


def test_no_curve_is_drawn_before_its_first_point_or_past_its_last() -> None:
    long, short = ([0, 10, 20, 30], [0.0, 1.0, 2.0, 3.0]), ([5, 15], [5.0, 6.0])

    told = align([long, short], [0, 5, 10, 15, 20, 30])

    np.testing.assert_equal(told.values, [[0, 0, 1, 1, 2, 3], [NAN, 5, 5, 6, NAN, NAN]])
    assert [1, 2, 2, 2, 1, 1] == list(told.n)


def test_between_two_points_the_value_is_the_one_before_or_on_the_line() -> None:
    curve = ([0, 10], [0.0, 1.0])

    assert [0.0, 0.0, 1.0] == list(align([curve], [0, 4, 10]).values[0])
    assert [0.0, 0.4, 1.0] == list(align([curve], [0, 4, 10], how="linear").values[0])


def test_points_come_in_any_order_and_the_last_told_at_a_step_counts() -> None:
    told = align([([20, 10, 10, 30, NAN], [2.0, 1.0, 5.0, NAN, 9.0])], [10, 20, 30])

    np.testing.assert_equal(told.values, [[5.0, 2.0, NAN]])


def test_an_even_grid_reaches_from_the_first_step_to_the_last_of_all_runs() -> None:
    told = align([([0, 50], [1.0, 1.0]), ([10, 100], [2.0, 2.0]), ([], [])], 5)

    assert [0, 25, 50, 75, 100] == list(told.steps)
    assert [1, 2, 2, 1, 1] == list(told.n)


def test_without_any_point_there_are_no_steps() -> None:
    for curves in ([], [([], [])]):
        told = band(align(curves))
        assert (0, 0) == (len(told.steps), len(told.iqm))


def test_a_curve_has_as_many_steps_as_values() -> None:
    with pytest.raises(ValueError, match="as many steps as values"):
        align([([1, 2], [1.0])])


def test_the_band_of_a_step_is_the_interval_of_the_runs_that_got_there() -> None:
    rows = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, NAN], [6.0, 9.0, NAN]])

    told = band(align([([0, 1, 2], row) for row in rows], [0, 1, 2]), resamples=20_000)

    assert [3, 3, 1] == list(told.n)
    for at in (0, 1):
        expected = bootstrap(rows[:, at], resamples=20_000)
        assert pytest.approx(expected.value) == told.iqm[at]
        assert pytest.approx((expected.low, expected.high), rel=0.05) == (told.low[at], told.high[at])
    assert 3.0 == told.iqm[2]
    assert math.isnan(told.low[2])
    assert math.isnan(told.high[2])
