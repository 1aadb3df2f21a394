"""What each spelling of a line means."""

from __future__ import annotations

import json
import math
from datetime import datetime, timezone
from typing import Any

import pytest

from mosaic.events import (
    AttemptEnded,
    CheckpointSaved,
    Custom,
    Episode,
    Event,
    Heartbeat,
    Log,
    LogLine,
    Metric,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    Step,
    Violation,
    read_line,
)
from tests.written import write_line


def line(**record: Any) -> bytes:
    return json.dumps(record).encode()


def event_in(raw: bytes) -> Event:
    reading = read_line(raw)
    assert not isinstance(reading, LogLine | Violation), reading
    return reading


def episode_in(**record: Any) -> Any:
    event = event_in(line(type="episode", **{"total_reward": 1.0, **record}))
    assert isinstance(event, Episode)
    return event.payload


def test_a_line_of_our_emitter_is_read_in_full() -> None:
    raw = b'{"event":"run_started","payload":{"algo":"ppo","b":1},"run_id":"R1","timestamp":1794794175.5}'

    event = event_in(raw)

    assert isinstance(event, RunStarted)
    assert event.run_id == "R1"
    assert datetime(2026, 11, 16, 1, 56, 15, 500000, tzinfo=timezone.utc) == event.timestamp
    assert event.payload.algo == "ppo"
    assert event.payload.model_extra == {"b": 1}


@pytest.mark.parametrize("discriminator", ["event", "type", "event_type"])
def test_any_of_three_keys_names_the_kind(discriminator: str) -> None:
    assert isinstance(event_in(line(**{discriminator: "heartbeat"})), Heartbeat)


@pytest.mark.parametrize(
    ("word", "model"),
    [
        ("episode_end", Episode),
        ("episode_done", Episode),
        ("Episode", Episode),
        ("run_canceled", RunCancelled),
        ("canceled", RunCancelled),
        ("cancelled", RunCancelled),
    ],
)
def test_other_words_for_a_kind_are_understood(word: str, model: type[Event]) -> None:
    assert isinstance(event_in(line(type=word, total_reward=1.0)), model)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"episode_index": 3, "episode": 4}, 3),
        ({"episode": 4}, 4),
        ({"episode_number": 5}, 5),
        ({"metadata": {"episode_index": 6}, "episode": 4}, 6),
        ({"metadata": '{"episode_index": 7}'}, 7),
        ({"metadata_json": '{"episode_index": 8}'}, 8),
        ({"episode_id": "R1-ep000009"}, 9),
        ({"episode_id": "episode_10"}, 10),
        ({"episode_id": "11"}, 11),
        ({"episode_id": 12}, 12),
        ({"episode_index": "13"}, 13),
        ({"episode_index": 14.0}, 14),
        ({"episode_id": "9f86d081884c7d65"}, None),
        ({"episode_index": {"no": "number"}}, None),
        ({"metadata": "{broken"}, None),
        ({}, None),
    ],
)
def test_the_episode_number_is_found_wherever_the_worker_keeps_it(fields: dict[str, Any], expected: int | None) -> None:
    assert expected == episode_in(**fields).episode_index


@pytest.mark.parametrize("name", ["steps", "num_steps", "episode_length", "episode_steps"])
def test_the_length_of_an_episode_has_four_names(name: str) -> None:
    assert episode_in(**{name: 42}).steps == 42


@pytest.mark.parametrize("name", ["total_reward", "episode_return", "reward"])
def test_the_return_of_an_episode_has_three_names(name: str) -> None:
    event = event_in(line(type="episode", **{name: 1.5}))

    assert isinstance(event, Episode)
    assert event.payload.total_reward == 1.5


def test_an_array_of_one_is_a_number() -> None:
    assert episode_in(total_reward=[21.0], num_steps=[21]).total_reward == 21.0


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"timestamp": 0.5}, datetime(1970, 1, 1, 0, 0, 0, 500000, timezone.utc)),
        ({"timestamp": "1970-01-01T00:00:01"}, datetime(1970, 1, 1, 0, 0, 1, 0, timezone.utc)),
        ({"timestamp": "1970-01-01T00:00:01Z"}, datetime(1970, 1, 1, 0, 0, 1, 0, timezone.utc)),
        ({"timestamp": "1970-01-01T02:00:01+02:00"}, datetime(1970, 1, 1, 0, 0, 1, 0, timezone.utc)),
        ({"ts_unix_ns": 2_000_000_000}, datetime(1970, 1, 1, 0, 0, 2, 0, timezone.utc)),
        ({"ts": 3}, datetime(1970, 1, 1, 0, 0, 3, 0, timezone.utc)),
        ({"timestamp": "yesterday", "ts": 3}, datetime(1970, 1, 1, 0, 0, 3, 0, timezone.utc)),
        ({"timestamp": 1e300}, None),
        ({"timestamp": "0001-01-01T00:00:00+23:00"}, None),
        ({"timestamp": True}, None),
        ({}, None),
    ],
)
def test_the_time_is_read_in_every_known_form(fields: dict[str, Any], expected: datetime | None) -> None:
    assert expected == event_in(line(event="heartbeat", **fields)).timestamp


