"""What goes wrong is said in a sentence a researcher understands, and ends as it should."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from mosaic.worker import validate_config
from mosaic.worker.suitability import pair_fault
from tests.workers.conftest import InstalledWorker
from tests.workers.xuance.conftest import disturbed

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
    return xuance.schema()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"algo": "pppo"}, "did you mean 'ppo'?"),
        ({"algo_params": {"lerning_rate": 0.1}}, "algo_params.lerning_rate: is not a known field, did you mean"),
        ({"algo_params": {"gamma": 1.5}}, "algo_params.gamma: must be at most 1"),
        ({"algo_params": {"n_epochs": 2.5}}, "algo_params.n_epochs: must be an integer"),
        ({"algo_params": {"double_q": True}}, "algo_params.double_q: is not a known field"),
        ({"total_step": 5}, "did you mean 'total_steps'?"),
        ({"tensorboard_dir": "../elsewhere"}, "tensorboard_dir: must stay inside the run directory"),
        ({"extras": {"lerning_rate": 0.1}}, "extras.lerning_rate: is not a known field, did you mean 'learning_rate'?"),
        ({"extras": {"gamma": 1.5}}, "extras.gamma: must be at most 1"),
        ({"extras": {"algo_params": {"gama": 0.9}}}, "extras.algo_params.gama: is not a known field"),
        ({"algo": "dqn", "env_id": "Pendulum-v1", "algo_params": {}}, 'env_id: must be one of "Acrobot-v1"'),
        ({"algo": "mappo", "env_id": "ALE/Pong-v5", "algo_params": {}}, 'env_id: must be one of "simple_spread_v3"'),
    ],
)
def test_a_setting_that_cannot_work_is_refused_at_submission(
    schema: Any, change: dict[str, Any], sentence: str
) -> None:
    faults = validate_config(schema, {"run_id": "r", **SHORT, **change})

    assert 1 == len(faults)
    assert sentence in faults[0]


@pytest.mark.parametrize(
    ("algo", "env_id", "sentence"),
    [
        ("dqn", "Pendulum-v1", "dqn takes discrete actions, Pendulum-v1 has continuous ones"),
        ("td3", "CartPole-v1", "td3 takes continuous actions, CartPole-v1 has discrete ones"),
        ("ppo", "simple_spread_v3", "ppo trains one agent, simple_spread_v3 has 3 agents; it can be trained by coma"),
        ("qmix", "CartPole-v1", "qmix trains teams of at least 2 agents, CartPole-v1 has 1 agent"),
    ],
)
def test_an_algorithm_that_does_not_fit_is_refused_with_the_reason(
    schema: Any, algo: str, env_id: str, sentence: str
) -> None:
    assert sentence in (pair_fault(schema, {"algo": algo, "env_id": env_id}) or "")


def test_all_faults_are_told_of_the_algorithm_that_was_meant(schema: Any) -> None:
    misspelt = {"gama": 0.9, "lerning": 1, "epocs": 2, "clipp": 3}

    faults = validate_config(schema, {"run_id": "r", "algo": "dqn", "algo_params": misspelt})

    assert [f"algo_params.{name}" for name in misspelt] == [fault.partition(":")[0] for fault in faults]


def test_what_the_desktop_application_writes_is_accepted(schema: Any) -> None:
    extras = {"learning_rate": 0.1, "cuda": True, "wandb_project_name": "mine", "algo_params": {"gamma": 0.9}}

    assert [] == validate_config(schema, {"run_id": "r", "total_timesteps": 5, "wandb_name": "one", "extras": extras})


def test_hyper_parameters_are_published_with_the_defaults_of_xuance(schema: Any) -> None:
    parameters = {
        branch["properties"]["algo"]["allOf"][0].get("const"): branch["properties"]
        .get("algo_params", {})
        .get("properties")
        for branch in schema["anyOf"]
    }

    assert {"default": True} == parameters["ppo"]["use_gae"]
    assert {"default": 0.99} == parameters["qmix"]["gamma"]
    assert all("default" in one or "examples" in one for one in parameters["mappo"].values())


def test_no_pair_that_xuance_has_settings_for_is_refused(schema: Any) -> None:
    for algo, env_id in (("dqn", "CarRacing-v3"), ("sac", "CartPole-v1"), ("a2c", "ALE/Pong-v5"), ("td3", "Hopper-v5")):
        assert [] == validate_config(schema, {"run_id": "r", "algo": algo, "env_id": env_id})
        assert pair_fault(schema, {"algo": algo, "env_id": env_id}) is None


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
        ({"device": "cuda:1"}, "no GPU can be used here; leave device to the lease, or set it to cpu"),
        ({"mode": "policy_eval"}, "policy_path: is required for mode policy_eval"),
        ({"eval_every": 100}, "eval_episodes: an evaluation needs at least 1 episode"),
    ],
)
def test_a_config_that_cannot_work_ends_with_code_2(
    xuance: InstalledWorker, change: dict[str, Any], sentence: str
) -> None:
    run = xuance.run(f"refused-{abs(hash(sentence))}", {**SHORT, **change})

    assert 2 == run.exit_code
    assert sentence in run.stderr


def test_a_dry_run_shows_the_arguments_xuance_would_get(xuance: InstalledWorker) -> None:
    run = xuance.run("dry", {**SHORT, "algo": "PPO"}, "--dry-run")

    summary = run.of("run_completed")[0]
    plan = summary["plan"]
    assert ("completed", True) == (summary["status"], summary["dry_run"])
    assert ("train", "ppo", "CartPole-v1", 1, "xuance", "1.4.4") == tuple(
        plan[name] for name in ("mode", "algo", "env_id", "seed", "library", "library_version")
    )
    assert ("PPO", 512) == (plan["arguments"]["agent"], plan["arguments"]["running_steps"])
    assert 32 == plan["arguments"]["horizon_size"]
    assert 0.0004 == plan["arguments"]["learning_rate"]
    python, option, code = shlex.split(plan["command"])
    assert ("python", "-c") == (python, option)
    assert code.endswith("get_runner('ppo', 'classic_control', 'CartPole-v1', parser_args=args).run(mode='train')")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"algo": "a2c", "env_id": "ALE/Pon-v5", "algo_params": {}},
            "there is no environment 'ALE/Pon-v5' here, did you mean 'ALE/Pong-v5'?",
        ),
        ({"mode": "policy_eval", "policy_path": "nowhere", "eval_episodes": 1}, "nowhere: there is no such checkpoint"),
    ],
)
def test_a_dry_run_refuses_what_is_not_there(xuance: InstalledWorker, change: dict[str, Any], sentence: str) -> None:
    run = xuance.run(f"dry-{abs(hash(sentence))}", {**SHORT, **change}, "--dry-run")

    assert 2 == run.exit_code
    assert sentence in run.stderr


def test_a_training_that_diverges_says_so(xuance: InstalledWorker) -> None:
    run = xuance.run("nan", {**SHORT, "algo_params": {"horizon_size": 32, "vf_coef": 1e38, "use_grad_clip": False}})

    assert 1 == run.exit_code
    assert "the training has diverged" in run.of("run_failed")[0]["error"]


def test_an_environment_that_raises_is_named(xuance: InstalledWorker, tmp_path: Path) -> None:
    run = xuance.run("failing", SHORT, PYTHONPATH=disturbed(xuance, "failing_gymnasium", tmp_path))

    error = run.of("run_failed")[0]["error"]
    assert 1 == run.exit_code
    assert "the environment CartPole-v1 raised in step() at step 100: ZeroDivisionError: the cart has no mass" == error


def test_a_full_disk_costs_a_checkpoint_and_not_the_run(xuance: InstalledWorker, tmp_path: Path) -> None:
    run = xuance.run("full-disk", SHORT, PYTHONPATH=disturbed(xuance, "small_disk", tmp_path))

    assert 0 == run.exit_code, run.stderr[-2000:]
    assert [] == run.of("checkpoint_saved")
    assert [] == list((run.run_dir / "checkpoints").iterdir())
    assert "the checkpoint at step 512 could not be written" in run.of("log")[-1]["text"]


def test_a_directory_that_cannot_be_made_costs_a_checkpoint_and_not_the_run(
    xuance: InstalledWorker, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("a file where a directory should be made")

    run = xuance.run("no-directory", SHORT, MOSAIC_CHECKPOINT_DIR=str(blocked))

    assert 0 == run.exit_code
    assert [] == run.of("checkpoint_saved")
    assert "could not be written: Not a directory; the training goes on without it" in run.of("log")[-1]["text"]


def test_a_checkpoint_of_another_algorithm_is_refused(xuance: InstalledWorker) -> None:
    made = xuance.run("other-algorithm", SHORT)
    (checkpoint,) = (made.run_dir / "checkpoints").iterdir()

    run = xuance.run("wrong-checkpoint", {**SHORT, "algo": "a2c"}, MOSAIC_RESUME_FROM=str(checkpoint))

    assert 2 == run.exit_code
    assert "is of algorithm 'ppo', but 'a2c' was asked for" in run.stderr
