from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mosaic_telemetry.domain.ranges import SeqRanges

some_range = st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1]))
some_ranges = st.lists(some_range, max_size=12)


def numbers_in(ranges: list[tuple[int, int]]) -> set[int]:
    return {number for first, last in ranges for number in range(first, last + 1)}


def heard(ranges: list[tuple[int, int]]) -> SeqRanges:
    known = SeqRanges()
    for first, last in ranges:
        known = known.with_range(first, last)
    return known


@given(some_ranges)
def test_it_holds_what_was_added_whatever_the_order(ranges: list[tuple[int, int]]) -> None:
    known = heard(ranges)

    assert numbers_in(list(known.ranges)) == numbers_in(ranges)
    assert known.count == len(numbers_in(ranges))
    assert known == heard(ranges[::-1])


@given(some_ranges)
def test_its_ranges_are_sorted_and_never_touch(ranges: list[tuple[int, int]]) -> None:
    found = heard(ranges).ranges

    assert all(later[0] > earlier[1] + 1 for earlier, later in pairwise(found))


@given(some_ranges, some_range)
def test_what_is_missing_is_the_rest(ranges: list[tuple[int, int]], asked: tuple[int, int]) -> None:
    missing = heard(ranges).missing(*asked)

    assert numbers_in(missing) == numbers_in([asked]) - numbers_in(ranges)
