"""Every episode that is played is told exactly once, whoever played it and however often the run was stopped."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.workers.conftest import InstalledWorker, WorkerRun
from tests.workers.rllib.conftest import checkpoints_of, lines_until, with_own_environments
from tests.workers.rllib.strange_environments import PLAYED

pytestmark = pytest.mark.slow

SMALL: dict[str, Any] = {
    "seed": 1,
    "algo_params": {"train_batch_size_per_learner": 200, "minibatch_size": 100, "num_epochs": 1},
}
TEAM = "counted_teams:relay_v0"
#: Tells the step of each event by which TensorBoard forgets later ones.
_SESSIONS = """
import json, struct, sys
from tensorboardX.proto.event_pb2 import Event
data, events = open(sys.argv[1], "rb").read(), []
while data:
    size = struct.unpack("<Q", data[:8])[0]
    events.append(Event.FromString(data[12 : 12 + size]))
    data = data[16 + size :]
print(json.dumps([event.step for event in events if event.HasField("session_log")]))
"""


@pytest.fixture(scope="module")
def team(rllib: InstalledWorker) -> WorkerRun:
    """Several processes play a team of which one agent leaves early, over several iterations."""
    config = {"env_id": TEAM, "num_env_runners": 2, "total_steps": 600, "checkpoint_every": 400, "eval_episodes": 0}
    return rllib.run("relay", {**SMALL, **config}, PYTHONPATH=with_own_environments(rllib))


def test_every_episode_of_a_team_is_told_once_as_the_sum(team: WorkerRun) -> None:
    assert 0 == team.exit_code, team.stderr[-2000:]
    told = [(one["total_reward"], one["steps"]) for one in training_episodes(team)]

    assert sorted(played_in(team.run_dir)) == sorted(told)
    assert list(range(len(told))) == [one["episode_index"] for one in training_episodes(team)]
    assert len(told) == team.of("run_completed")[0]["episodes"]


def test_each_agent_is_told_with_its_share_of_the_sum(team: WorkerRun) -> None:
    shares: dict[int, dict[str, float]] = {}
    for one in team.of("episode"):
        if "agent_id" in one:
            shares.setdefault(one["episode_index"], {})[one["agent_id"]] = one["total_reward"]

    assert {"first", "second"} == {name for parts in shares.values() for name in parts}
    assert [one["total_reward"] for one in training_episodes(team)] == [
        sum(parts.values()) for parts in shares.values()
    ]


def test_a_team_is_evaluated_on_what_its_checkpoint_was_trained_on(rllib: InstalledWorker, team: WorkerRun) -> None:
    config = {"mode": "policy_eval", "policy_path": str(checkpoints_of(team)[-1]), "eval_episodes": 2, "seed": 9}

    run = rllib.run("relay-played", config, PYTHONPATH=with_own_environments(rllib))

    assert 0 == run.exit_code, run.stderr[-2000:]
    assert [True, True] == [one["evaluation"] for one in run.of("episode")]
    assert played_in(run.run_dir) == [(one["total_reward"], one["steps"]) for one in run.of("episode")]
    (settings,), (started,), (ended,) = (run.of(kind) for kind in ("settings_resolved", "run_started", "run_completed"))
    assert [TEAM] * 4 == [started["config"]["env_id"], settings["env_id"], ended["env_id"], TEAM]
    assert {"value": TEAM, "origin": "default"} == settings["settings"]["env_id"]
    rows = json.loads((run.run_dir / "evaluation.json").read_text())["episodes"]
    assert [row["episode_return"] for row in rows] == [sum(row["agents"].values()) for row in rows]


@pytest.fixture(scope="module")
def attempts(rllib: InstalledWorker) -> tuple[list[Mapping[str, Any]], WorkerRun]:
    """What a run told that was stopped amid an iteration, and how it went on, with another learning rate."""
    # An iteration takes four seconds, twice of what a stop waits for.
    slow = {"env_id": "strange_environments:Slow-v0", "num_env_runners": 0, "total_steps": 600, "eval_episodes": 0}
    config, path = {**SMALL, **slow}, with_own_environments(rllib)
    process = rllib.start("given-up", config, PYTHONPATH=path)
    lines = [*lines_until(process, '"loss/policy"'), *lines_until(process, '"event":"episode"')]
    os.killpg(process.pid, signal.SIGTERM)
    stopped = rllib.finish(process, "given-up")
    assert 143 == stopped.exit_code, stopped.stderr[-2000:]
    (checkpoint,) = checkpoints_of(stopped)
    changed = {**config, "algo_params": {**SMALL["algo_params"], "lr": 0.001}}
    resumed = rllib.run("gone-on", changed, PYTHONPATH=path, MOSAIC_RESUME_FROM=str(checkpoint))
    assert 0 == resumed.exit_code, resumed.stderr[-2000:]
    return [json.loads(line) for line in lines if line.startswith('{"event"')] + list(stopped.events), resumed


def test_a_run_that_was_stopped_amid_an_iteration_tells_no_episode_twice(
    attempts: tuple[list[Mapping[str, Any]], WorkerRun],
) -> None:
    events, resumed = attempts
    end = next(number for number, one in enumerate(events) if one["event"] == "checkpoint_saved")
    counted, saved = [one["payload"] for one in events[:end] if one["event"] == "episode"], events[end]["payload"]

    assert 200 == saved["step"] < max(one["step"] for one in counted), "episodes of the iteration that was given up"
    both = counted + training_episodes(resumed)
    assert list(range(len(both))) == [one["episode_index"] for one in both]
    assert len(both) == resumed.of("run_completed")[0]["episodes"]
    (loaded,) = resumed.of("checkpoint_loaded")
    assert (saved["passport"], saved["episode"], 200) == (loaded["passport"], loaded["episode"], loaded["step"])


def test_settings_that_differ_from_those_of_the_checkpoint_are_told(
    attempts: tuple[list[Mapping[str, Any]], WorkerRun],
) -> None:
    told = [one["text"] for one in attempts[1].of("log") if "other settings" in one["text"]]

    assert ["the checkpoint was learned with other settings than this run goes on with: lr"] == told


def test_tensorboard_hides_what_the_run_told_after_its_checkpoint(
    rllib: InstalledWorker, attempts: tuple[list[Mapping[str, Any]], WorkerRun]
) -> None:
    events, resumed = attempts
    end = next(number for number, one in enumerate(events) if one["event"] == "checkpoint_saved")
    newest = max(one["payload"]["step"] for one in events[:end] if one["event"] == "episode")

    (file,) = (resumed.run_dir / "tensorboard").iterdir()

    assert [newest + 1] == rllib.answer(_SESSIONS, str(file)), "it hides all from this step on"


def training_episodes(run: WorkerRun) -> list[Mapping[str, Any]]:
    """Return the episodes of the run itself: neither one agent's share nor an evaluation."""
    return [one for one in run.of("episode") if "agent_id" not in one and "evaluation" not in one]


def played_in(run_dir: Path) -> list[tuple[float, int]]:
    """Return what the environments of a run wrote down."""
    return [tuple(json.loads(line)) for line in (run_dir / PLAYED).read_text().splitlines()]
