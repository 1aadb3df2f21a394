"""Which sequence numbers were heard, as closed ranges: duplicates and disorder are normal."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SeqRanges:
    """A set of sequence numbers that is nearly always one range from 0."""

    #: Sorted, disjoint and never adjacent.
    ranges: tuple[Range, ...] = ()

    @property
    def count(self) -> int:
        """How many numbers are in it."""
        return sum(last - first + 1 for first, last in self.ranges)

    @property
    def last(self) -> int:
        """The highest number, -1 when there is none."""
        return self.ranges[-1][1] if self.ranges else -1

    def with_range(self, first: int, last: int) -> SeqRanges:
        """Return the set with *first* to *last* added."""
        begin = bisect_left(self.ranges, first - 1, key=lambda known: known[1])
        end = bisect_right(self.ranges, last + 1, key=lambda known: known[0])
        touched = self.ranges[begin:end]
        if touched:
            first, last = min(first, touched[0][0]), max(last, touched[-1][1])
        return SeqRanges((*self.ranges[:begin], (first, last), *self.ranges[end:]))

    def missing(self, first: int, last: int) -> list[Range]:
        """Return the parts of *first* to *last* that are not in it, in order."""
        parts: list[Range] = []
        begin = bisect_left(self.ranges, first, key=lambda known: known[1])
        for known_first, known_last in self.ranges[begin:]:
            if known_first > last:
                break
            if first < known_first:
                parts.append((first, known_first - 1))
            first = max(first, known_last + 1)
        return [*parts, (first, last)] if first <= last else parts
