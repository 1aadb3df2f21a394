"""What cannot work is refused before anything starts; what fails says whose fault it was."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mosaic.worker import validate_config
from tests.workers.conftest import InstalledWorker, WorkerRun
from tests.workers.sb3.conftest import PPO, SHORT, checkpoints_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def schema(sb3: InstalledWorker) -> Any:
    return sb3.schema()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"algo": "pppo"}, "algo: "),
        ({"algo_params": {"n_step": 64}}, "did you mean 'n_steps'?"),
        ({"algo": "dqn", "algo_params": {"gae_lambda": 0.9}}, "algo_params.gae_lambda"),
        ({"algo_params": {"learning_rate": 0}}, "algo_params.learning_rate"),
        ({"algo_params": {"n_steps": "many"}}, "algo_params.n_steps"),
    ],
)
def test_a_wrong_setting_is_refused_at_submission(schema: Any, change: dict[str, Any], sentence: str) -> None:
    faults = validate_config(schema, {"run_id": "one", **PPO, **change})

    assert any(sentence in fault for fault in faults), faults


@pytest.mark.parametrize("algo", SHORT)
def test_every_config_that_is_trained_fits_the_schema(schema: Any, algo: str) -> None:
    assert [] == validate_config(schema, {"run_id": "one", **SHORT[algo]})


def test_every_algorithm_that_must_be_offered_is(schema: Any) -> None:
    assert set(SHORT) == set(schema["properties"]["algo"]["enum"]) == set(schema["x-algorithms"])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"env_id": "CartPole-v9"}, "did you mean 'CartPole-v1'?"),
        ({"algo": "sac", "algo_params": {}}, "sac needs continuous actions, but CartPole-v1 has discrete ones"),
    ],
)
def test_a_run_that_cannot_work_ends_with_code_2(sb3: InstalledWorker, change: dict[str, Any], sentence: str) -> None:
    run = sb3.run(f"refused-{change.get('algo')}", {**PPO, **change})

    assert 2 == run.exit_code
    assert sentence in run.stderr


def test_a_dry_run_shows_the_arguments_and_the_code(sb3: InstalledWorker) -> None:
    told = sb3.run("dry", PPO, "--dry-run").of("run_completed")[0]

    assert ("completed", True, "train") == (told["status"], told["dry_run"], told["plan"]["mode"])
    assert 128 == told["plan"]["arguments"]["n_steps"]
    assert "from stable_baselines3 import PPO" in told["plan"]["code"]


def test_every_setting_is_told_with_its_origin(sb3: InstalledWorker, trained: WorkerRun) -> None:
    settings = trained.of("settings_resolved")[0]["settings"]

    assert {"value": 128, "origin": "asked"} == settings["n_steps"]
    assert {"value": 0.99, "origin": "default"} == settings["gamma"]
    assert {"value": 1, "origin": "default"} == settings["num_envs"]


def test_a_checkpoint_of_another_algorithm_is_refused(sb3: InstalledWorker, trained: WorkerRun) -> None:
    run = sb3.run("wrong-checkpoint", SHORT["dqn"], MOSAIC_RESUME_FROM=str(checkpoints_of(trained)[0]))

    assert 2 == run.exit_code
    assert "is of algorithm 'ppo', but 'dqn' was asked for" in run.stderr


def test_going_on_with_other_settings_is_said(sb3: InstalledWorker, trained: WorkerRun) -> None:
    other = {**PPO, "algo_params": {**PPO["algo_params"], "gamma": 0.9}}

    run = sb3.run("other-settings", other, MOSAIC_RESUME_FROM=str(checkpoints_of(trained)[0]))

    assert "other settings than this run goes on with: gamma" in run.of("log")[0]["text"]


@pytest.mark.parametrize("algo", ["ppo", "sac"])
def test_a_training_that_diverges_says_so(sb3: InstalledWorker, algo: str) -> None:
    config = SHORT[algo]

    run = sb3.run(f"nan-{algo}", {**config, "algo_params": {**config["algo_params"], "learning_rate": 1e20}})

    assert 1 == run.exit_code
    assert "the training has diverged" in run.of("run_failed")[0]["error"]


def test_an_environment_that_raises_is_named(sb3: InstalledWorker) -> None:
    sources = sb3.env(Path())["PYTHONPATH"]
    config = {**PPO, "env_id": "exploding_environment:Exploding-v0"}

    run = sb3.run("exploding", config, PYTHONPATH=f"{sources}{os.pathsep}{Path(__file__).parent}")

    error = run.of("run_failed")[0]["error"]
    assert 1 == run.exit_code
    assert "Exploding-v0 raised in step() at step 10: ZeroDivisionError: the cart has no mass" in error


def test_a_checkpoint_that_cannot_be_written_costs_no_run(sb3: InstalledWorker, tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("in the way")

    run = sb3.run("no-room", PPO, MOSAIC_CHECKPOINT_DIR=str(tmp_path / "checkpoints"))

    assert 0 == run.exit_code
    assert [] == run.of("checkpoint_saved")
    assert "could not be written" in run.of("log")[0]["text"]


@pytest.mark.parametrize("env_id", ["BabyAI-GoToRedBall-v0", "ALE/Pong-v5", "HalfCheetah-v5", "FrozenLake-v1"])
def test_ppo_trains_on_every_family(sb3: InstalledWorker, env_id: str) -> None:
    config = {**PPO, "env_id": env_id, "total_steps": 256, "algo_params": {"n_steps": 128, "n_epochs": 1}}

    run = sb3.run(f"family-{env_id.replace('/', '-')}", {**config, "eval_episodes": 0})

    assert 0 == run.exit_code, run.stderr[-2000:]
    assert run.values("loss/value")
