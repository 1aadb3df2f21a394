"""Evaluations are kept apart from training, and a checkpoint is only played and continued as what it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mosaic.worker.library.evaluation import evaluation_seeds
from tests.workers.conftest import InstalledWorker, WorkerRun
from tests.workers.rllib.conftest import checkpoints_of

pytestmark = pytest.mark.slow

CONFIG: dict[str, Any] = {
    "seed": 1,
    "num_env_runners": 0,
    "total_steps": 1_000,
    "checkpoint_every": 400,
    "eval_episodes": 2,
    "algo_params": {"train_batch_size_per_learner": 200, "minibatch_size": 100, "num_epochs": 2, "lr": 0.001},
}
#: Actions are drawn, so that an evaluation needs random numbers, too.
EVALUATED = {**CONFIG, "eval_every": 300, "eval_policy": "sample"}


@pytest.fixture(scope="module")
def evaluated(rllib: InstalledWorker) -> WorkerRun:
    """A training in one process that is evaluated meanwhile."""
    return rllib.run("evaluated-often", EVALUATED)


@pytest.fixture(scope="module")
def unseen(rllib: InstalledWorker) -> WorkerRun:
    """The same training without any evaluation."""
    return rllib.run("never-evaluated", {**CONFIG, "eval_episodes": 0})


@pytest.fixture(scope="module")
def checkpoint(evaluated: WorkerRun) -> Path:
    """A checkpoint amid that training, of PPO on CartPole."""
    return checkpoints_of(evaluated)[-2]


def test_a_training_is_the_same_to_the_bit_when_it_is_evaluated(evaluated: WorkerRun, unseen: WorkerRun) -> None:
    assert [0, 0] == [evaluated.exit_code, unseen.exit_code], evaluated.stderr[-2000:]
    assert training_points(unseen)
    assert training_points(unseen) == training_points(evaluated)


def test_evaluations_come_on_time_and_on_the_seeds_of_the_run(evaluated: WorkerRun) -> None:
    told = [one for one in evaluated.of("episode") if one.get("evaluation")]

    assert [400, 400, 600, 600, 1000, 1000] == [one["step"] for one in told]
    assert evaluation_seeds(1, 2) * 3 == [one["seed"] for one in told]
    assert [400, 600, 1000] == [one["step"] for one in evaluated.of("metric") if one["name"] == "eval/mean_return"]
    assert ["tensorboard"] == sorted(evaluated.folders_naming("eval/iqm_ci_low"))


def test_a_checkpoint_comes_after_all_that_it_covers(evaluated: WorkerRun) -> None:
    checkpoints = [number for number, one in enumerate(evaluated.events) if one["event"] == "checkpoint_saved"]
    assert [400, 800, 1000] == [evaluated.events[number]["payload"]["step"] for number in checkpoints]

    for number in checkpoints:
        saved, before = evaluated.events[number]["payload"], points_in(evaluated.events[:number])
        later = [point for point in points_in(evaluated.events[number:]) if not is_of_the_end(point)]
        assert max(point[1] for point in before) == saved["step"]
        assert all(point[1] > saved["step"] for point in later)
        assert saved["episode"] == len([point for point in before if point[0] == "episode"])


def test_a_run_that_goes_on_neither_repeats_nor_misses_an_evaluation(
    rllib: InstalledWorker, evaluated: WorkerRun
) -> None:
    first = evaluated.of("checkpoint_saved")[0]
    assert 400 == first["step"]

    resumed = rllib.run("evaluated-on", EVALUATED, MOSAIC_RESUME_FROM=str(checkpoints_of(evaluated)[0]))

    assert 0 == resumed.exit_code, resumed.stderr[-2000:]
    assert [point for point in points_in(evaluated.events) if point[1] > 400] == points_in(resumed.events)
    assert [] == [one["text"] for one in resumed.of("log") if "other settings" in one["text"]]


def test_every_setting_is_told_with_where_it_came_from(evaluated: WorkerRun) -> None:
    (told,) = evaluated.of("settings_resolved")
    settings = told["settings"]

    assert ("CartPole-v1", "ppo", 1) == (told["env_id"], told["algo"], told["seed"])
    assert {"value": 0.001, "origin": "asked"} == settings["lr"]
    assert {"value": 300, "origin": "asked"} == settings["eval_every"]
    assert {"value": "CartPole-v1", "origin": "default"} == settings["env_id"]
    # What RLlib itself takes where nobody says anything, also for what the worker leaves to it.
    assert {"value": 0.3, "origin": "default"} == settings["clip_param"]
    assert {"value": 1, "origin": "default"} == settings["num_envs"]
    assert [256, 256] == settings["model_config"]["value"]["fcnet_hiddens"]
    # What the worker itself changes of that.
    assert {"value": False, "origin": "preset"} == settings["restart_failed_env_runners"]
    assert not {"algo_params", "extras", "run_id", "seed"} & set(settings)


def test_a_checkpoint_carries_its_passport(evaluated: WorkerRun, checkpoint: Path) -> None:
    saved = evaluated.of("checkpoint_saved")[-2]

    inside = json.loads((checkpoint / "about.json").read_text())["passport"]

    assert inside == saved["passport"]
    assert ("rllib", "ray", "ppo", "CartPole-v1", 800, 1) == tuple(
        inside[name] for name in ("worker", "library", "algo", "env_id", "step", "seed")
    )
    assert inside["settings_digest"].startswith("sha256:")


@pytest.mark.parametrize("arguments", [["--dry-run"], [], ["--interactive"]], ids=["dry", "played", "interactive"])
def test_a_policy_is_not_played_on_what_it_was_not_trained_on(
    rllib: InstalledWorker, checkpoint: Path, arguments: list[str]
) -> None:
    wrong = {"env_id": "Acrobot-v1", "algo": "dqn", "mode": "policy_eval", "policy_path": str(checkpoint)}

    run = rllib.run(f"wrong-{len(arguments)}{''.join(arguments)}", wrong, *arguments)

    assert 2 == run.exit_code
    assert "is of environment 'CartPole-v1', but 'Acrobot-v1' was asked for" in run.stderr
    assert "is of algorithm 'ppo', but 'dqn' was asked for" in run.stderr
    assert [] == run.of("episode")


def test_a_run_does_not_go_on_from_a_checkpoint_of_another_kind(rllib: InstalledWorker, checkpoint: Path) -> None:
    run = rllib.run("another-kind", {**CONFIG, "env_id": "Acrobot-v1"}, MOSAIC_RESUME_FROM=str(checkpoint))

    assert 2 == run.exit_code
    assert "is of environment 'CartPole-v1', but 'Acrobot-v1' was asked for" in run.stderr


def test_a_dry_run_of_an_evaluation_shows_the_evaluation(rllib: InstalledWorker, checkpoint: Path) -> None:
    config = {"mode": "policy_eval", "policy_path": str(checkpoint), "eval_episodes": 2, "seed": 4}

    run = rllib.run("dry-evaluation", config, "--dry-run")

    (told,) = run.of("run_completed")
    plan = told["plan"]
    assert (True, "policy_eval", "CartPole-v1", "ppo", 800) == (
        told["dry_run"],
        *(plan[name] for name in ("mode", "env_id", "algo", "checkpoint_step")),
    )
    assert evaluation_seeds(4, 2) == plan["seeds"]
    assert any("would play with rllib" in one["text"] for one in run.of("log"))


def training_points(run: WorkerRun) -> list[tuple[Any, ...]]:
    """Return all that a training has told, without evaluations and speeds."""
    return [point for point in points_in(run.events) if not point[0].startswith("eval")]


def points_in(events: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """Return all metrics but speeds, and all episodes, in the order in which they were told."""
    told = [(one["event"], one["payload"]) for one in events if one["event"] in ("metric", "episode")]
    return [_point(kind, payload) for kind, payload in told if payload.get("name") != "steps_per_s"]


def is_of_the_end(point: tuple[Any, ...]) -> bool:
    """Tell whether *point* is of the evaluation that follows a training."""
    return bool(point[0].startswith("eval") and point[1] == CONFIG["total_steps"])


def _point(kind: str, payload: Mapping[str, Any]) -> tuple[Any, ...]:
    if kind == "metric":
        return (payload["name"], payload["step"], payload["value"])
    name = "evaluation" if payload.get("evaluation") else "episode"
    return (name, payload["step"], payload["episode_index"], payload["total_reward"])
