"""What goes wrong is said in a sentence a researcher understands, and ends as it should."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from mosaic.worker import validate_config
from mosaic.worker.probe import probe
from tests.workers.conftest import InstalledWorker

pytestmark = pytest.mark.slow

SHORT: dict[str, Any] = {
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "seed": 1,
    "total_steps": 512,
    "num_envs": 4,
    "eval_episodes": 0,
    "algo_params": {"horizon_size": 32},
}


@pytest.fixture(scope="module")
def schema(xuance: InstalledWorker) -> Any:
    """The schema that the fleet checks a submission against."""
    (worker,) = probe(xuance.python).workers
    assert () == worker.faults
    return worker.config_schema


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"algo": "pppo"}, "did you mean 'ppo'?"),
        ({"algo_params": {"lerning_rate": 0.1}}, "algo_params.lerning_rate: is not a known field, did you mean"),
        ({"algo_params": {"gamma": 1.5}}, "algo_params.gamma: must be at most 1"),
        ({"algo_params": {"n_epochs": 2.5}}, "algo_params.n_epochs: must be an integer"),
        ({"algo_params": {"double_q": True}}, "algo_params.double_q: is not a known field"),
        ({"total_step": 5}, "did you mean 'total_steps'?"),
        ({"algo": "dqn", "env_id": "Pendulum-v1", "algo_params": {}}, 'env_id: must be one of "Acrobot-v1"'),
    ],
)
def test_a_setting_that_cannot_work_is_refused_at_submission(
    schema: Any, change: dict[str, Any], sentence: str
) -> None:
    faults = validate_config(schema, {"run_id": "r", **SHORT, **change})

    assert 1 == len(faults)
    assert sentence in faults[0]


def test_every_algorithm_that_must_be_offered_is(schema: Any) -> None:
    offered = set(schema["properties"]["algo"]["enum"])
    teams = {"mappo", "ippo", "qmix", "vdn", "iql", "maddpg", "coma"}

    assert {"ppo", "dqn", "sac"} | teams <= offered
    for team in teams:
        config = {"run_id": "r", "algo": team, "env_id": "simple_spread_v3"}
        assert [] == validate_config(schema, config)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"algo": "dqn", "env_id": "Pendulum-v1"}, "dqn cannot train on Pendulum-v1; it trains on Acrobot-v1"),
        ({"env_id": "CartPol-v1"}, "XuanCe has no settings for 'CartPol-v1', did you mean 'CartPole-v1'?"),
        ({"algo_params": {"policy": "Gaussian_AC"}}, "XuanCe cannot build ppo for CartPole-v1, whose actions are"),
        ({"cuda": True}, "no GPU can be used here; set device to cpu"),
        ({"mode": "policy_eval"}, "mode policy_eval needs the checkpoint to evaluate"),
    ],
)
def test_a_config_that_cannot_work_ends_with_code_2(
    xuance: InstalledWorker, change: dict[str, Any], sentence: str
) -> None:
    run = xuance.run(f"refused-{abs(hash(sentence))}", {**SHORT, **change})

    assert 2 == run.exit_code
    assert sentence in run.stderr


def test_a_dry_run_shows_the_arguments_xuance_would_get(xuance: InstalledWorker) -> None:
    run = xuance.run("dry", SHORT, "--dry-run")

    plan = run.of("run_completed")[0]["plan"]
    assert ("PPO", 128) == (plan["agent"], plan["train_steps"])
    assert 32 == plan["arguments"]["horizon_size"]
    assert 0.0004 == plan["arguments"]["learning_rate"]


def test_a_training_that_diverges_says_so(xuance: InstalledWorker) -> None:
    run = xuance.run("nan", {**SHORT, "algo_params": {"horizon_size": 32, "vf_coef": 1e38, "use_grad_clip": False}})

    assert 1 == run.exit_code
    assert "the training has diverged" in run.of("run_failed")[0]["error"]


def test_an_environment_that_raises_is_named(xuance: InstalledWorker, tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("failing_gymnasium.py"), tmp_path / "sitecustomize.py")
    sources = xuance.env(tmp_path)["PYTHONPATH"]

    run = xuance.run("failing", SHORT, PYTHONPATH=f"{tmp_path}{os.pathsep}{sources}")

    error = run.of("run_failed")[0]["error"]
    assert 1 == run.exit_code
    assert "the environment CartPole-v1 raised ZeroDivisionError near step 100: the cart has no mass" == error


def test_a_disk_that_refuses_costs_a_checkpoint_and_not_the_run(xuance: InstalledWorker, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("a file where a directory should be made")

    run = xuance.run("no-disk", SHORT, MOSAIC_CHECKPOINT_DIR=str(blocked))

    assert 0 == run.exit_code
    assert [] == run.of("checkpoint_saved")
    assert "could not be written, training goes on" in run.of("log")[-1]["text"]


def test_a_checkpoint_of_another_algorithm_is_refused(xuance: InstalledWorker) -> None:
    made = xuance.run("other-algorithm", SHORT)
    (checkpoint,) = (made.run_dir / "checkpoints").iterdir()

    run = xuance.run("wrong-checkpoint", {**SHORT, "algo": "a2c"}, MOSAIC_RESUME_FROM=str(checkpoint))

    assert 2 == run.exit_code
    assert "is of algorithm 'ppo', this run is of 'a2c'" in run.stderr
