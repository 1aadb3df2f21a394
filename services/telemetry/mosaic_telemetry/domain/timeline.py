"""What is known of one attempt's stream, folded from frames in whatever order they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from mosaic_telemetry.domain.ranges import Range, SeqRanges
from mosaic_telemetry.domain.tally import Tallies

#: How many marks of progress are kept to judge the present speed.
_MARKS = 24
_SIGNS_OF_TRAINING = ("metric", "episode", "step", "checkpoint_saved")
#: Marks closer together than this say more about batching than about training.
_MARK_SPACING_S = 1.0


class StreamId(NamedTuple):
    """One attempt of one run."""

    run_id: str
    attempt: int


class Mark(NamedTuple):
    """How far training was at a moment (unix seconds)."""

    time: float
    step: float


@dataclass(frozen=True, slots=True)
class Hearing:
    """What one piece of a stream adds to its timeline."""

    first_seq: int
    last_seq: int
    first_time: float
    last_time: float
    counts: Mapping[str, int]
    #: The furthest step any of its lines mentions.
    last_step: float | None = None
    episodes: Tallies = Tallies()


@dataclass(frozen=True, slots=True)
class Timeline:
    """The state of a stream. The same hearings in any order give the same heard numbers and counts."""

    stream: StreamId
    heard: SeqRanges = SeqRanges()
    #: Lines per kind of event.
    counts: Mapping[str, int] = field(default_factory=dict)
    first_time: float | None = None
    last_time: float | None = None
    last_step: float | None = None
    marks: tuple[Mark, ...] = ()
    episodes: Tallies = Tallies()

    def hear(self, hearing: Hearing) -> Timeline:
        """Return the timeline with *hearing* added; its numbers must be new (see `SeqRanges.missing`)."""
        firsts = [time for time in (self.first_time, hearing.first_time) if time is not None]
        lasts = [time for time in (self.last_time, hearing.last_time) if time is not None]
        steps = [step for step in (self.last_step, hearing.last_step) if step is not None]
        last_step = max(steps, default=None)
        return replace(
            self,
            heard=self.heard.with_range(hearing.first_seq, hearing.last_seq),
            counts=Counter(self.counts) + Counter(hearing.counts),
            first_time=min(firsts),
            last_time=max(lasts),
            last_step=last_step,
            marks=_marked(self.marks, hearing.last_time, last_step),
            episodes=self.episodes.plus(hearing.episodes) if hearing.episodes.by_kind else self.episodes,
        )

    def gaps(self, last_seq: int = -1) -> list[Range]:
        """Return the ranges that are missing up to *last_seq*, or to the last one heard if that is more."""
        return self.heard.missing(0, max(last_seq, self.heard.last))

    @property
    def has_trained(self) -> bool:
        """Whether anything was said of training."""
        return self.last_step is not None or any(self.counts.get(kind) for kind in _SIGNS_OF_TRAINING)

    def steps_per_s(self, went_on_at: float = 0.0) -> float:
        """Return the present speed of training, which began at step *went_on_at*; 0 when nothing tells it."""
        if len(self.marks) < 2:
            return self._mean_speed(went_on_at)
        first, last = self.marks[0], self.marks[-1]
        return (last.step - first.step) / (last.time - first.time)

    def _mean_speed(self, went_on_at: float) -> float:
        if self.last_step is None or self.first_time is None or self.last_time is None:
            return 0.0
        seconds = self.last_time - self.first_time
        return max(0.0, self.last_step - went_on_at) / seconds if seconds > 0 else 0.0


def _marked(marks: tuple[Mark, ...], time: float, step: float | None) -> tuple[Mark, ...]:
    if step is None or (marks and (time < marks[-1].time + _MARK_SPACING_S or step < marks[-1].step)):
        return marks
    return (*marks, Mark(time, step))[-_MARKS:]
