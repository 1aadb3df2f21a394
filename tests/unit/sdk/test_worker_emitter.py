from __future__ import annotations

import io
import json
import logging
import math
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import Enum
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.compat.logcode import LogConstant
from mosaic.worker import LifecycleEvent, LifecycleEventType, TelemetryEmitter

LIFECYCLE_METHODS = (
    "run_started",
    "run_completed",
    "run_failed",
    "run_cancelled",
    "heartbeat",
    "checkpoint_saved",
    "checkpoint_loaded",
)
A_CONSTANT = LogConstant("LOG1", logging.INFO, "said", "Worker", "Test")


def emitted(sink: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line, parse_constant=_refuse) for line in sink.getvalue().splitlines()]


def _refuse(token: str) -> None:
    raise AssertionError(f"{token} is not strict JSON")


def payload_of(value: Any) -> Any:
    sink = io.StringIO()
    TelemetryEmitter("R1", sink=sink).run_started({"value": value})
    return emitted(sink)[0]["payload"]["value"]


@pytest.mark.parametrize(
    ("method", "payload", "written"),
    [
        ("run_started", {"b": 1, "a": [1, 2]}, '{"a":[1,2],"b":1}'),
        ("heartbeat", {}, "{}"),
        ("run_failed", {"error": "é"}, '{"error":"\\u00e9"}'),
        ("run_completed", {"z": {"d": 1, "c": None}}, '{"z":{"c":null,"d":1}}'),
    ],
)
def test_the_wire_format_is_upstreams_to_the_byte(method: str, payload: dict[str, Any], written: str) -> None:
    sink = io.StringIO()

    getattr(TelemetryEmitter("R1", sink=sink), method)(payload)

    head, _, timestamp = sink.getvalue().rpartition(":")
    assert f'{{"event":"{method}","payload":{written},"run_id":"R1","timestamp"' == head
    assert timestamp.endswith("}\n")
    assert float(timestamp[:-2]) > 1.7e9


@pytest.mark.parametrize("method", LIFECYCLE_METHODS)
def test_every_lifecycle_method_writes_the_event_of_its_name(method: str) -> None:
    sink = io.StringIO()

    getattr(TelemetryEmitter("R1", sink=sink), method)({"step": 3})

    (line,) = emitted(sink)
    assert {"event", "payload", "run_id", "timestamp"} == set(line)
    assert (method, {"step": 3}, "R1") == (line["event"], line["payload"], line["run_id"])


def test_the_event_types_are_the_methods() -> None:
    assert set(LIFECYCLE_METHODS) == {kind.value for kind in LifecycleEventType}
    assert LifecycleEvent("heartbeat", "R1", 1.0, {}) == LifecycleEvent("heartbeat", "R1", 1.0, {})


def test_a_kind_without_a_method_is_said_by_its_name() -> None:
    sink = io.StringIO()

    TelemetryEmitter("R1", sink=sink).event('phase "two"', {"step": 3})

    (line,) = emitted(sink)
    assert ('phase "two"', {"step": 3}) == (line["event"], line["payload"])


def test_a_heartbeat_needs_no_payload() -> None:
    sink = io.StringIO()

    TelemetryEmitter("R1", sink=sink).heartbeat()

    assert emitted(sink)[0]["payload"] == {}


def test_stdout_is_taken_when_the_emitter_is_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    emitter = TelemetryEmitter("R1")
    before = sys.stdout
    monkeypatch.setattr(sys, "stdout", io.StringIO())

    emitter.heartbeat()

    assert emitter._sink is before
    assert "heartbeat" in capsys.readouterr().out


def test_a_sink_may_be_exchanged_afterwards() -> None:
    emitter = TelemetryEmitter("R1", sink=io.StringIO())
    sink = io.StringIO()

    emitter._sink = sink
    emitter.metric("loss", 1.0, 1)

    assert len(emitted(sink)) == 1


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Result:
    score: float
    path: Path


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no")


