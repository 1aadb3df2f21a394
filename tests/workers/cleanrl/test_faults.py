"""What goes wrong is said in a sentence a researcher understands, and ends as it should."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mosaic.worker import validate_config
from mosaic.worker.suitability import pair_fault
from tests.workers.conftest import InstalledWorker

pytestmark = pytest.mark.slow

SHORT = {"algo": "ppo", "env_id": "CartPole-v1", "seed": 1, "total_steps": 512, "eval_episodes": 0}
#: Lets no file grow beyond a few kilobytes.
_SMALL_DISK = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))"


@pytest.fixture(scope="module")
def schema(cleanrl: InstalledWorker) -> Any:
    """The schema that the fleet checks a submission against."""
    return cleanrl.schema()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"algo": "pppo"}, "did you mean 'ppo'?"),
        ({"algo_params": {"lerning_rate": 0.1}}, "algo_params.lerning_rate: is not a known field, did you mean"),
        ({"algo_params": {"gamma": 1.5}}, "algo_params.gamma: must be at most 1"),
        ({"algo_params": {"buffer_size": 10}}, "algo_params.buffer_size: is not a known field"),
        ({"algo": "dqn", "algo_params": {"buffer_size": "many"}}, "algo_params.buffer_size: must be an integer"),
        ({"total_step": 5}, "did you mean 'total_steps'?"),
        ({"extras": {"lerning_rate": 1}}, "extras.lerning_rate: is not a known field, did you mean 'learning_rate'?"),
        ({"extras": {"env_id": "CartPole-v1"}}, "extras.env_id: is not a known field"),
        ({"extras": {"gamma": 1.5}}, "extras.gamma: must be at most 1"),
        ({"extras": {"total_timesteps": 0}}, "extras.total_timesteps: must be at least 1"),
        ({"tensorboard_dir": "../other/tensorboard"}, "tensorboard_dir: must stay inside the run directory"),
    ],
)
def test_a_misspelt_setting_is_refused_at_submission(schema: Any, change: dict[str, Any], sentence: str) -> None:
    faults = validate_config(schema, {"run_id": "r", **SHORT, **change})

    assert 1 == len(faults)
    assert sentence in faults[0]


@pytest.mark.parametrize("algo", [{"algo": "dqn"}, {}], ids=["named", "by-default"])
def test_every_misspelt_setting_is_named(schema: Any, algo: dict[str, str]) -> None:
    faults = validate_config(schema, {"run_id": "r", **algo, "extras": {"lerning_rate": 1, "env_id": "Nope"}})

    assert ["extras.env_id", "extras.lerning_rate"] == sorted(fault.partition(":")[0] for fault in faults)


def test_every_algorithm_that_must_be_offered_is(schema: Any) -> None:
    offered = set(schema["properties"]["algo"]["enum"])

    assert {"ppo", "dqn", "c51", "ppo_continuous_action", "sac", "td3", "ddpg"} <= offered
    assert "number" == schema["$defs"]["ppo"]["properties"]["learning_rate"]["type"]


def test_an_environment_of_a_newer_gymnasium_is_refused_at_submission(schema: Any) -> None:
    assert "did you mean 'Hopper-v4'?" in str(pair_fault(schema, {"algo": "sac", "env_id": "Hopper-v5"}))
    assert pair_fault(schema, {"algo": "sac", "env_id": "Hopper-v4"}) is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"algo": "dqn", "env_id": "Pendulum-v1"}, "dqn needs discrete actions, but Pendulum-v1 has continuous ones"),
        ({"env_id": "CartPole-v7"}, "there is no environment 'CartPole-v7' here, did you mean 'CartPole-v"),
        ({"algo": "ppo_procgen"}, "ppo_procgen needs procgen, which this environment does not have"),
        ({"algo": "sac", "env_id": "Pendulum-v1", "num_envs": 4}, "plays one environment and has no --num-envs"),
        ({"algo": "dqn", "preset": "short_run"}, "preset: short_run is for ppo and not for dqn"),
    ],
)
def test_a_pair_that_cannot_work_ends_with_code_2(
    cleanrl: InstalledWorker, change: dict[str, Any], sentence: str
) -> None:
    label = "refused-" + "-".join(str(value) for value in change.values())

    run = cleanrl.run(label, {**SHORT, **change})

    assert 2 == run.exit_code
    assert sentence in run.stderr


def test_a_dry_run_shows_the_command_and_says_either_way_about_cuda(cleanrl: InstalledWorker) -> None:
    run = cleanrl.run("dry", {**SHORT, "cuda": False, "algo_params": {"clip_vloss": False}}, "--dry-run")

    (told,) = run.of("run_completed")
    assert ("completed", True, "train") == (told["status"], told["dry_run"], told["plan"]["mode"])
    for part in ("-m cleanrl.ppo --env-id CartPole-v1 --total-timesteps 512", "--cuda False", "--clip-vloss False"):
        assert part in told["plan"]["command"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"env_id": "CartPol-v1"}, "there is no environment 'CartPol-v1' here, did you mean 'CartPole-v1'?"),
        ({"algo": "dqn", "env_id": "Acrobat-v1"}, "did you mean 'Acrobot-v1'?"),
        ({"env_id": "no_such_module:Task-v0"}, "No module named 'no_such_module'"),
        ({"mode": "policy_eval", "policy_path": "nowhere.pt", "eval_episodes": 1}, "nowhere.pt"),
        ({"mode": "policy_eval", "eval_episodes": 1}, "policy_path: is required for mode policy_eval"),
        ({"eval_every": 100}, "eval_episodes: an evaluation needs at least 1 episode"),
        ({"algo": "ppo_atari_lstm", "eval_every": 1, "eval_episodes": 1}, "eval_every: ppo_atari_lstm has a recurrent"),
    ],
)
def test_a_dry_run_refuses_what_the_run_would_refuse(
    cleanrl: InstalledWorker, change: dict[str, Any], sentence: str
) -> None:
    label = "dry-" + "-".join(str(value).replace(":", "-") for value in change.values())

    run = cleanrl.run(label, {**SHORT, **change}, "--dry-run")

    assert 2 == run.exit_code
    assert sentence in run.stderr


@pytest.mark.parametrize("env_id", ["CartPole", "CartPole-v0", "MiniGrid-Empty-5x5-v0", "ALE/Breakout-v5"])
def test_a_dry_run_knows_every_environment_that_the_run_would_find(cleanrl: InstalledWorker, env_id: str) -> None:
    run = cleanrl.run(f"dry-{env_id.replace('/', '-')}", {**SHORT, "algo": "dqn", "env_id": env_id}, "--dry-run")

    assert 0 == run.exit_code, run.stderr[-2000:]


def test_the_dry_run_of_an_evaluation_shows_the_evaluation(cleanrl: InstalledWorker) -> None:
    trained = cleanrl.run("to-be-judged", SHORT)
    (saved,) = trained.of("checkpoint_saved")
    path = str(trained.run_dir / saved["checkpoint_path"])

    run = cleanrl.run("dry-judging", {"mode": "policy_eval", "policy_path": path, "eval_episodes": 3}, "--dry-run")

    (told,) = run.of("run_completed")
    expected = {"mode": "policy_eval", "env_id": "CartPole-v1", "algo": "ppo", "policy_path": path, "eval_episodes": 3}
    assert expected.items() <= told["plan"].items()
    assert "command" not in told["plan"]
    assert [] == run.of("episode")


def test_without_a_gpu_in_the_lease_none_is_asked_for(cleanrl: InstalledWorker) -> None:
    run = cleanrl.run("no-lease", SHORT, "--dry-run", CUDA_VISIBLE_DEVICES="")

    assert "--cuda False" in run.of("run_completed")[0]["plan"]["command"]


@pytest.mark.parametrize(
    ("cuda", "visible", "why"), [(True, "", "cuda is true"), (None, "GPU-1", "the lease has a GPU")]
)
def test_a_gpu_that_is_not_there_is_a_warning(
    cleanrl: InstalledWorker, cuda: bool | None, visible: str, why: str
) -> None:
    run = cleanrl.run(f"no-gpu-{cuda}", {**SHORT, "cuda": cuda}, CUDA_VISIBLE_DEVICES=visible)

    assert 0 == run.exit_code
    (warning,) = [one["text"] for one in run.of("log") if one["level"] == "warning"]
    assert f"{why}, but torch can use none here: this run learns on the CPU" == warning


def test_what_the_desktop_application_writes_is_accepted(cleanrl: InstalledWorker, schema: Any) -> None:
    extras = {"cuda": False, "wandb_project_name": "mine", "learning_rate": 0.1, "algo_params": {"gamma": 0.9}}
    config = {"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": 512, "seed": 1, "extras": extras}

    run = cleanrl.run("desktop", config, "--dry-run")

    command = run.of("run_completed")[0]["plan"]["command"] + " "
    assert [] == validate_config(schema, {"run_id": "r", **config})
    assert "mine" == run.of("run_started")[0]["config"]["wandb_project"]
    for told in ("--total-timesteps 512 ", "--learning-rate 0.1 ", "--gamma 0.9 "):
        assert told in command


def test_a_preset_is_shown_in_the_command_and_gives_way_to_what_was_set(cleanrl: InstalledWorker) -> None:
    config = {**SHORT, "preset": "short_run", "algo_params": {"gamma": 0.9}}

    run = cleanrl.run("preset", config, "--dry-run")

    (told,) = run.of("run_completed")
    assert "--learning-rate 0.001" in told["plan"]["command"]
    assert "--gamma 0.9 " in told["plan"]["command"] + " "


@pytest.mark.parametrize("env_id", ["CartPole-v1", None], ids=["named", "by-default"])
def test_a_short_run_on_cartpole_gets_settings_for_short_runs(cleanrl: InstalledWorker, env_id: str | None) -> None:
    (told,) = cleanrl.run(f"auto-{env_id}", {**SHORT, "env_id": env_id}, "--dry-run").of("run_completed")

    assert "--learning-rate 0.001" in told["plan"]["command"]


@pytest.mark.parametrize(
    "change",
    [
        {"preset": "none"},
        {"algo_params": {"gamma": 0.9}},
        {"num_envs": 2},
        {"total_steps": 500_000},
        {"env_id": "Acrobot-v1"},
    ],
)
def test_any_other_run_gets_the_scripts_own_settings(cleanrl: InstalledWorker, change: dict[str, Any]) -> None:
    (told,) = cleanrl.run(f"own-{next(iter(change))}", {**SHORT, **change}, "--dry-run").of("run_completed")

    assert "--learning-rate" not in told["plan"]["command"]


@pytest.mark.parametrize("algo", ["ppo", "dqn"])
def test_a_training_that_diverges_says_so(cleanrl: InstalledWorker, algo: str) -> None:
    replay = {"learning_starts": 50, "buffer_size": 500} if algo == "dqn" else {}

    run = cleanrl.run(f"nan-{algo}", {**SHORT, "algo": algo, "algo_params": {"learning_rate": 1e20, **replay}})

    assert 1 == run.exit_code
    assert "the training has diverged" in run.of("run_failed")[0]["error"]


def test_an_environment_that_raises_is_named(cleanrl: InstalledWorker) -> None:
    sources = cleanrl.env(Path())["PYTHONPATH"]
    config = {**SHORT, "env_id": "exploding_environment:Exploding-v0"}

    run = cleanrl.run("exploding", config, PYTHONPATH=f"{sources}{os.pathsep}{Path(__file__).parent}")

    error = run.of("run_failed")[0]["error"]
    assert 1 == run.exit_code
    assert "Exploding-v0 raised in step() at step" in error
    assert "ZeroDivisionError: the cart has no mass" in error


def test_a_full_disk_costs_a_checkpoint_and_not_the_run(cleanrl: InstalledWorker, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(_SMALL_DISK)
    sources = cleanrl.env(Path())["PYTHONPATH"]

    run = cleanrl.run("full-disk", SHORT, PYTHONPATH=f"{sources}{os.pathsep}{tmp_path}")

    assert 0 == run.exit_code, run.stderr[-2000:]
    assert [] == run.of("checkpoint_saved")
    assert "could not be written: File too large" in run.of("log")[-1]["text"]
    assert [] == list((run.run_dir / "checkpoints").iterdir())