def test_fields_may_stand_beside_the_payload_or_in_it() -> None:
    flat = event_in(line(type="step", step_index=1, reward=0.5, llm_response="left"))
    nested = event_in(line(event="step", payload={"step_index": 1, "reward": 0.5, "llm_response": "left"}))

    assert isinstance(flat, Step)
    assert flat == nested
    assert flat.payload.model_extra == {"llm_response": "left"}


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("NaN", "nan"),
        ("Infinity", "inf"),
        ("-Infinity", "-inf"),
        ("null", "nan"),
        ('"nan"', "nan"),
        ('"-inf"', "-inf"),
        ("1e999", "inf"),
        ("-1e999", "-inf"),
        ("true", "1.0"),
        ("9" * 5000, "inf"),
        ('"0.25"', "0.25"),
    ],
)
def test_a_metric_that_is_not_finite_is_still_a_point(token: str, expected: str) -> None:
    raw = b'{"event":"metric","payload":{"name":"loss","step":7,"value":%s}}' % token.encode()

    event = event_in(raw)

    assert isinstance(event, Metric)
    assert expected == str(event.payload.value)


def test_what_json_cannot_hold_is_replaced_not_refused() -> None:
    raw = b'{"event":"run_failed","payload":{"error":"a\\ud800b\\u0000c\xffd\te\\ud83d\\ude00"}}'

    event = event_in(raw)

    assert isinstance(event, RunFailed)
    assert event.payload.error == "a\ufffdb\ufffdc\ufffdd\te\U0001f600"


def test_a_lifecycle_payload_of_odd_types_is_still_that_event() -> None:
    event = event_in(line(event="run_failed", payload={"error": {"code": 3}, "step": "many"}))

    assert isinstance(event, RunFailed)
    assert event.payload.error == '{"code":3}'
    assert event.payload.step is None


def test_a_completion_may_repeat_the_run_id_in_its_payload() -> None:
    event = event_in(line(event="run_completed", payload={"run_id": "inner"}, run_id="outer"))

    assert isinstance(event, RunCompleted)
    assert event.run_id == "outer"
    assert event.payload.model_extra == {"run_id": "inner"}


def test_a_checkpoint_path_may_be_called_path() -> None:
    event = event_in(line(event="checkpoint_saved", payload={"path": "checkpoints/3.pt"}))

    assert isinstance(event, CheckpointSaved)
    assert event.payload.checkpoint_path == "checkpoints/3.pt"


def test_a_line_without_a_run_belongs_to_the_run_it_was_read_from() -> None:
    reading = read_line(b'{"event":"heartbeat"}', run_id="R7")

    assert isinstance(reading, Heartbeat)
    assert reading.run_id == "R7"


def test_an_unknown_kind_is_kept_whole() -> None:
    event = event_in(line(type="agent_ready", run_id="R1", mode="action_selector"))

    assert isinstance(event, Custom)
    assert event.kind == "agent_ready"
    assert event.payload == {"mode": "action_selector"}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (line(event="metric", payload={}), "name is missing; value is missing; step is missing"),
        (
            line(event="metric", payload={"name": "x", "value": "high", "step": 1}),
            "value is 'high', not a number",
        ),
        (
            line(event="metric", payload={"name": "x", "value": 1, "step": "nan"}),
            "step is 'nan', not a finite number",
        ),
        (
            line(event="metric", payload={"name": "a\nb", "value": 1, "step": 1}),
            "name is 'a\\nb', not a printable name",
        ),
        (line(event="metric", payload=[1]), "payload is list, not an object"),
        (line(event="episode", payload={"steps": 3}), "total_reward is missing"),
        (line(event="step", payload={"reward": {}}), "reward is {}, not a number"),
        (line(event="artifact", payload={"kind": "video"}), "path is missing"),
        (line(event="log", payload={"level": "info"}), "text is missing"),
        (line(event="attempt_ended", payload={}), "outcome: Field required"),
        (b'{"event":"metric","payload":{"na', "not valid JSON: the line is torn or garbled"),
    ],
)
def test_a_known_kind_that_lacks_what_it_needs_is_a_violation(raw: bytes, reason: str) -> None:
    reading = read_line(raw)

    assert isinstance(reading, Violation)
    assert reason == reading.reason


