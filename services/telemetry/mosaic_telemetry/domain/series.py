"""One metric of one agent in one attempt: its summary and its rollups, folded as points arrive."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from mosaic_telemetry.domain.downsample import Bucket, bucket_of, joined
from mosaic_telemetry.domain.timeline import StreamId

#: Points per bucket of each rollup, finest first; each divides the next. A curve of fewer points than a
#: chart has buckets of the finest level is thinned from the points themselves, which is as fast.
LEVELS = (256, 4096)


#: Units of a series whose steps are those of training; others count updates, or seconds.
_TRAINING_UNITS = ("", "env_steps")


class SeriesKey(NamedTuple):
    """What a series is called."""

    name: str
    #: Empty when the metric belongs to no agent in particular.
    agent: str = ""


class Extreme(NamedTuple):
    """A value and where it was first reached."""

    value: float
    step: float


class Rollup(NamedTuple):
    """A bucket in its place: number *place* of its *level*."""

    level: int
    place: int
    bucket: Bucket


@dataclass(frozen=True, slots=True)
class Series:
    """What is known of a series without reading its points."""

    stream: StreamId
    key: SeriesKey
    unit: str = ""
    count: int = 0
    first_step: float = math.nan
    last_step: float = math.nan
    last_value: float = math.nan
    lowest: Extreme | None = None
    highest: Extreme | None = None
    #: The bucket of each level that is not full yet, in the order of `LEVELS`.
    open_buckets: tuple[Bucket | None, ...] = field(default=(None,) * len(LEVELS))

    @property
    def series_id(self) -> int:
        """A number that every process computes alike, so that none must ask for it."""
        text = "\x00".join((self.stream.run_id, str(self.stream.attempt), self.key.name, self.key.agent))
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 1

    @property
    def is_in_training_steps(self) -> bool:
        """Whether its steps can be compared with that of a checkpoint."""
        return counts_training_steps(self.unit)

    def continuing(self, earlier: Series) -> Series:
        """Return the series with what was kept of an *earlier* attempt before it; its rollups are not."""
        return replace(
            self,
            count=earlier.count + self.count,
            first_step=min(earlier.first_step, self.first_step),
            lowest=_first_best((earlier.lowest, self.lowest), min),
            highest=_first_best((earlier.highest, self.highest), max),
        )

    def extend(self, steps: Sequence[float], values: Sequence[float]) -> tuple[Series, list[Rollup]]:
        """Return the series with the points added, and every rollup that this changed."""
        rollups: list[Rollup] = []
        pieces = _pieces(self.count, steps, values)
        open_buckets = list(self.open_buckets)
        for number, level in enumerate(LEVELS):
            changed, open_buckets[number] = _roll_up(level, self.count, open_buckets[number], pieces)
            rollups += changed
        buckets = [bucket for _, bucket in pieces]
        first_step = steps[0] if not self.count else min(self.first_step, *(bucket.step_first for bucket in buckets))
        # A frame that comes late does not make an old value the newest.
        is_newest = not self.count or steps[-1] >= self.last_step
        extended = replace(
            self,
            count=self.count + len(values),
            first_step=first_step,
            last_step=steps[-1] if is_newest else self.last_step,
            last_value=values[-1] if is_newest else self.last_value,
            lowest=_lowest(self.lowest, buckets, steps, values),
            highest=_highest(self.highest, buckets, steps, values),
            open_buckets=tuple(open_buckets),
        )
        return extended, rollups


def _first_best(extremes: Iterable[Extreme | None], better: Callable[..., Extreme | None]) -> Extreme | None:
    return better((one for one in extremes if one is not None), key=lambda one: one.value, default=None)


def counts_training_steps(unit: str) -> bool:
    """Tell whether *unit* is that of training itself."""
    return unit in _TRAINING_UNITS


def _pieces(start: int, steps: Sequence[float], values: Sequence[float]) -> list[tuple[int, Bucket]]:
    """Cut the points at the borders of the finest level; each piece keeps the index of its first point."""
    finest = LEVELS[0]
    pieces: list[tuple[int, Bucket]] = []
    done = 0
    while done < len(values):
        end = min(len(values), done + finest - (start + done) % finest)
        pieces.append((start + done, bucket_of(steps[done:end], values[done:end])))
        done = end
    return pieces


def _roll_up(
    level: int, start: int, open_bucket: Bucket | None, pieces: Sequence[tuple[int, Bucket]]
) -> tuple[list[Rollup], Bucket | None]:
    """Join *pieces* into the buckets of *level*; return those touched and the one still open."""
    touched: list[Rollup] = []
    current, index = open_bucket, start // level
    for first, piece in pieces:
        if first // level != index:
            assert current is not None
            touched.append(Rollup(level, index, current))
            current, index = None, first // level
        current = piece if current is None else joined(current, piece)
    assert current is not None
    touched.append(Rollup(level, index, current))
    is_full = (start + sum(piece.points for _, piece in pieces)) % level == 0
    return touched, None if is_full else current


def _lowest(
    known: Extreme | None, buckets: Sequence[Bucket], steps: Sequence[float], values: Sequence[float]
) -> Extreme | None:
    candidate = min((bucket.minimum for bucket in buckets if bucket.numbers), default=None)
    if candidate is None or (known is not None and known.value <= candidate):
        return known
    return Extreme(candidate, steps[values.index(candidate)])


def _highest(
    known: Extreme | None, buckets: Sequence[Bucket], steps: Sequence[float], values: Sequence[float]
) -> Extreme | None:
    candidate = max((bucket.maximum for bucket in buckets if bucket.numbers), default=None)
    if candidate is None or (known is not None and known.value >= candidate):
        return known
    return Extreme(candidate, steps[values.index(candidate)])
