from __future__ import annotations

import math
from array import array
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_telemetry.domain.downsample import Bucket, bucket_of
from mosaic_telemetry.domain.series import LEVELS, Rollup, Series, SeriesKey
from mosaic_telemetry.domain.timeline import StreamId

A_SERIES = Series(StreamId("run-1", 1), SeriesKey("loss"))


def grown(values: list[float], cuts: list[int]) -> tuple[Series, dict[tuple[int, int], Bucket]]:
    series, kept = A_SERIES, dict[tuple[int, int], Bucket]()
    for begin, end in pairwise(sorted({0, *cuts, len(values)})):
        rollups: list[Rollup]
        series, rollups = series.extend(array("d", range(begin, end)), array("d", values[begin:end]))
        kept.update({(rollup.level, rollup.place): rollup.bucket for rollup in rollups})
    return series, kept


@given(st.integers(1, 9000), st.lists(st.integers(0, 9000), max_size=12))
def test_rollups_do_not_depend_on_how_the_points_came(count: int, cuts: list[int]) -> None:
    values = [math.sin(number) for number in range(count)]

    series, kept = grown(values, [cut for cut in cuts if cut < count])

    assert series.count == count
    for level in LEVELS:
        expected = [
            bucket_of(range(begin, min(begin + level, count)), values[begin : begin + level])
            for begin in range(0, count, level)
        ]
        found = [kept[level, place] for place in range(len(expected))]
        assert [bucket[:6] for bucket in expected] == [bucket[:6] for bucket in found]
        assert [bucket.total for bucket in expected] == pytest.approx([bucket.total for bucket in found])


def test_a_series_remembers_where_its_extremes_were_first_reached() -> None:
    series, _ = grown([3.0, 1.0, 5.0, 1.0, 5.0], [2])

    assert (1.0, 1.0) == series.lowest
    assert (5.0, 2.0) == series.highest
    assert (4.0, 5.0) == (series.last_step, series.last_value)


def test_points_that_come_late_do_not_become_the_newest() -> None:
    series, _ = A_SERIES.extend([50.0, 51.0], [5.0, 6.0])

    series, _ = series.extend([10.0, 11.0], [1.0, 2.0])

    assert (51.0, 6.0) == (series.last_step, series.last_value)
    assert series.first_step == 10.0


def test_a_series_of_nothing_but_holes_has_no_extremes() -> None:
    series, _ = A_SERIES.extend([0.0], [math.nan])

    assert series.lowest is None
    assert series.highest is None
    assert series.count == 1


def test_equal_names_of_other_streams_are_other_series() -> None:
    ids = {
        Series(StreamId(run_id, attempt), SeriesKey(name, agent)).series_id
        for run_id in ("a", "b")
        for attempt in (1, 2)
        for name in ("x", "y")
        for agent in ("", "x")
    }

    assert len(ids) == 16
    assert all(0 <= number < 2**63 for number in ids)