def test_the_raw_text_of_a_violation_is_clipped() -> None:
    reading = read_line(line(event="metric", payload={"junk": "x" * 100_000}))

    assert isinstance(reading, Violation)
    assert len(reading.text) <= 2_000


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"   ",
        b"loss 0.5",
        b"[1, 2]",
        b'"text"',
        b"17",
        b"{not json}",
        b'{"loss": 0.5}',
        b'{"event": 5}',
        b"\x00\xff",
    ],
)
def test_what_claims_nothing_is_log_text(raw: bytes) -> None:
    assert isinstance(read_line(raw), LogLine)


def test_a_structured_log_of_another_library_is_text_with_its_level() -> None:
    reading = read_line(line(event="Training has begun", level="WARNING", epoch=3))

    assert isinstance(reading, LogLine)
    assert reading.text == "Training has begun"
    assert reading.level == "warning"
    assert reading.fields["epoch"] == 3


def test_a_log_code_line_gives_its_message_and_extras() -> None:
    reading = read_line(b'LOG446 | Ray runtime started | extra={"run_id": "R1"}')

    assert isinstance(reading, LogLine)
    assert reading.text == "Ray runtime started"
    assert reading.fields == {"log_code": "LOG446", "run_id": "R1"}


def test_a_progress_line_of_rllib_gives_points() -> None:
    reading = read_line(b"[PROGRESS] iteration=2/10 (20%) | timesteps=8,000 | episodes=40 | reward_mean=-1.5")

    assert isinstance(reading, LogLine)
    assert reading.points == (("reward_mean", -1.5, 8000.0), ("episodes", 40.0, 8000.0))


def test_a_log_level_is_read_as_a_word_or_a_number() -> None:
    levels = [event_in(line(event="log", payload={"text": "x", "level": given})) for given in ("WARN", 40, "shout")]

    assert [event.payload.level for event in levels if isinstance(event, Log)] == ["warning", "error", "info"]


def test_ten_megabytes_without_a_newline_are_clipped_text() -> None:
    reading = read_line(b"x" * 10_000_000)

    assert isinstance(reading, LogLine)
    assert len(reading.text) + reading.clipped_bytes == 10_000_000


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "raw",
    [
        b'{"event":' + b'{"a":' * 1_000_000,
        b'{"event":"metric","payload":' + b"[" * 5_000_000 + b"}",
        b'{"event":"metric","payload":"' + b'\\"' * 5_000_000 + b"}",
        b'{"event":"log","payload":{"text":"' + b"\\ud800" * 200_000 + b'"}}',
        b'{"event":"step","payload":{"step_index":' + b"9" * 10_000_000 + b"}}",
        b'{"event":"step","payload":{"info":[' + b"NaN," * 200_000 + b"1]}}",
        b'"' * 5_000_000,
        b"{" + b" " * 10_000_000 + b"}",
        b"LOG1 | " + b" | " * 1_000_000,
        b"[PROGRESS] " + b"a=" * 1_000_000,
    ],
    ids=lambda raw: repr(raw[:30]),
)
def test_hostile_lines_are_read_in_linear_time(raw: bytes) -> None:
    read_line(raw)


@pytest.mark.parametrize("depth", [1, 200, 249, 250, 251, 252, 253, 254, 1000, 5000])
def test_no_depth_of_nesting_makes_an_event_unwritable(depth: int) -> None:
    nested = b"[" * depth + b"]" * depth

    reading = read_line(b'{"event":"agent_ready","payload":{"deep":%s}}' % nested)

    assert isinstance(reading, Custom | LogLine)
    assert isinstance(reading, LogLine) or read_line(write_line(reading)) == reading


def test_a_null_the_worker_sent_is_written_again() -> None:
    event = event_in(b'{"event":"run_started","payload":{"config":null,"tags":[null]}}')

    assert write_line(event) == b'{"event":"run_started","payload":{"config":null,"tags":[null]}}'


def test_an_event_survives_being_written_and_read() -> None:
    event = event_in(line(event="attempt_ended", payload={"outcome": "failed", "exit_code": -9, "x": math.pi}))

    assert isinstance(event, AttemptEnded)
    assert event == read_line(write_line(event))
