"""Read what a worker printed: events, chatter, and lines that are neither."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mosaic.worker.emitter import TERMINAL_EVENTS, LifecycleEventType

LIFECYCLE_EVENTS = frozenset(kind.value for kind in LifecycleEventType)
EVENT_KEYS = frozenset({"event", "payload", "run_id", "timestamp"})

#: Values that measure the machine, not the learning: they differ between equal runs.
_CLOCK_METRIC = re.compile(r"sps|fps|time|second|duration|wall|memory|cpu|gpu|per_s\b", re.IGNORECASE)
#: Where the kind of an event may stand, as readers of telemetry look for it.
_DISCRIMINATORS = ("event", "type", "event_type")
_EVENT_START = re.compile(r'\{\s*"event"\s*:')

#: One value of a run: what it is, at which step, and the number.
Point = tuple[str, Any, Any]


@dataclass(frozen=True)
class Line:
    """One line of stdout and when it was read, in seconds since the start."""

    text: str
    at_s: float
    is_complete: bool = True

    @cached_property
    def event(self) -> dict[str, Any] | None:
        """The event this line is, or None for chatter and for what cannot be read.

        Its kind is under ``event``, also where the line has it under another of the names that are read.
        """
        document = _strict_json(self.text)
        kinds = [document.get(name) for name in _DISCRIMINATORS] if isinstance(document, dict) else []
        kind = next((kind for kind in kinds if isinstance(kind, str)), None)
        return None if kind is None else {**document, "event": kind}

    def fault(self) -> str | None:
        """Say what is wrong with the line; chatter is never wrong."""
        starts = len(_EVENT_START.findall(self.text))
        looks_like_json = self.text.startswith("{") and self.text.rstrip().endswith("}")
        if not starts and not looks_like_json:
            return None
        if _strict_json(self.text) is None:
            return f"{clipped(self.text)!r} {_why_unreadable(self.text, starts)}"
        if self.event is not None and not self.is_complete:
            return f"{clipped(self.text)!r} does not end in a newline"
        return None


class Transcript:
    """Everything a worker wrote to stdout, in order."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines: tuple[Line, ...] = tuple(lines)

    @property
    def events(self) -> list[dict[str, Any]]:
        """Every event line, parsed."""
        return [line.event for line in self.lines if line.event is not None]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """Return the events called *kind*."""
        return [event for event in self.events if event["event"] == kind]

    @property
    def lifecycle(self) -> list[str]:
        """The names of the lifecycle events, in order."""
        return [event["event"] for event in self.events if event["event"] in LIFECYCLE_EVENTS]

    @property
    def terminal(self) -> str | None:
        """The name of the last terminal event, if one was printed."""
        ends = [name for name in self.lifecycle if name in TERMINAL_EVENTS]
        return ends[-1] if ends else None

    def times_of(self, kind: str) -> list[float]:
        """Return when each event called *kind* was read, in seconds since the start."""
        return [line.at_s for line in self.lines if line.event is not None and line.event["event"] == kind]

    def points(self) -> list[Point]:
        """Return the learning values of the run: metrics and episodes, without those of the clock."""
        return [point for event in self.events for point in _points_of(event)]


def clipped(text: str, limit: int = 80) -> str:
    """Return *text* on one line, cut to *limit* characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def payload_of(event: dict[str, Any]) -> dict[str, Any]:
    """Return the payload of *event*; upstream's step and episode lines carry their fields on top."""
    payload = event.get("payload")
    return payload if isinstance(payload, dict) else event


def first_difference(left: Sequence[Point], right: Sequence[Point]) -> str | None:
    """Say where two lists of points part, or None when they are equal to the bit."""
    for index, (ours, theirs) in enumerate(zip(left, right, strict=False)):
        if repr(ours) != repr(theirs):
            return f"value {index + 1}: {_told(ours)} against {_told(theirs)}"
    if len(left) != len(right):
        return f"{len(left)} values against {len(right)}"
    return None


def _points_of(event: dict[str, Any]) -> list[Point]:
    payload = payload_of(event)
    if event["event"] == "metric":
        name = str(payload.get("name"))
        return [] if _CLOCK_METRIC.search(name) else [(name, payload.get("step"), payload.get("value"))]
    if event["event"] in ("episode", "episode_end", "episode_done"):
        index = payload.get("episode_index", payload.get("episode"))
        at = payload.get("step", index)
        keys = ("total_reward", "episode_return", "steps", "num_steps", "episode_length")
        return [(f"episode {index} {key}", at, payload[key]) for key in keys if key in payload]
    return []


def _told(point: Point) -> str:
    name, step, value = point
    return f"{name}={value!r} at {step!r}"


def _strict_json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _why_unreadable(text: str, starts: int) -> str:
    if starts > 1:
        return "holds two events in one line: write each with one call that ends in a newline"
    if starts and not text.startswith("{"):
        return "has other text before the event: end every print with a newline"
    if re.search(r"\b(NaN|Infinity)\b", text):
        return "holds NaN or Infinity, which is not JSON: the emitter of mosaic.worker writes it safely"
    return "looks like JSON but is not"
