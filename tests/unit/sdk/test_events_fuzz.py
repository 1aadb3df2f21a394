"""Any bytes: the reader never raises, and the fast scan says what the full read says."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic.events import EVENT, KINDS, Event, LogLine, Scan, Violation, read_line, scan_lines
from mosaic.events.scan import fold
from tests.written import write_line

WORDS = [*KINDS, "episode_end", "canceled", "agent_ready", "Some words", ""]
KEYS = [
    *("event", "type", "event_type", "payload", "run_id", "timestamp", "ts_unix_ns", "ts"),
    *("name", "metric", "value", "step", "global_step", "unit", "agent", "agent_id"),
    *("episode_index", "episode", "episode_id", "metadata", "total_reward", "reward", "steps", "num_steps"),
    *("step_index", "terminated", "truncated", "seed", "text", "level", "stream", "path", "kind"),
    *("action", "action_json", "observation", "info", "episode_number", "metadata_json"),
    *("outcome", "reason", "attempt", "gpus", "versions", "dropped_steps", "exit_code"),
]

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([2**63, 2**64, -(2**70), "nan", "Infinity", "3", "", "\x00", "\ud800", 1e300])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=6,
)
payloads = st.dictionaries(st.sampled_from(KEYS), values, max_size=6)


#: Lines that the fast path takes; one change away is where it could go wrong.
PLAIN: dict[str, dict[str, Any]] = {
    "metric": {"name": "loss", "value": 0.5, "step": 3},
    "step": {"step_index": 1, "reward": 0.5, "terminated": False, "truncated": False},
    "episode": {"episode_index": 1, "total_reward": 0.5, "steps": 3},
    "heartbeat": {},
    "log": {"text": "hello", "level": "info"},
}


ODD_VALUES = [None, True, 2, 2**63, 2.5, math.nan, "", "x", "step", "4", "\x00", [7], [1, 2], {}, {"text": "y"}]


def plain(kind: str) -> dict[str, Any]:
    return {"event": kind, "payload": dict(PLAIN[kind]), "run_id": "R", "timestamp": 1.5}


def one_change_away(kind: str) -> Iterator[dict[str, Any]]:
    """Every plain line of *kind* with one field gone, added or odd, in the payload or beside it."""
    for absent in (None, "timestamp", "event"):
        for place, key in itertools.product(("record", "payload"), KEYS):
            for value in ODD_VALUES:
                record = plain(kind)
                record.pop(str(absent), None)
                (record if place == "record" else record["payload"])[key] = value
                yield record
            yield {name: value for name, value in plain(kind).items() if name not in (absent, key)}
            yield plain(kind) | {"payload": {name: value for name, value in PLAIN[kind].items() if name != key}}


def any_records() -> st.SearchStrategy[dict[str, Any]]:
    claims = {key: st.sampled_from(WORDS) | scalars for key in ("event", "type", "event_type")}
    rest = {"payload": payloads | values, "agent": scalars, "step_index": scalars, "reward": scalars}
    flat = st.fixed_dictionaries({}, optional=claims | rest | {"timestamp": scalars, "run_id": scalars})
    return st.builds(lambda record, more: {**more, **record}, flat, payloads)


@st.composite
def damaged(draw: st.DrawFn, lines: st.SearchStrategy[bytes]) -> bytes:
    line = bytearray(draw(lines))
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(line)))
        line[place : place + draw(st.integers(0, 4))] = draw(st.binary(max_size=3))
    return bytes(line)


json_lines = any_records().map(lambda record: json.dumps(record).encode())
texts = st.sampled_from(
    [
        b"plain",
        b"[PROGRESS] iteration=1/2 | timesteps=10 | reward_mean=0.5 | episodes=x",
        b"\r[PROGRESS] timesteps=10 | episodes=3",
        b'LOG7 | said | extra={"level":"error"}',
        b'\xef\xbb\xbf{"event":"heartbeat"}',
        b' \x0b{"event":"heartbeat"}',
        b'{"event":"metric","event":"step","payload":{"step_index":1},"run_id":"R","timestamp":1}',
    ]
)
any_lines = st.binary(max_size=60) | texts | json_lines | damaged(json_lines)


def folded(lines: list[bytes]) -> Scan:
    scan = Scan()
    for number, line in enumerate(lines):
        fold(scan, number, read_line(line))
    return scan


def comparable(scan: Scan) -> Any:
    """Not-a-number equals nothing, not even itself; its text does."""
    series = {
        key: (found.unit, found.first_line, found.steps, repr(found.values)) for key, found in scan.series.items()
    }
    return (
        scan.counts,
        series,
        repr(scan.episodes),
        scan.logs,
        scan.steps,
        scan.heartbeats,
        repr(scan.events),
    )


@settings(max_examples=100, deadline=None)
@given(st.binary())
def test_any_bytes_are_an_event_a_log_line_or_a_violation(line: bytes) -> None:
    reading = read_line(line)

    assert isinstance(reading, (LogLine, Violation, Event))


@settings(max_examples=60, deadline=None)
@given(any_lines)
def test_whatever_is_read_can_be_written_and_means_the_same(line: bytes) -> None:
    reading = read_line(line)

    if not isinstance(reading, LogLine | Violation):
        written = write_line(reading)
        again = read_line(written)
        assert not isinstance(again, LogLine | Violation)
        assert written == write_line(again)
        assert EVENT.dump_python(reading).keys() == EVENT.dump_python(again).keys()


def disagreements(lines: list[bytes]) -> list[bytes]:
    before = json.dumps(plain("metric")).encode()
    return [line for line in lines if comparable(folded([before, line])) != comparable(scan_lines([before, line]))]


@pytest.mark.parametrize("kind", PLAIN)
def test_no_single_change_to_a_plain_line_escapes_the_scan(kind: str) -> None:
    lines = [json.dumps(record).encode() for record in one_change_away(kind)]

    assert disagreements(lines) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(any_lines, max_size=12))
def test_a_scan_agrees_with_reading_line_by_line(lines: list[bytes]) -> None:
    scan = scan_lines(lines)

    assert comparable(folded(lines)) == comparable(scan)
    assert len(lines) == sum(scan.counts.values())


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 10**12), st.floats(allow_nan=False)), min_size=1))
def test_points_of_a_series_keep_their_order(points: list[tuple[str, int, float]]) -> None:
    lines = [
        json.dumps({"event": "metric", "payload": {"name": name, "step": step, "value": value}}).encode()
        for name, step, value in points
    ]

    scan = scan_lines(lines)

    for (name, _), series in scan.series.items():
        mine = [(step, value) for called, step, value in points if called == name]
        assert [step for step, _ in mine] == series.steps
        assert [value for _, value in mine] == series.values
        assert not any(math.isnan(value) for value in series.values)
