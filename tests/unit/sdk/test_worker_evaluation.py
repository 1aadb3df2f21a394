"""What was learned is told once, and to everybody who draws curves."""

from __future__ import annotations

import io
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from mosaic.worker import TelemetryEmitter
from mosaic.worker.library.evaluation import (
    EvaluationSchedule,
    PlayedEpisode,
    evaluation_seeds,
    tell_evaluation,
    write_evaluation,
)

PLAYED = (PlayedEpisode(7, 10.0, 5, terminated=True, truncated=False), PlayedEpisode(8, 20.0, 6, agents={"a": 20.0}))


def told_by(sink: io.StringIO) -> list[dict[str, Any]]:
    return [{"event": one["event"], **one["payload"]} for one in map(json.loads, sink.getvalue().splitlines())]


def test_every_episode_is_told_and_then_their_mean() -> None:
    sink = io.StringIO()
    emitter = TelemetryEmitter("r", sink=sink)

    result = tell_evaluation(PLAYED, emitter, 100, lambda _figures, _step: None)

    first, second, mean = told_by(sink)
    assert (True, 7, True, 100) == (first["evaluation"], first["seed"], first["terminated"], first["step"])
    assert (1, 20.0, 6) == (second["episode_index"], second["total_reward"], second["steps"])
    assert ("eval/mean_return", 15.0, 100) == (mean["name"], mean["value"], mean["step"])
    assert (2, 15.0) == (result["count"], result["mean_return"])
    assert {"seed": 8, "episode_return": 20.0, "length": 6, "agents": {"a": 20.0}} == result["episodes"][1]


def test_whoever_draws_curves_hears_every_figure() -> None:
    heard: list[tuple[dict[str, float], int]] = []

    tell_evaluation(
        PLAYED,
        TelemetryEmitter("r", sink=io.StringIO()),
        100,
        lambda figures, step: heard.append((dict(figures), step)),
    )

    ((figures, step),) = heard
    names = "mean_return std_return min_return max_return iqm_return mean_ci_low mean_ci_high iqm_ci_low iqm_ci_high"
    assert {f"eval/{name}" for name in f"{names} episodes".split()} == set(figures)
    assert (100, 15.0, 2.0) == (step, figures["eval/mean_return"], figures["eval/episodes"])


def test_an_evaluation_that_was_stopped_before_its_first_episode_draws_nothing_but_its_count() -> None:
    heard: list[dict[str, float]] = []

    tell_evaluation(
        (), TelemetryEmitter("r", sink=io.StringIO()), 1, lambda figures, _step: heard.append(dict(figures))
    )

    assert [{"eval/episodes": 0.0}] == heard


def test_the_rows_stay_in_the_run_directory_and_the_summary_is_returned(tmp_path: Path) -> None:
    sink = io.StringIO()
    result = {"mean_return": 1.0, "episodes": [{"seed": 1}]}

    summary = write_evaluation(result, TelemetryEmitter("r", sink=sink), tmp_path)

    content = (tmp_path / "evaluation.json").read_bytes()
    assert result == json.loads(content)
    assert {"mean_return": 1.0} == summary
    (artifact,) = told_by(sink)
    assert (sha256(content).hexdigest(), len(content)) == (artifact["sha256"], artifact["size_bytes"])


def test_the_seeds_of_an_evaluation_follow_from_that_of_the_run() -> None:
    seeds = evaluation_seeds(1, 10)

    assert seeds == evaluation_seeds(1, 10)
    assert seeds[:3] == evaluation_seeds(1, 3)
    assert not set(seeds) & set(evaluation_seeds(2, 10))
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_an_evaluation_is_due_once_for_every_stretch_of_steps() -> None:
    schedule = EvaluationSchedule(every=100)

    due = []
    for step in range(0, 450, 30):
        if schedule.is_due(step):
            due.append(step)
            schedule.done_at = step

    assert [120, 210, 300, 420] == due
    assert 500 == schedule.due_at
    assert not EvaluationSchedule(every=0).is_due(10**6)
