"""What goes wrong is said in a sentence a researcher understands, and ends as it should."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mosaic.worker import validate_config
from tests.workers.conftest import InstalledWorker, WorkerRun
from tests.workers.rllib.conftest import with_own_environments

pytestmark = pytest.mark.slow

SHORT: dict[str, Any] = {
    "seed": 1,
    "total_steps": 400,
    "num_env_runners": 0,
    "eval_episodes": 0,
    "algo_params": {"train_batch_size_per_learner": 200, "minibatch_size": 100, "num_epochs": 2},
}


@pytest.fixture(scope="module")
def schema(rllib: InstalledWorker) -> Any:
    """The schema that the fleet checks a submission against."""
    return rllib.schema()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"algo": "pp"}, "did you mean 'ppo'?"),
        ({"algo_params": {"lamda_": 0.9}}, "algo_params.lamda_: is not a known field, did you mean 'lambda_'?"),
        ({"algo_params": {"gamma": 1.5}}, "algo_params.gamma: must be at most 1"),
        ({"algo_params": {"vtrace": True}}, "algo_params.vtrace: is not a known field"),
        ({"algo": "dqn", "algo_params": {"double_q": "yes"}}, "algo_params.double_q: must be a boolean"),
        ({"algo_params": {"model_config": {"fcnet_hidden": [8]}}}, "did you mean 'fcnet_hiddens'?"),
        ({"total_step": 5}, "did you mean 'total_steps'?"),
        ({"tensorboard_dir": "/tmp/elsewhere"}, "tensorboard_dir: must stay inside the run directory"),
        ({"extras": {"lamda_": 0.9}}, "extras.lamda_: is not a known field, did you mean 'lambda_'?"),
        ({"extras": {"total_timesteps": "many"}}, "extras.total_timesteps: must be an integer"),
    ],
)
def test_a_misspelt_setting_is_refused_at_submission(schema: Any, change: dict[str, Any], sentence: str) -> None:
    faults = validate_config(schema, {"run_id": "r", **change})

    assert 1 == len(faults)
    assert sentence in faults[0]


def test_all_faults_are_told_of_the_algorithm_that_was_meant(schema: Any) -> None:
    misspelt = {"gama": 0.9, "lerning": 1, "epocs": 2, "clipp": 3}

    faults = validate_config(schema, {"run_id": "r", "algo": "dqn", "algo_params": misspelt})

    assert [f"algo_params.{name}" for name in misspelt] == [fault.partition(":")[0] for fault in faults]


def test_what_the_desktop_application_writes_is_accepted(schema: Any) -> None:
    extras = {"lambda_": 0.9, "cuda": True, "wandb_project_name": "mine", "algo_params": {"gamma": 0.9}}

    assert [] == validate_config(schema, {"run_id": "r", "total_timesteps": 5, "extras": extras})


def test_a_pair_that_cannot_work_is_refused_at_submission(schema: Any) -> None:
    assert validate_config(schema, {"run_id": "r", "algo": "dqn", "env_id": "Pendulum-v1"})
    assert [] == validate_config(schema, {"run_id": "r", "algo": "sac", "env_id": "Pendulum-v1"})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"algo": "dqn", "env_id": "Pendulum-v1"}, "actions of Pendulum-v1 are real numbers, dqn can only choose"),
        ({"algo": "sac", "env_id": "simple_spread_v3"}, "has several agents, which this worker trains by ppo"),
        ({"env_id": "classic/chess_v6"}, "is played in turns with masked actions"),
        ({"env_id": "tictactoe_v3"}, "is played in turns with masked actions"),
        ({"env_id": "simple_tag_v3", "policies": "shared"}, "see in different ways, so they cannot share a policy"),
        ({"algo_params": {"model_config": {"fcnet_activation": "no"}}}, "RLlib refuses them: Unknown activation (no)"),
        ({"algo_params": {"lamda_": 1}}, "did you mean 'lambda_'?"),
    ],
)
def test_a_pair_that_cannot_work_ends_with_code_2(
    rllib: InstalledWorker, change: dict[str, Any], sentence: str
) -> None:
    label = "refused-" + re.sub(r"\W+", "-", str(change))

    run = rllib.run(label, {"num_env_runners": 0, **change})

    assert 2 == run.exit_code
    assert sentence in run.stderr


def test_an_environment_that_does_not_exist_is_refused(rllib: InstalledWorker) -> None:
    run = rllib.run("nowhere", {**SHORT, "env_id": "CartPoll-v1"})

    assert 2 == run.exit_code
    assert "CartPoll" in run.stderr
    assert "CartPole" in run.stderr


@pytest.mark.parametrize(
    ("env_id", "env_runners", "sentence"),
    [
        ("Raising-v0", 0, "Raising-v0 raised in step() at step 125: ValueError: the bridge is out"),
        # What another process has played is told with the end of an iteration.
        ("Raising-v0", 1, "Raising-v0 raised in step() at step 0: ValueError: the bridge is out"),
        ("NoNumbers-v0", 0, "loss/policy became nan at step 200: the training has diverged"),
    ],
)
def test_an_environment_that_fails_is_named(
    rllib: InstalledWorker, env_id: str, env_runners: int, sentence: str
) -> None:
    config = {**SHORT, "env_id": f"strange_environments:{env_id}", "num_env_runners": env_runners}

    run = rllib.run(f"fails-{env_id}-{env_runners}", config, PYTHONPATH=with_own_environments(rllib))

    assert 1 == run.exit_code, run.stderr[-2000:]
    assert sentence in run.of("run_failed")[0]["error"]


def test_what_was_learned_by_long_iterations_is_kept_when_the_run_fails(rllib: InstalledWorker) -> None:
    config = {**SHORT, "env_id": "strange_environments:SlowThenRaising-v0"}

    run = rllib.run("fails-late", config, PYTHONPATH=with_own_environments(rllib))

    assert 1 == run.exit_code, run.stderr[-2000:]
    assert [200] == [one["step"] for one in run.of("checkpoint_saved")]


@pytest.fixture(scope="module")
def unlucky(rllib: InstalledWorker) -> WorkerRun:
    """A run whose checkpoints cannot be written and whose W&B cannot be reached."""
    config = {**SHORT, "checkpoint_every": 200, "track_wandb": True, "wandb_mode": "online"}
    places = {"MOSAIC_CHECKPOINT_DIR": "/dev/full/checkpoints", "WANDB_BASE_URL": "http://127.0.0.1:9"}
    return rllib.run("unlucky", config, **places, WANDB_API_KEY="k" * 40)


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_run(unlucky: WorkerRun) -> None:
    assert 0 == unlucky.exit_code, unlucky.stderr[-2000:]
    assert any("the checkpoint at step 200 could not be written" in one["text"] for one in unlucky.of("log"))


def test_wandb_that_is_not_there_does_not_stop_training(unlucky: WorkerRun) -> None:
    assert 0 == unlucky.exit_code, unlucky.stderr[-2000:]
    assert any("W&B" in one["text"] for one in unlucky.of("log"))


def test_how_mujoco_draws_is_left_to_whoever_knows_the_machine(rllib: InstalledWorker) -> None:
    """Told to use a library that is not there, MuJoCo cannot even be imported."""
    script = (
        "import json, os\nos.environ.pop('MUJOCO_GL', None)\n"
        "from mosaic_rllib.instance import prepare_environment\n"
        "prepare_environment()\nprint(json.dumps(os.environ.get('MUJOCO_GL')))"
    )

    assert rllib.answer(script) is None


def test_a_dry_run_shows_what_rllib_would_be_told(rllib: InstalledWorker) -> None:
    run = rllib.run("dry", SHORT, "--dry-run")

    (told,) = run.of("run_completed")
    assert ("completed", True, "train") == (told["status"], told["dry_run"], told["plan"]["mode"])
    assert told["plan"]["code"].startswith("PPOConfig().environment(")
    assert "num_epochs=2" in told["plan"]["code"]
    assert "seed=1" in told["plan"]["code"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"env_id": "CartPol-v1"},
            "env_id: there is no environment 'CartPol-v1' here, did you mean 'CartPole-v1'?",
        ),
        ({"env_id": "mpe/simple_spred_v3"}, "did you mean 'mpe/simple_spread_v3'?"),
        ({"env_id": "nowhere:team_v0"}, "env_id: nowhere:team_v0 cannot be made: No module named 'nowhere'"),
        ({"env_kwargs": {"gravity": 3}}, "unexpected keyword argument 'gravity'"),
        (
            {"mode": "policy_eval", "policy_path": "gone", "eval_episodes": 1},
            "gone: there is no such checkpoint",
        ),
    ],
)
def test_a_dry_run_refuses_what_the_run_would_stumble_over(
    rllib: InstalledWorker, change: dict[str, Any], sentence: str
) -> None:
    label = "dry-" + re.sub(r"\W+", "-", str(change))

    run = rllib.run(label, {**SHORT, **change}, "--dry-run")

    assert 2 == run.exit_code
    assert sentence in run.stderr


def test_mujoco_is_made_where_nothing_can_be_drawn(rllib: InstalledWorker) -> None:
    script = """
import json, os
os.environ.pop("MUJOCO_GL", None)
from mosaic_rllib.instance import prepare_environment
prepare_environment()
from mosaic_rllib.environments import make_single
make_single("Hopper-v5", {}).reset(seed=1)
print(json.dumps(os.environ.get("MUJOCO_GL")))
"""
    assert rllib.answer(script) is None
