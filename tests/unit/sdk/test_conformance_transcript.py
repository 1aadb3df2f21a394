from __future__ import annotations

import json

import pytest

from mosaic.worker.trial.transcript import Line, Transcript, first_difference


def event(kind: str, **payload: object) -> str:
    return json.dumps({"event": kind, "payload": payload, "run_id": "r", "timestamp": 1.0})


def transcript(*texts: str) -> Transcript:
    return Transcript(Line(text, at_s=float(index)) for index, text in enumerate(texts))


def test_a_line_that_is_an_event_is_read() -> None:
    line = Line(event("heartbeat", step=3), at_s=0.0)

    assert line.event is not None
    assert line.event["payload"] == {"step": 3}
    assert line.fault() is None


@pytest.mark.parametrize("text", ["", "Epoch 3/10", "{", "  }", "{'a': 1", "[1, 2]", '{"step": 3}'])
def test_chatter_is_no_fault_and_no_event(text: str) -> None:
    line = Line(text, at_s=0.0)

    assert line.event is None
    assert line.fault() is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (event("metric") + event("metric"), "two events in one line"),
        ("loss 0.3 " + event("metric"), "other text before the event"),
        ('{"event": "metric", "payload": {"value": NaN}, "run_id": "r"}', "NaN or Infinity"),
        ('{"event": "metric", "payl', "looks like JSON but is not"),
        ("{'event': 'metric'}", "looks like JSON but is not"),
    ],
)
def test_a_line_that_only_looks_like_an_event_says_what_is_wrong(text: str, why: str) -> None:
    fault = Line(text, at_s=0.0).fault()

    assert fault is not None
    assert why in fault


def test_an_event_without_its_newline_is_torn() -> None:
    fault = Line(event("run_completed"), at_s=0.0, is_complete=False).fault()

    assert fault is not None
    assert "newline" in fault


def test_the_lifecycle_keeps_only_lifecycle_events_in_order() -> None:
    told = transcript(event("run_started"), "text", event("metric", name="a"), event("run_completed"))

    assert told.lifecycle == ["run_started", "run_completed"]
    assert told.terminal == "run_completed"


def test_points_are_metrics_and_episodes_but_not_what_the_clock_decides() -> None:
    told = transcript(
        event("metric", name="loss", step=1, value=0.5),
        event("metric", name="charts/SPS", step=1, value=1234.0),
        event("episode", episode_index=0, total_reward=3.0, steps=7),
    )

    assert told.points() == [
        ("loss", 1, 0.5),
        ("episode 0 total_reward", 0, 3.0),
        ("episode 0 steps", 0, 7),
    ]


def test_upstream_episode_lines_carry_their_fields_on_top() -> None:
    told = transcript(json.dumps({"event": "episode_end", "episode_index": 2, "episode_return": 1.5}))

    assert told.points() == [("episode 2 episode_return", 2, 1.5)]


def test_equal_lists_have_no_difference_and_nan_equals_itself() -> None:
    nan = float("nan")

    assert first_difference([("a", 1, nan)], [("a", 1, nan)]) is None


def test_the_first_difference_is_told_with_both_values() -> None:
    told = first_difference([("a", 1, 0.5), ("a", 2, 0.25)], [("a", 1, 0.5), ("a", 2, 0.125)])

    assert told == "value 2: a=0.25 at 2 against a=0.125 at 2"


def test_a_shorter_list_differs() -> None:
    assert first_difference([("a", 1, 0.5)], []) == "1 values against 0"


def test_lines_of_upstreams_step_and_episode_writers_are_events_too() -> None:
    line = Line('{"type": "episode", "episode_index": 2, "num_steps": 4, "total_reward": 1.5}', 0.0)

    assert line.event is not None
    assert "episode" == line.event["event"]
    assert [("episode 2 total_reward", 2, 1.5), ("episode 2 num_steps", 2, 4)] == Transcript([line]).points()
