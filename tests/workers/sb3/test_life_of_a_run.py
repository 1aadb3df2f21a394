"""A run of Stable-Baselines3 repeats itself, stops, is killed, goes on, is evaluated and is played."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from mosaic.testing import check_worker
from tests.workers.conftest import InstalledWorker, WorkerRun
from tests.workers.sb3.conftest import PPO, SHORT, checkpoints_of, told_points

pytestmark = pytest.mark.slow


def test_the_worker_keeps_every_promise_of_the_contract(sb3: InstalledWorker, tmp_path: Path) -> None:
    env = {name: value for name, value in sb3.env(tmp_path).items() if not name.startswith("MOSAIC_")}

    report = check_worker("sb3", python=sb3.python, env=env, grace_s=30.0)

    assert [] == [(check.name, check.sentence) for check in report.checks if check.outcome == "failed"]
    assert "grade A" in next(check.sentence for check in report.checks if check.name == "resume")


@pytest.mark.parametrize("algo", SHORT)
def test_every_algorithm_learns_and_goes_on_to_the_bit(sb3: InstalledWorker, algo: str) -> None:
    whole = sb3.run(f"whole-{algo}", SHORT[algo])
    midway = checkpoints_of(whole)[0]

    resumed = sb3.run(f"resumed-{algo}", SHORT[algo], MOSAIC_RESUME_FROM=str(midway))

    assert (0, 0) == (whole.exit_code, resumed.exit_code), whole.stderr[-2000:] + resumed.stderr[-2000:]
    assert {name for name, *_ in whole.points() if name.startswith("loss/")}
    assert told_points(whole, after=whole.of("checkpoint_saved")[0]) == told_points(resumed)


def test_a_simulator_that_cannot_be_saved_begins_new_episodes(sb3: InstalledWorker) -> None:
    config = {**PPO, "env_id": "LunarLander-v3"}
    begun = sb3.run("landing", {**config, "total_steps": 256})

    resumed = sb3.run("landing-anew", config, MOSAIC_RESUME_FROM=str(checkpoints_of(begun)[-1]))

    assert "they begin new episodes" in resumed.of("log")[0]["text"]
    assert resumed.of("episode")[0]["step"] - 256 == resumed.of("episode")[0]["steps"]
    assert begun.returns[0] != resumed.returns[0]


def test_a_replay_buffer_that_is_too_large_is_filled_anew(sb3: InstalledWorker) -> None:
    config = {**SHORT["dqn"], "replay_limit_mb": 0}
    whole = sb3.run("large", config)

    resumed = sb3.run("refilled", config, MOSAIC_RESUME_FROM=str(checkpoints_of(whole)[0]))

    assert ["replay buffer"] == whole.of("checkpoint_saved")[0]["starts_anew"]
    assert 0 == resumed.exit_code
    assert "filled anew" in resumed.of("log")[0]["text"]


def test_sigterm_leaves_a_checkpoint_from_which_the_run_goes_on(sb3: InstalledWorker, trained: WorkerRun) -> None:
    process = sb3.start("stopped", {**PPO, "total_steps": 1_000_000})
    assert process.stdout is not None
    first = next(line for line in process.stdout if '"checkpoint_saved"' in line)
    process.send_signal(signal.SIGTERM)

    run = sb3.finish(process, "stopped")

    saved = [json.loads(first)["payload"], *run.of("checkpoint_saved")][-1]
    assert 512 <= saved["step"]
    assert 143 == run.exit_code
    assert saved["step"] == run.of("run_cancelled")[0]["steps"]


def test_a_run_that_is_killed_goes_on_from_its_newest_checkpoint(sb3: InstalledWorker, trained: WorkerRun) -> None:
    process = sb3.start("killed", PPO)
    assert process.stdout is not None
    next(line for line in process.stdout if '"checkpoint_saved"' in line)
    process.kill()
    killed = sb3.finish(process, "killed")
    (newest,) = killed.run_dir.glob("checkpoints/step-0000000512")

    resumed = sb3.run("after-kill", PPO, MOSAIC_RESUME_FROM=str(newest))

    assert told_points(trained, after=trained.of("checkpoint_saved")[0]) == told_points(resumed)


def test_only_the_newest_checkpoints_stay_on_disk(sb3: InstalledWorker) -> None:
    run = sb3.run("pruned", {**PPO, "checkpoint_every": 128, "keep_checkpoints": 2})

    assert 8 == len(run.of("checkpoint_saved"))
    kept = sorted(path.name for path in run.run_dir.glob("checkpoints/*"))
    assert ["step-0000000896", "step-0000001024"] == kept


def test_a_policy_is_evaluated_from_its_checkpoint(sb3: InstalledWorker, trained: WorkerRun) -> None:
    told = {"mode": "policy_eval", "policy_path": str(checkpoints_of(trained)[-1]), "eval_episodes": 3}

    greedy, again = (sb3.run(f"judged-{number}", told) for number in range(2))
    sampled = sb3.run("sampled", {**told, "eval_policy": "sample"})

    rows = [one["total_reward"] for one in greedy.of("episode")]
    assert 3 == len(rows)
    assert rows == [one["total_reward"] for one in again.of("episode")]
    assert rows != [one["total_reward"] for one in sampled.of("episode")]
    assert 1_024 == greedy.of("run_completed")[0]["evaluation"]["checkpoint_step"]


def test_evaluations_during_training_change_nothing_of_it(sb3: InstalledWorker, trained: WorkerRun) -> None:
    judged = sb3.run("judged-often", {**PPO, "eval_every": 256, "eval_episodes": 2})

    training = [point for point in told_points(judged) if not point[-1] and not str(point[0]).startswith("eval/")]
    assert told_points(trained) == training
    assert [256, 512, 768, 1_024] == [one["step"] for one in judged.of("metric") if one["name"] == "eval/mean_return"]


def test_a_policy_is_played_over_stdin(sb3: InstalledWorker, trained: WorkerRun) -> None:
    process = sb3.start("played", {"policy_path": str(checkpoints_of(trained)[-1])}, "--interactive")
    assert process.stdin is not None
    process.stdin.write('{"cmd": "reset", "seed": 1}\n{"cmd": "step"}\n{"cmd": "stop"}\n')
    process.stdin.flush()

    run = sb3.finish(process, "played")

    kinds = [json.loads(line)["type"] for line in run.stdout.splitlines() if '"type"' in line]
    assert ["init", "ready", "step", "stopped"] == kinds


def test_wandb_writes_its_files_offline(sb3: InstalledWorker) -> None:
    run = sb3.run("tracked", {**PPO, "track_wandb": True, "wandb_mode": "offline"})

    assert list(run.run_dir.glob("wandb/wandb/offline-run-*"))
    assert {"tensorboard", "wandb"} <= run.folders_naming("loss/value")