class Unreadable(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise OSError("the file behind it has gone")

    def __iter__(self) -> Iterator[str]:
        raise OSError("the file behind it has gone")

    def __len__(self) -> int:
        return 1


class UnreadableDict(dict[str, Any]):
    def items(self) -> Any:
        raise OSError("the file behind it has gone")


@pytest.mark.parametrize(
    ("given_value", "written"),
    [
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (numpy.float32(0.5), 0.5),
        (numpy.float64("nan"), "NaN"),
        (numpy.int64(7), 7),
        (numpy.bool_(True), True),
        (numpy.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
        (numpy.array([1.0, math.inf]), [1.0, "Infinity"]),
        (Path("a/b"), "a/b"),
        (datetime(2026, 1, 2, tzinfo=timezone.utc), "2026-01-02T00:00:00+00:00"),
        (timedelta(seconds=90), 90.0),
        ({3, 1, 2}, [1, 2, 3]),
        ({"b", 1}, [1, "b"]),
        (b"ab\xff", "ab\\xff"),
        ((1, "a"), [1, "a"]),
        ({1: "a", "b": None, (1, 2): 3}, {"1": "a", "b": None, "[1, 2]": 3}),
        (Colour.RED, "red"),
        (Result(1.0, Path("x")), {"score": 1.0, "path": "x"}),
        (1 + 2j, "(1+2j)"),
        ("\ud800 lone", "\ufffd lone"),
        ("😀", "😀"),
        (Unprintable(), "<unprintable Unprintable>"),
        (Unreadable(), "<unprintable Unreadable>"),
        (UnreadableDict(a=1), "<unprintable UnreadableDict>"),
        (int, "builtins.int"),
    ],
)
def test_no_payload_value_kills_the_worker(given_value: Any, written: Any) -> None:
    assert written == payload_of(given_value)


def test_a_payload_that_holds_itself_is_cut_off() -> None:
    circle: dict[str, Any] = {}
    circle["again"] = circle

    assert "again" in payload_of(circle)


def test_an_integer_python_would_not_print_is_written_in_hexadecimal() -> None:
    assert payload_of(10**5000).startswith("0x")


@pytest.mark.parametrize(
    "emit",
    [
        lambda emitter: emitter.metric("loss", 10**5000, 1),
        lambda emitter: emitter.metric("loss", 1.0, 10**5000),
        lambda emitter: emitter.metric(["loss"], 1.0, 1),
        lambda emitter: emitter.metric(Unprintable(), 1.0, 1),
        lambda emitter: emitter.artifact("a\0b", "model"),
        lambda emitter: emitter.artifact(None, "model"),
        lambda emitter: emitter.run_started(Unreadable(), constant=A_CONSTANT),
        lambda emitter: emitter.heartbeat(["not", "a", "dict"], constant=A_CONSTANT),
    ],
    ids=[
        "a value of 5000 digits",
        "a step of 5000 digits",
        "a list for a name",
        "a name that fails",
        "a NUL in a path",
        "no path",
        "a payload that fails, with a log code",
        "a payload that is a list, with a log code",
    ],
)
def test_nothing_that_is_given_to_an_emitter_kills_the_worker(emit: Any) -> None:
    sink = io.StringIO()

    emit(TelemetryEmitter("R1", sink=sink, logger=logging.getLogger("test")))

    assert "R1" == json.loads(sink.getvalue())["run_id"]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_what_json_can_say_arrives_as_it_was(value: Any) -> None:
    received = payload_of(value)

    if not _has_surrogates_or_infinity(value):
        assert json.loads(json.dumps(value)) == received


def _has_surrogates_or_infinity(value: Any) -> bool:
    text = json.dumps(value)
    return "\\ud" in text or "Infinity" in text


@given(st.text(), st.floats(), st.integers(), st.none() | st.text())
def test_any_metric_is_one_strict_line(name: str, value: float, step: int, agent: str | None) -> None:
    sink = io.StringIO()

    TelemetryEmitter("R1", sink=sink).metric(name, value, step, agent=agent)

    (line,) = emitted(sink)
    received = float(line["payload"]["value"])
    assert step == line["payload"]["step"]
    assert value == received or (math.isnan(value) and math.isnan(received))


@pytest.mark.parametrize(
    ("arguments", "options", "payload"),
    [
        (("loss", 0.5, 3), {}, '{"name":"loss","step":3,"value":0.5}'),
        (("loss", 2, 3), {}, '{"name":"loss","step":3,"value":2}'),
        (("loss", math.nan, 3), {}, '{"name":"loss","step":3,"value":"NaN"}'),
        (("loss", numpy.float32(0.5), numpy.int64(3)), {}, '{"name":"loss","step":3,"value":0.5}'),
        (("loss", numpy.array([0.25]), 3), {}, '{"name":"loss","step":3,"value":0.25}'),
        (("ep", 1.0, 3), {"unit": "episodes"}, '{"name":"ep","step":3,"unit":"episodes","value":1.0}'),
        (("r", 1.0, 3), {"agent": "a0"}, '{"agent":"a0","name":"r","step":3,"value":1.0}'),
        (('q"\n', 1.0, 3), {}, '{"name":"q\\"\\n","step":3,"value":1.0}'),
        (("flag", True, 3), {}, '{"name":"flag","step":3,"value":true}'),
    ],
)
def test_metric_lines_have_the_same_four_keys(
    arguments: tuple[Any, ...], options: dict[str, Any], payload: str
) -> None:
    sink = io.StringIO()

    TelemetryEmitter("R1", sink=sink).metric(*arguments, **options)

    assert sink.getvalue().startswith(f'{{"event":"metric","payload":{payload},"run_id":"R1","timestamp":')


def test_metrics_writes_one_line_each() -> None:
    sink = io.StringIO()

    TelemetryEmitter("R1", sink=sink).metrics({"a": 1.0, "b": 2.0}, 5)

    assert [(line["payload"]["name"], line["payload"]["step"]) for line in emitted(sink)] == [("a", 5), ("b", 5)]


def test_an_episode_line_says_only_what_is_known() -> None:
    sink = io.StringIO()
    emitter = TelemetryEmitter("R1", sink=sink)

    emitter.episode(4, 12.5, 200)
    emitter.episode(5, 1.0, 2, step=300, agent="a0", terminated=True, truncated=False, seed=7, success=True)

    short, full = (line["payload"] for line in emitted(sink))
    assert short == {"episode_index": 4, "total_reward": 12.5, "steps": 200}
    assert full == {
        "episode_index": 5,
        "total_reward": 1.0,
        "steps": 2,
        "step": 300,
        "agent_id": "a0",
        "terminated": True,
        "truncated": False,
        "seed": 7,
        "success": True,
    }


def test_a_step_line_carries_arrays() -> None:
    sink = io.StringIO()

    TelemetryEmitter("R1", sink=sink).step(0, 1, 0.5, action=numpy.int64(1), observation=numpy.zeros(2), agent="a")

    assert emitted(sink)[0]["payload"] == {
        "episode_index": 0,
        "step_index": 1,
        "reward": 0.5,
        "terminated": False,
        "truncated": False,
        "action": 1,
        "observation": [0.0, 0.0],
        "agent_id": "a",
    }


def test_log_and_artifact_lines(tmp_path: Path) -> None:
    sink = io.StringIO()
    emitter = TelemetryEmitter("R1", sink=sink)
    model = tmp_path / "model.pt"
    model.write_bytes(b"12345")

    emitter.log("slow start", level="warning")
    emitter.artifact(model, "checkpoint", sha256="ab", step=3)
    emitter.artifact("elsewhere/model.pt", "checkpoint")

    log, seen, unseen = (line["payload"] for line in emitted(sink))
    assert log == {"text": "slow start", "level": "warning", "stream": "worker"}
    assert {"path": str(model), "kind": "checkpoint", "sha256": "ab", "size_bytes": 5, "step": 3} == seen
    assert unseen == {"path": "elsewhere/model.pt", "kind": "checkpoint"}


def test_a_constant_is_also_logged(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("test.worker")
    constant = LogConstant("LOG446", logging.INFO, "Runtime started", "Worker", "RayRuntime", ("lifecycle",))

    with caplog.at_level(logging.INFO, logger="test.worker"):
        TelemetryEmitter("R1", sink=io.StringIO(), logger=logger).run_started({"name": "x"}, constant=constant)

    (record,) = caplog.records
    assert record.getMessage() == "LOG446 Runtime started"
    assert (record.run_id, record.log_code, record.tags) == ("R1", "LOG446", "lifecycle")  # type: ignore[attr-defined]


def test_lines_of_many_threads_stay_whole() -> None:
    sink = io.StringIO()
    emitters = [TelemetryEmitter("R1", sink=sink) for _ in range(4)]

    def work(emitter: TelemetryEmitter) -> None:
        for step in range(200):
            emitter.metric("loss", step * 0.1, step)

    threads = [threading.Thread(target=work, args=(emitter,)) for emitter in emitters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(emitted(sink)) == 800


def test_a_sink_that_is_closed_does_not_raise(capsys: pytest.CaptureFixture[str]) -> None:
    sink = io.StringIO()
    emitter = TelemetryEmitter("R1", sink=sink)
    sink.close()

    emitter.metric("loss", 1.0, 1)
    emitter.run_completed({})

    assert emitter._writer.lost == 2
    assert capsys.readouterr().err.count("nobody reads the telemetry any more") == 1
