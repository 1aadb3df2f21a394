"""What telemetry tells about runs, as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mosaic.client.frames import frame_of, frame_of_rows

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class EventLine:
    """One stamped line of a run, as the worker wrote it."""

    attempt: int
    seq: int
    time: float
    kind: str
    line: bytes

    def as_json(self) -> dict[str, Any]:
        """Return the event with its stamp; text that is no JSON object stands under ``text``."""
        try:
            event = json.loads(self.line)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            event = {"text": self.line.decode("utf-8", "replace")}
        return {
            "attempt": self.attempt,
            "seq": self.seq,
            "time": self.time,
            "kind": self.kind,
            "event": event,
        }


@dataclass(frozen=True, slots=True)
class SeriesInfo:
    """A curve that can be read."""

    name: str
    agent: str
    #: The newest that has it.
    attempt: int
    count: int
    last_step: float
    last_value: float
    min_value: float
    max_value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve in buckets: where several points fell into one, its extremes are kept."""

    name: str
    agent: str
    unit: str
    total_points: int
    steps: tuple[float, ...]
    means: tuple[float, ...]
    minima: tuple[float, ...]
    maxima: tuple[float, ...]
    counts: tuple[int, ...]
    #: The last value of each; not a number where the curve is so long that only sums of it were read.
    lasts: tuple[float, ...] = ()
    #: Means of the moving average over every point; empty unless it was asked for.
    smoothed: tuple[float, ...] = ()

    def to_pandas(self) -> pandas.DataFrame:
        """Return the buckets as a data frame; ``value`` is their mean, the very value where each holds one point.

        Raises:
            MosaicError: pandas is not installed.
        """
        columns = {"minimum": self.minima, "maximum": self.maxima, "points": self.counts}
        return frame_of({"step": self.steps, "value": self.means, **columns})


@dataclass(frozen=True, slots=True)
class Episode:
    """One finished episode."""

    attempt: int
    seq: int
    index: int
    agent: str
    episode_return: float
    length: int
    step: float
    time: float
    #: ``training``, ``agent``, ``evaluation`` or ``evaluation_agent``.
    kind: str = "training"
    #: False when a later attempt trained this stretch again.
    counted: bool = True


class Episodes(list[Episode]):
    """Episodes in order."""

    def to_pandas(self) -> pandas.DataFrame:
        """Return them as a data frame with a row for each.

        Raises:
            MosaicError: pandas is not installed.
        """
        return frame_of_rows(self, Episode)


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of log text."""

    attempt: int
    seq: int
    time: float
    stream: str
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What the evaluations of a run came to."""

    #: Episodes of all of them.
    count: int
    #: Of the newest evaluation.
    episodes: int
    mean_return: float
    #: Not a number where it was not told.
    step: float


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers of a run, of what counts; ``docs/reference/numbers.md`` says what that is."""

    run_id: str
    events: int
    #: The furthest step of training.
    last_step: float
    steps_per_s: float
    #: Over the newest hundred episodes of training; None before the first.
    mean_return: float | None
    #: Of training.
    episodes: int
    last_event_at: datetime | None
    #: Its manifest is written, or about to be.
    is_finished: bool
    best_return: float | None = None
    #: ``training``, or ``agents`` if the run told of nothing but several single agents.
    returns_of: str = "training"
    #: None before the first.
    evaluation: Evaluation | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of an ended run."""

    run_id: str
    content: Mapping[str, Any]
    digest: str
    path: str
