"""Any bytes: the reader never raises, and the fast scan says what the full read says."""

from __future__ import annotations

import json
import math
from array import array
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic.events import EVENT, KINDS, LogLine, Scan, Violation, read_line, scan_lines, write_line
from mosaic.events.scan import fold

WORDS = [*KINDS, "episode_end", "canceled", "agent_ready", "Some words", ""]
KEYS = [
    *("event", "type", "event_type", "payload", "run_id", "timestamp", "ts_unix_ns", "ts"),
    *("name", "metric", "value", "step", "global_step", "unit", "agent", "agent_id"),
    *("episode_index", "episode", "episode_id", "metadata", "total_reward", "reward", "steps", "num_steps"),
    *("step_index", "terminated", "truncated", "seed", "text", "level", "stream", "path", "kind"),
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


def metric_payloads() -> st.SearchStrategy[dict[str, Any]]:
    numbers = st.integers(-9, 9) | st.floats() | scalars
    names = st.sampled_from(["loss", "return", "\x00", ""]) | scalars
    optional = {"unit": scalars, "agent": st.sampled_from(["a", "b"]) | scalars, "agent_id": scalars}
    return st.fixed_dictionaries({"name": names, "value": numbers, "step": numbers}, optional=optional)


def step_payloads() -> st.SearchStrategy[dict[str, Any]]:
    names = ("reward", "terminated", "truncated", "step", "episode_index", "agent_id")
    optional = dict.fromkeys(names, scalars)
    return st.fixed_dictionaries({"step_index": st.integers(0, 9) | scalars}, optional=optional)


def episode_payloads() -> st.SearchStrategy[dict[str, Any]]:
    names = ("steps", "num_steps", "episode_index", "episode_id", "agent_id", "seed")
    optional = dict.fromkeys(names, scalars)
    return st.fixed_dictionaries({"total_reward": st.floats() | scalars}, optional=optional)


def plain_lines() -> st.SearchStrategy[dict[str, Any]]:
    events = {"metric": metric_payloads(), "step": step_payloads(), "episode": episode_payloads()}
    events |= {"heartbeat": payloads, "log": payloads}
    envelope = {"run_id": st.just("R") | scalars, "timestamp": st.just(1.5) | scalars}
    return st.one_of(
        [
            st.fixed_dictionaries(
                {"event": st.just(kind), "payload": payload}, optional=envelope | {"type": scalars}
            )
            for kind, payload in events.items()
        ]
    )


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


json_lines = (plain_lines() | any_records()).map(lambda record: json.dumps(record).encode())
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
        key: (found.unit, found.steps, repr(found.values), found.lines) for key, found in scan.series.items()
    }
    return (
        scan.counts,
        series,
        repr(scan.episodes),
        scan.logs,
        scan.steps,
        scan.last_heartbeat,
        repr(scan.events),
    )


@settings(max_examples=100, deadline=None)
@given(st.binary())
def test_any_bytes_are_an_event_a_log_line_or_a_violation(line: bytes) -> None:
    reading = read_line(line)

    assert isinstance(reading, (LogLine, Violation, *KINDS.values()))


@settings(max_examples=150, deadline=None)
@given(any_lines)
def test_whatever_is_read_can_be_written_and_means_the_same(line: bytes) -> None:
    reading = read_line(line)

    if not isinstance(reading, LogLine | Violation):
        written = write_line(reading)
        again = read_line(written)
        assert not isinstance(again, LogLine | Violation)
        assert written == write_line(again)
        assert EVENT.dump_python(reading).keys() == EVENT.dump_python(again).keys()


@settings(max_examples=150, deadline=None)
@given(st.lists(any_lines, max_size=12))
def test_a_scan_agrees_with_reading_line_by_line(lines: list[bytes]) -> None:
    scan = scan_lines(lines)

    expected = folded(lines)
    assert comparable(expected) == comparable(scan)
    assert expected.violations == scan.violations
    assert len(lines) == sum(scan.counts.values())


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 10**12), st.floats(allow_nan=False)), min_size=1)
)
def test_points_of_a_series_keep_their_order(points: list[tuple[str, int, float]]) -> None:
    lines = [
        json.dumps({"event": "metric", "payload": {"name": name, "step": step, "value": value}}).encode()
        for name, step, value in points
    ]

    scan = scan_lines(lines)

    for (name, _), series in scan.series.items():
        mine = [(step, value) for called, step, value in points if called == name]
        assert array("d", [step for step, _ in mine]) == series.steps
        assert array("d", [value for _, value in mine]) == series.values
        assert not any(math.isnan(value) for value in series.values)
