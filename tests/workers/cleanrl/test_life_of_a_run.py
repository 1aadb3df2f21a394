"""A CleanRL run repeats itself, stops, goes on, is evaluated and is played."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from mosaic.testing import check_worker
from tests.workers.cleanrl.conftest import DQN, PPO, SAC, checkpoints_of, told_points
from tests.workers.conftest import InstalledWorker, WorkerRun

pytestmark = pytest.mark.slow

#: Box2D keeps its state to itself.
PPO_LANDER = {
    "algo": "ppo",
    "env_id": "LunarLander-v2",
    "total_steps": 1_024,
    "num_envs": 4,
    "eval_episodes": 0,
    "algo_params": {"num_steps": 64},
}
DQN_LANDER = {
    "algo": "dqn",
    "env_id": "LunarLander-v2",
    "total_steps": 512,
    "eval_episodes": 0,
    "algo_params": {"buffer_size": 1_000},
}


def test_the_worker_keeps_every_promise_of_the_contract(cleanrl: InstalledWorker, tmp_path: Path) -> None:
    env = {name: value for name, value in cleanrl.env(tmp_path).items() if not name.startswith("MOSAIC_")}

    report = check_worker("cleanrl", python=cleanrl.python, env=env, grace_s=30.0)

    assert [] == [(check.name, check.sentence) for check in report.checks if check.outcome == "failed"]
    assert "grade A" in next(check.sentence for check in report.checks if check.name == "resume")


def test_the_same_seed_gives_the_same_curve_with_every_episode(cleanrl: InstalledWorker, trained: WorkerRun) -> None:
    again = cleanrl.run("again", PPO)

    assert trained.points() == again.points()


def test_the_script_sees_what_it_would_see_without_us(cleanrl: InstalledWorker, trained: WorkerRun) -> None:
    bare_dir = cleanrl.scratch / "bare"
    bare_dir.mkdir()
    command = [cleanrl.python, "-m", "cleanrl.ppo", "--env-id", "CartPole-v1", "--total-timesteps", "2048"]

    bare = subprocess.run(command, cwd=bare_dir, env=cleanrl.env(bare_dir), capture_output=True, text=True, check=True)

    assert _episode_lines(bare.stdout) == _episode_lines(trained.stdout)


def test_a_resumed_run_on_policy_goes_on_to_the_bit(cleanrl: InstalledWorker, trained: WorkerRun) -> None:
    _check_that_resuming_changes_nothing(cleanrl, trained, PPO)


@pytest.mark.parametrize("config", [DQN, SAC], ids=["dqn", "sac"])
def test_a_resumed_run_with_replay_goes_on_to_the_bit(cleanrl: InstalledWorker, config: dict[str, Any]) -> None:
    whole = cleanrl.run(f"whole-{config['algo']}", config)

    _check_that_resuming_changes_nothing(cleanrl, whole, config)


@pytest.mark.parametrize("config", [PPO_LANDER, DQN_LANDER], ids=["ppo", "dqn"])
def test_a_simulator_that_cannot_be_saved_begins_whole_episodes_after_resume(
    cleanrl: InstalledWorker, config: dict[str, Any]
) -> None:
    begun = cleanrl.run(f"landing-{config['algo']}", {**config, "total_steps": 256})

    resumed = cleanrl.run(f"landing-anew-{config['algo']}", config, MOSAIC_RESUME_FROM=str(checkpoints_of(begun)[-1]))

    ends = {one["step"] - 256: one["steps"] for one in resumed.of("episode")}
    first = min(ends)
    assert "they begin new episodes" in resumed.of("log")[0]["text"]
    assert first / config.get("num_envs", 1) == ends[first]


def test_a_checkpoint_of_another_algorithm_is_refused(cleanrl: InstalledWorker, trained: WorkerRun) -> None:
    run = cleanrl.run("wrong-checkpoint", DQN, MOSAIC_RESUME_FROM=str(checkpoints_of(trained)[0]))

    assert 2 == run.exit_code
    assert "is of algorithm 'ppo', but 'dqn' was asked for" in run.stderr


def test_sigterm_leaves_a_checkpoint_from_which_the_run_goes_on(cleanrl: InstalledWorker) -> None:
    config = {**PPO, "total_steps": 1_000_000, "checkpoint_every": 10_000_000}
    process = cleanrl.start("stopped", config)
    assert process.stdout is not None
    began = next(line for line in process.stdout if '"episode"' in line)
    process.send_signal(signal.SIGTERM)
    asked = time.monotonic()

    stopped = cleanrl.finish(process, "stopped")
    took_s = time.monotonic() - asked
    process = cleanrl.start("continued", config, MOSAIC_RESUME_FROM=str(checkpoints_of(stopped)[-1]))
    assert process.stdout is not None
    first = next(json.loads(line)["payload"] for line in process.stdout if line.startswith('{"event":"episode"'))
    process.send_signal(signal.SIGTERM)
    cleanrl.finish(process, "continued")

    assert began
    assert 143 == stopped.exit_code
    assert stopped.of("run_cancelled")
    assert took_s < 10
    assert first["step"] >= stopped.of("checkpoint_saved")[-1]["step"]


@pytest.mark.parametrize("config", [PPO, DQN], ids=["ppo", "dqn"])
def test_a_run_that_is_stopped_while_it_is_paused_leaves_a_checkpoint(
    cleanrl: InstalledWorker, config: dict[str, Any]
) -> None:
    label = f"paused-{config['algo']}"
    process = cleanrl.start(label, {**config, "total_steps": 1_000_000, "checkpoint_every": 10_000_000})
    assert process.stdout is not None
    # Before the first turn has ended there is nothing to save: whoever goes on begins anew.
    assert next(line for line in process.stdout if '"loss/' in line)
    process.send_signal(signal.SIGTSTP)
    # Held, it says nothing more; what was on its way is read before.
    _wait_until_idle(process.pid)
    process.send_signal(signal.SIGTERM)

    stopped = cleanrl.finish(process, label)

    assert 143 == stopped.exit_code, stopped.stderr[-2000:]
    assert (checkpoints_of(stopped)[-1] / "about.json").is_file()


def test_a_run_that_is_stopped_in_its_evaluation_is_evaluated_when_it_goes_on(cleanrl: InstalledWorker) -> None:
    config = {**PPO, "total_steps": 512, "eval_episodes": 10_000}
    process = cleanrl.start("evaluating", config)
    assert process.stdout is not None
    assert next(line for line in process.stdout if '"evaluation":true' in line)
    process.send_signal(signal.SIGTERM)
    stopped = cleanrl.finish(process, "evaluating", timeout_s=20.0)

    (kept,) = (stopped.run_dir / "checkpoints").iterdir()
    resumed = cleanrl.run("evaluated-later", {**config, "eval_episodes": 2}, MOSAIC_RESUME_FROM=str(kept))

    assert 143 == stopped.exit_code
    assert not (stopped.run_dir / "evaluation.json").exists()
    assert 2 == len(resumed.of("episode"))
    assert 512 == resumed.of("run_completed")[0]["evaluation"]["checkpoint_step"]
    assert [] == [one["text"] for one in resumed.of("log") if "too short" in one["text"]]


def test_only_the_newest_checkpoints_stay_on_disk(cleanrl: InstalledWorker) -> None:
    config = {**PPO, "num_envs": 4, "algo_params": {"num_steps": 64}, "checkpoint_every": 256, "keep_checkpoints": 2}

    run = cleanrl.run("pruned", config)

    told = checkpoints_of(run)
    assert 8 == len(told)
    assert told[-2:] == sorted((run.run_dir / "checkpoints").iterdir())


def test_a_policy_is_evaluated_from_its_checkpoint(cleanrl: InstalledWorker, trained: WorkerRun) -> None:
    config = {
        "algo": "ppo",
        "mode": "policy_eval",
        "policy_path": str(checkpoints_of(trained)[-1]),
        "eval_episodes": 5,
    }

    run = cleanrl.run("evaluated", config)

    document = json.loads((run.run_dir / "evaluation.json").read_text())
    told = [(one["seed"], one["total_reward"]) for one in run.of("episode")]
    assert told == [(row["seed"], row["episode_return"]) for row in document["episodes"]]
    assert document["mean_ci"][0] <= document["mean_return"] <= document["mean_ci"][1]
    assert {"iqm_return", "iqm_ci"} <= set(document)


def test_a_policy_is_played_over_stdin(cleanrl: InstalledWorker, trained: WorkerRun) -> None:
    process = cleanrl.start("played", {"policy_path": str(checkpoints_of(trained)[-1])}, "--interactive")
    assert process.stdin is not None
    for command in (
        {"cmd": "reset", "seed": 3},
        {"cmd": "step"},
        {"cmd": "select_action", "observation": [0.0, 0.1, 0.0, 0.1], "player_id": "one"},
        {"cmd": "stop"},
    ):
        process.stdin.write(json.dumps(command) + "\n")

    run = cleanrl.finish(process, "played")

    kinds = [json.loads(line)["type"] for line in run.stdout.splitlines() if '"type":' in line]
    assert ["init", "ready", "step", "action_selected", "stopped"] == kinds
    assert 0 == run.exit_code


def test_wandb_writes_its_files_offline_and_no_key_to_disk(cleanrl: InstalledWorker) -> None:
    config = {**PPO, "total_steps": 512, "eval_episodes": 2, "track_wandb": True, "wandb_mode": "offline"}

    run = cleanrl.run("offline", config, WANDB_API_KEY="s3cret" * 7)

    written = [path for path in run.run_dir.rglob("*") if path.is_file()]
    assert [path for path in written if path.suffix == ".wandb"]
    assert {"tensorboard", "wandb"} == run.folders_naming("eval/mean_return") & run.folders_naming("eval/iqm_ci_low")
    assert [] == [path for path in written if b"s3crets3cret" in path.read_bytes()]
    told = run.of("run_completed")[0]["wandb"]
    assert ("offline", "mosaic", None) == (told["mode"], told["project"], told["url"])
    assert told["run_path"].endswith(told["run_id"])


def test_a_wandb_that_cannot_connect_never_stops_the_training(cleanrl: InstalledWorker) -> None:
    config = {**PPO, "total_steps": 512, "track_wandb": True}

    run = cleanrl.run("no-wandb", config, WANDB_BASE_URL="http://127.0.0.1:9", WANDB_API_KEY="k" * 40)

    assert 0 == run.exit_code
    assert run.values("loss/policy")
    assert [text for text in run.of("log") if "W&B" in text["text"]]


def test_curves_that_cannot_be_sent_for_want_of_a_key_are_a_config_error(cleanrl: InstalledWorker) -> None:
    run = cleanrl.run("no-key", {**PPO, "total_steps": 512, "track_wandb": True}, HOME=str(cleanrl.scratch))

    assert 2 == run.exit_code
    (told,) = run.of("run_failed")
    assert "wandb_mode=offline" in told["error"]
    assert [] == run.of("metric")


def _check_that_resuming_changes_nothing(cleanrl: InstalledWorker, whole: WorkerRun, config: dict[str, Any]) -> None:
    midway = checkpoints_of(whole)[0]

    resumed = cleanrl.run(f"resumed-{config['algo']}", config, MOSAIC_RESUME_FROM=str(midway))

    assert {name for name, *_ in resumed.points()} - {"episode"}
    assert told_points(whole, after=whole.of("checkpoint_saved")[0]) == told_points(resumed)


def _wait_until_idle(pid: int) -> None:
    """Return when a process has used no time of a core for a while."""
    stat = Path(f"/proc/{pid}/stat")
    used, quiet_since = -1, time.monotonic()
    while time.monotonic() - quiet_since < 0.5:
        fields = stat.read_text().rpartition(")")[2].split()
        now = int(fields[11]) + int(fields[12])
        if now != used:
            used, quiet_since = now, time.monotonic()
        time.sleep(0.05)


def _episode_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("global_step=")]
