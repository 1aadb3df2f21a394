"""A XuanCe run repeats itself, stops, goes on, is evaluated and is played."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from mosaic.testing import check_worker
from tests.workers.conftest import InstalledWorker, WorkerRun
from tests.workers.xuance.conftest import checkpoints_of

pytestmark = pytest.mark.slow

_SHORT: dict[str, Any] = {
    "seed": 1,
    "num_envs": 4,
    "total_steps": 1_000,
    "checkpoint_every": 500,
    "metrics_every": 100,
    "eval_episodes": 2,
}
_REPLAY = {"start_training": 100, "buffer_size": 2_000}
PPO = {**_SHORT, "algo": "ppo", "env_id": "CartPole-v1", "algo_params": {"horizon_size": 64}}
SAC = {**_SHORT, "algo": "sac", "env_id": "Hopper-v5", "algo_params": _REPLAY}
MAPPO = {**_SHORT, "algo": "mappo", "env_id": "simple_spread_v3", "algo_params": {"buffer_size": 200}}


@pytest.fixture(scope="module")
def trained(xuance: InstalledWorker) -> WorkerRun:
    """A short run of PPO with two checkpoints, which asked for a GPU that is not there."""
    return xuance.run("trained", {**PPO, "cuda": True})


def test_the_worker_keeps_every_promise_of_the_contract(xuance: InstalledWorker, tmp_path: Path) -> None:
    env = {name: value for name, value in xuance.env(tmp_path).items() if not name.startswith("MOSAIC_")}

    report = check_worker("xuance", python=xuance.python, env=env, grace_s=30.0)

    assert [] == [(check.name, check.sentence) for check in report.checks if check.outcome == "failed"]
    assert "grade A" in next(check.sentence for check in report.checks if check.name == "resume")


@pytest.mark.parametrize("config", [PPO, SAC, MAPPO], ids=["ppo", "sac", "mappo"])
def test_a_resumed_run_goes_on_to_the_bit(xuance: InstalledWorker, config: dict[str, Any]) -> None:
    whole = xuance.run(f"whole-{config['algo']}", config)
    midway = checkpoints_of(whole)[0]

    resumed = xuance.run(f"resumed-{config['algo']}", config, MOSAIC_RESUME_FROM=str(midway))

    assert 0 == resumed.exit_code, resumed.stderr[-2000:]
    assert checkpoints_of(resumed)
    assert _after(whole, 500) == _after(resumed, 500)


def test_the_same_seed_gives_a_team_the_same_curve(xuance: InstalledWorker) -> None:
    config = {**_SHORT, "algo": "qmix", "env_id": "simple_spread_v3", "algo_params": _REPLAY, "eval_episodes": 1}

    first, second = (xuance.run(label, config) for label in ("qmix-once", "qmix-twice"))

    assert first.points() == second.points()


def test_sigterm_leaves_a_checkpoint_from_which_the_run_goes_on(xuance: InstalledWorker) -> None:
    config = {**PPO, "total_steps": 1_000_000, "checkpoint_every": 10_000_000}
    process = xuance.start("stopped", config)
    assert process.stdout is not None
    assert next(line for line in process.stdout if '"episode"' in line)
    process.send_signal(signal.SIGTERM)
    asked = time.monotonic()

    stopped = xuance.finish(process, "stopped")
    took_s = time.monotonic() - asked
    (saved,) = stopped.of("checkpoint_saved")
    resumed = xuance.run(
        "continued",
        {**config, "total_steps": saved["step"] + 400},
        MOSAIC_RESUME_FROM=str(checkpoints_of(stopped)[0]),
    )

    assert (143, True) == (stopped.exit_code, bool(stopped.of("run_cancelled")))
    assert took_s < 10
    assert saved["step"] + 400 == resumed.of("run_completed")[0]["steps"]
    assert [(saved["step"], saved["sha256"])] == [
        (one["step"], one["sha256"]) for one in resumed.of("checkpoint_loaded")
    ]


def test_a_run_that_was_killed_goes_on_from_its_last_checkpoint(xuance: InstalledWorker) -> None:
    config = {**PPO, "total_steps": 1_000_000, "keep_checkpoints": 1_000}
    process = xuance.start("killed", config)
    assert process.stdout is not None
    line = next(line for line in process.stdout if '"checkpoint_saved"' in line)
    process.kill()
    killed = xuance.finish(process, "killed")

    saved = json.loads(line)["payload"]
    resumed = xuance.run(
        "revived",
        {**config, "total_steps": saved["step"] + 400, "eval_episodes": 0},
        MOSAIC_RESUME_FROM=str(killed.run_dir / saved["checkpoint_path"]),
    )

    assert -signal.SIGKILL == killed.exit_code
    assert saved["step"] + 400 == resumed.of("run_completed")[0]["steps"]


def test_a_policy_is_evaluated_from_its_checkpoint(xuance: InstalledWorker, trained: WorkerRun) -> None:
    policy = str(checkpoints_of(trained)[-1])
    config = {**PPO, "mode": "policy_eval", "policy_path": policy, "eval_episodes": 5, "capture_video": True}

    run = xuance.run("evaluated", config)

    document = json.loads((run.run_dir / "evaluation.json").read_text())
    told = [(one["seed"], one["total_reward"], one["steps"]) for one in run.of("episode")]
    assert told == [(row["seed"], row["episode_return"], row["length"]) for row in document["episodes"]]
    assert all(episode_return == length for _seed, episode_return, length in told)
    assert document["mean_ci"][0] <= document["mean_return"] <= document["mean_ci"][1]
    assert [] == run.of("checkpoint_saved")
    assert list((run.run_dir / "videos").glob("*.mp4"))


def test_a_training_that_goes_on_does_not_begin_again_from_its_first_policy(
    xuance: InstalledWorker, trained: WorkerRun
) -> None:
    first, last = checkpoints_of(trained)[:2]
    config = {**PPO, "total_steps": 1_200, "policy_path": str(first), "eval_episodes": 0}

    run = xuance.run("resumed-with-policy", config, MOSAIC_RESUME_FROM=str(last))

    assert [int(last.name.removeprefix("step-"))] == [one["step"] for one in run.of("checkpoint_loaded")]
    assert 1_200 == run.of("run_completed")[0]["steps"]


def test_what_was_learned_is_told_by_the_shared_names(trained: WorkerRun) -> None:
    (evaluation,) = trained.values("eval/mean_return")

    assert json.loads((trained.run_dir / "evaluation.json").read_text())["mean_return"] == evaluation
    assert ["episode_return_mean"] == list(trained.of("run_completed")[0]["metrics"])


def test_a_gpu_that_was_asked_for_and_is_not_there_is_told_once(trained: WorkerRun) -> None:
    told = [one["text"] for one in trained.of("log") if "cuda" in one["text"]]

    assert ["cuda is true, but torch can use none here: this run learns on the CPU"] == told


def test_a_policy_is_played_over_stdin(xuance: InstalledWorker, trained: WorkerRun) -> None:
    config = {**PPO, "policy_path": str(checkpoints_of(trained)[-1])}
    process = xuance.start("played", config, "--interactive")
    assert process.stdin is not None
    for command in (
        {"cmd": "reset", "seed": 3},
        {"cmd": "step"},
        {"cmd": "select_action", "observation": [0.0, 0.1, 0.0, 0.1], "player_id": "one"},
        {"cmd": "select_action", "observation": [0.0]},
        {"cmd": "stop"},
    ):
        process.stdin.write(json.dumps(command) + "\n")

    run = xuance.finish(process, "played")

    answers = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{") and '"type":' in line]
    assert ["init", "ready", "step", "action_selected", "error", "stopped"] == [one["type"] for one in answers]
    assert "must have the shape [4], has [1]" in answers[4]["message"]
    assert 0 == run.exit_code


def test_wandb_writes_its_files_offline_and_no_key_to_disk(xuance: InstalledWorker) -> None:
    config = {**PPO, "total_steps": 400, "eval_episodes": 2, "track_wandb": True, "wandb_mode": "offline"}

    run = xuance.run("offline", config, WANDB_API_KEY="s3cret" * 7)

    written = [path for path in run.run_dir.rglob("*") if path.is_file()]
    assert [path for path in written if path.suffix == ".wandb"]
    assert {"tensorboard", "wandb"} == run.folders_naming("eval/mean_return") & run.folders_naming("eval/iqm_ci_low")
    assert [] == [path for path in written if b"s3crets3cret" in path.read_bytes()]


def _after(run: WorkerRun, step: int) -> list[tuple[Any, ...]]:
    """Return everything told beyond *step* that follows from the seed."""
    metrics = [(one["name"], one["step"], one["value"]) for one in run.of("metric") if one["name"] != "steps_per_s"]
    episodes = [(one["episode_index"], one["step"], one["total_reward"]) for one in run.of("episode")]
    return [point for point in metrics + episodes if point[1] > step]
