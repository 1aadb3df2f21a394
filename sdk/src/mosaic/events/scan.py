"""Many lines at once, into what a store keeps; agrees with `read_line` on every line.

At 120,000 lines a second there is no time for a model per line. Lines of the plain form that our own
emitter writes are decoded by `mosaic.events.plain`; every other line goes through
`read_line`, so that there is one set of rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from mosaic.events import canon
from mosaic.events.envelope import Event
from mosaic.events.lifecycle import Heartbeat
from mosaic.events.plain import PLAIN, PlainMetric, PlainStep, Point
from mosaic.events.reader import Reading, Violation, read_line
from mosaic.events.text import LogLine
from mosaic.events.tolerant import is_label
from mosaic.events.training import Episode, Log, Metric, Step

#: Under which name `Scan.counts` counts lines that are no event.
TEXT = "text"
VIOLATION = "violation"

_NUMBERS = frozenset({float, int})
_NUMBERS_OR_NONE = _NUMBERS | {type(None)}
_FLAGS_OR_NONE = frozenset({bool, type(None)})
_MAX_COUNT = 2**63 - 1


class EpisodeRow(NamedTuple):
    """One ended episode; ``line`` is its place in the list that was scanned."""

    line: int
    episode_index: int | None
    episode_return: float
    length: int | None
    step: float | None
    agent: str | None
    terminated: bool | None
    truncated: bool | None
    seed: int | None
    evaluation: bool = False


@dataclass(slots=True)
class Series:
    """The points of one metric of one agent, as parallel lists in the order of their lines."""

    name: str
    agent: str | None
    first_line: int
    unit: str | None = None  #: as its first point has it
    steps: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Scan:
    """What is in a list of lines. Line numbers count from 0 in that list."""

    #: Lines per kind of event, plus `TEXT` and `VIOLATION`; they add up to the number of lines.
    counts: Counter[str] = field(default_factory=Counter)
    series: dict[tuple[str, str | None], Series] = field(default_factory=dict)
    episodes: list[EpisodeRow] = field(default_factory=list)
    #: Lines that are log text or ``log`` events; `read_line` renders them.
    logs: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    heartbeats: list[int] = field(default_factory=list)
    #: Every other event, read in full.
    events: list[tuple[int, Event]] = field(default_factory=list)
    violations: list[tuple[int, Violation]] = field(default_factory=list)


def scan_lines(lines: list[bytes]) -> Scan:
    """Sort *lines* into a `Scan`; never raises, and says of each line what `read_line` says."""
    scan = Scan()
    appenders = _Appenders(scan.series)
    decoded = map(PLAIN.decode, lines)
    number = 0
    while number < len(lines):
        plain: list[PlainMetric | PlainStep] = []
        # What was decoded before a line that is not plain stays, and the next round goes on behind that line.
        with suppress(ValueError, RecursionError, OverflowError):
            plain.extend(decoded)
        _sort_decoded(scan, appenders, plain, number, lines)
        number += len(plain)
        if number < len(lines):
            _sort(scan, number, lines[number])
            number += 1
    return scan


def _sort_decoded(
    scan: Scan, appenders: _Appenders, plain: list[PlainMetric | PlainStep], first: int, lines: list[bytes]
) -> None:
    steps_before, others = len(scan.steps), 0
    keep_move = scan.steps.append
    for number, event in enumerate(plain, first):
        if type(event) is PlainMetric:
            point = event.payload
            agent = point.agent
            try:
                keep_step, keep_value = appenders[point.name if agent is None else (point.name, agent)]
            except KeyError:
                if _names_a_series(point):
                    _add_point(scan, number, (point.name, agent), point.step, point.value, point.unit)
                else:
                    others += 1
                    _sort(scan, number, lines[number])
                continue
            keep_step(point.step)
            keep_value(point.value)
        else:
            keep_move(number)
    steps = len(scan.steps) - steps_before
    if steps:
        scan.counts["step"] += steps
    if len(plain) > steps + others:
        scan.counts["metric"] += len(plain) - steps - others


def _names_a_series(point: Point) -> bool:
    """Tell whether a series may be called what *point* calls it, word for word."""
    return all(word is None or is_label(word) for word in (point.name, point.agent, point.unit))


class _Appenders(dict[Any, tuple[Any, Any]]):
    """How to add a point to a series that is known, by ``name`` or ``(name, agent)``; KeyError for others."""

    def __init__(self, series: Mapping[tuple[str, str | None], Series]) -> None:
        self._series = series

    def __missing__(self, key: Any) -> tuple[Any, Any]:
        found = self._series[key if type(key) is tuple else (key, None)]
        self[key] = found.steps.append, found.values.append
        return self[key]


def fold(scan: Scan, number: int, reading: Reading) -> None:
    """Add what `read_line` said of line *number* to *scan*."""
    scan.counts[_count_name(reading)] += 1
    match reading:
        case Metric(payload=point):
            _add_point(scan, number, (point.name, point.agent), point.step, point.value, point.unit)
        case LogLine(points=points):
            scan.logs.append(number)
            for name, value, step in points:
                _add_point(scan, number, (name, None), step, value, None)
        case Log():
            scan.logs.append(number)
        case Step():
            scan.steps.append(number)
        case Heartbeat():
            scan.heartbeats.append(number)
        case Episode(payload=result):
            scan.episodes.append(_episode_row(number, result.model_dump()))
        case Violation():
            scan.violations.append((number, reading))
        case _:
            scan.events.append((number, reading))


def _sort(scan: Scan, number: int, line: bytes) -> None:
    record = _loads(line)
    is_object = type(record) is dict
    if not (_sort_plain(scan, number, record) if is_object else _sort_text(scan, number, line)):
        fold(scan, number, read_line(line))


def _loads(line: bytes) -> Any:
    if not line.startswith(b"{"):
        return None
    try:
        return orjson.loads(line)
    except ValueError:
        return None


def _sort_text(scan: Scan, number: int, line: bytes) -> bool:
    """Take a line that can be nothing but text."""
    if b"{" in line or b"[PROGRESS]" in line:
        return False
    scan.counts[TEXT] += 1
    scan.logs.append(number)
    return True


def _sort_plain(scan: Scan, number: int, record: dict[str, Any]) -> bool:
    """Take an event of a frequent kind, when it surely is one."""
    kind = record.get("event") if "event" in record else record.get("type")
    payload = record.get("payload")
    if "payload" in record and not (type(payload) is dict and _is_plain(record)):
        return False
    if kind == "step" and _is_sound_step(payload or record):
        scan.steps.append(number)
    elif kind == "heartbeat":
        scan.heartbeats.append(number)
    elif kind == "metric" and payload and not canon.metric(payload):
        key = payload["name"], payload.get("agent")
        _add_point(scan, number, key, payload["step"], payload["value"], payload.get("unit"))
    elif kind == "episode" and payload and not canon.episode(payload):
        scan.episodes.append(_episode_row(number, payload))
    elif kind == "log" and payload and type(payload.get("text")) is str:
        scan.logs.append(number)
    else:
        return False
    scan.counts[kind] += 1
    return True


def _is_plain(record: dict[str, Any]) -> bool:
    """Tell whether there are only the four keys of the wire, so that all else is in the payload."""
    return len(record) == 4 and "run_id" in record and "timestamp" in record


def _is_sound_step(fields: dict[str, Any]) -> bool:
    index = fields.get("step_index")
    return (
        type(index) is int
        and index <= _MAX_COUNT
        and type(fields.get("reward")) in _NUMBERS_OR_NONE
        and type(fields.get("terminated")) in _FLAGS_OR_NONE
        and type(fields.get("truncated")) in _FLAGS_OR_NONE
    )


def _add_point(
    scan: Scan, number: int, key: tuple[str, str | None], step: float, value: float, unit: str | None
) -> None:
    series = scan.series.get(key)
    if series is None:
        series = scan.series[key] = Series(*key, number, unit)
    series.steps.append(step)
    series.values.append(value)


def _episode_row(number: int, fields: Mapping[str, Any]) -> EpisodeRow:
    return EpisodeRow(
        line=number,
        episode_index=fields.get("episode_index"),
        episode_return=fields["total_reward"],
        length=fields.get("steps"),
        step=fields.get("step"),
        agent=fields.get("agent_id"),
        terminated=fields.get("terminated"),
        truncated=fields.get("truncated"),
        seed=fields.get("seed"),
        evaluation=bool(fields.get("evaluation")),
    )


def _count_name(reading: Reading) -> str:
    match reading:
        case LogLine():
            return TEXT
        case Violation():
            return VIOLATION
        case _:
            return reading.event
