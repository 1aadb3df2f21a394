"""What a store gets out of many lines."""

from __future__ import annotations

import json
from typing import Any

from mosaic.events import (
    CheckpointSaved,
    EpisodeRow,
    scan_lines,
)


def emitted(event: str, **payload: Any) -> bytes:
    return json.dumps({"event": event, "payload": payload, "run_id": "R1", "timestamp": 1.5}).encode()


def test_an_empty_list_is_an_empty_scan() -> None:
    scan = scan_lines([])

    assert scan.counts == {}
    assert scan.series == {}


def test_points_are_grouped_by_name_and_agent_with_their_lines() -> None:
    scan = scan_lines(
        [
            emitted("metric", name="loss", value=0.5, step=1),
            b"some text",
            emitted("metric", name="loss", value=9, step=2, agent="red"),
            emitted("metric", name="loss", value="NaN", step=2),
            emitted("metric", name="loss", value=0.25, step=3),
        ]
    )

    assert {("loss", None), ("loss", "red")} == set(scan.series)
    assert [1, 2, 3] == scan.series["loss", None].steps
    assert scan.series["loss", None].first_line == 0
    assert scan.series["loss", "red"].first_line == 2
    assert str([0.5, float("nan"), 0.25]) == str(scan.series["loss", None].values)
    assert scan.series["loss", "red"].values == [9.0]
    assert scan.counts == {"metric": 4, "text": 1}


def test_the_unit_of_a_series_is_that_of_its_first_point() -> None:
    scan = scan_lines(
        [
            emitted("metric", name="loss", value=0.5, step=1, unit="updates"),
            emitted("metric", name="loss", value=0.5, step=2),
        ]
    )

    assert scan.series["loss", None].unit == "updates"
    assert len(scan.series["loss", None].steps) == 2


def test_an_episode_becomes_a_row_however_it_is_spelt() -> None:
    scan = scan_lines(
        [
            emitted("episode", episode_index=1, total_reward=2.0, steps=3, agent_id="red", terminated=True),
            b'{"type":"episode_end","episode_index":2,"episode_steps":9,"episode_return":-3.0}',
        ]
    )

    assert [
        EpisodeRow(0, 1, 2.0, 3, None, "red", True, None, None),
        EpisodeRow(1, 2, -3.0, 9, None, None, None, None, None),
    ] == scan.episodes


def test_log_events_and_log_text_are_both_logs() -> None:
    scan = scan_lines([b"text", emitted("log", text="hello"), b'{"no":"event"}'])

    assert scan.logs == [0, 1, 2]
    assert scan.counts == {"text": 2, "log": 1}


def test_steps_and_heartbeats_are_only_counted_and_placed() -> None:
    scan = scan_lines(
        [
            emitted("heartbeat"),
            emitted("step", step_index=1, reward=0.5),
            b'{"type":"step","step_index":2}',
            emitted("heartbeat", step=2),
        ]
    )

    assert scan.steps == [1, 2]
    assert scan.heartbeats == [0, 3]
    assert scan.events == []


def test_rare_events_are_read_in_full() -> None:
    scan = scan_lines([b"text", emitted("checkpoint_saved", checkpoint_path="3.pt", step=3)])

    [(number, event)] = scan.events
    assert number == 1
    assert isinstance(event, CheckpointSaved)
    assert event.payload.checkpoint_path == "3.pt"


def test_a_violation_is_placed_and_counted() -> None:
    scan = scan_lines([emitted("metric", value=1.0)])

    assert [(number, fault.reason) for number, fault in scan.violations] == [(0, "name is missing; step is missing")]
    assert scan.counts == {"violation": 1}


def test_progress_text_is_a_log_line_and_gives_points() -> None:
    scan = scan_lines([b"[PROGRESS] iteration=1/2 | timesteps=10 | reward_mean=0.5"])

    assert scan.logs == [0]
    assert scan.series["reward_mean", None].values == [0.5]
