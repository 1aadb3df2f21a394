"""A run is stopped, resumed, evaluated and asked for actions, and leaves nothing running."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from pathlib import Path

import pytest

from mosaic.testing.conformance import check_worker
from mosaic.worker.library.checkpoints import digest_of
from tests.stack.waiting import until
from tests.workers.conftest import InstalledWorker, WorkerRun
from tests.workers.rllib.conftest import checkpoints_of, lines_until, pids_in_session, processes_of

pytestmark = pytest.mark.slow

#: What the agent grants between SIGTERM and SIGKILL.
GRACE_S = 10
SMALL = {
    "seed": 1,
    "num_env_runners": 0,
    "algo_params": {"train_batch_size_per_learner": 200, "minibatch_size": 100, "num_epochs": 2},
}


@pytest.fixture(scope="module")
def trained(rllib: InstalledWorker) -> WorkerRun:
    """A short run with a checkpoint, of a lease whose GPU is not there."""
    wandb = {"track_wandb": True, "wandb_mode": "offline"}
    config = {**SMALL, "total_timesteps": 400, "eval_episodes": 3, "capture_video": True, **wandb}
    return rllib.run("trained", config, CUDA_VISIBLE_DEVICES="GPU-of-nobody")


def test_what_a_run_leaves_can_be_found(trained: WorkerRun) -> None:
    assert 0 == trained.exit_code, trained.stderr[-2000:]
    assert list((trained.run_dir / "tensorboard").glob("events.out.tfevents*"))
    assert list((trained.run_dir / "videos").glob("*.mp4"))
    document = json.loads((trained.run_dir / "evaluation.json").read_text())
    assert 3 == len(document["episodes"])
    assert document["mean_ci"][0] <= document["mean_return"] <= document["mean_ci"][1]
    assert [document["mean_return"]] == trained.values("eval/mean_return")
    folders = trained.folders_naming("eval/mean_return") & trained.folders_naming("eval/iqm_ci_low")
    assert {"tensorboard", "wandb"} == folders
    assert ["episode_return_mean"] == list(trained.of("run_completed")[0]["metrics"])
    assert [] == processes_of(trained.run_dir)


def test_the_summary_says_where_wandb_has_the_curves(trained: WorkerRun) -> None:
    told = trained.of("run_completed")[0]["wandb"]

    assert ("mosaic", "offline", None) == (told["project"], told["mode"], told["url"])
    assert told["run_path"].endswith(f"/{told['run_id']}")


def test_a_gpu_that_was_asked_for_and_is_not_there_is_told_once(trained: WorkerRun) -> None:
    told = [one["text"] for one in trained.of("log") if "GPU" in one["text"]]

    assert ["the lease has a GPU, but torch can use none here: this run learns on the CPU"] == told


def test_lengths_of_episodes_are_right_across_iterations(trained: WorkerRun) -> None:
    assert all(one["total_reward"] == one["steps"] for one in trained.of("episode"))


def test_a_policy_is_evaluated_from_its_checkpoint(rllib: InstalledWorker, trained: WorkerRun) -> None:
    path = str(checkpoints_of(trained)[-1])

    run = rllib.run("evaluated", {**SMALL, "mode": "policy_eval", "policy_path": path, "eval_episodes": 3})

    told = [one["total_reward"] for one in run.of("episode")]
    assert told == [one["total_reward"] for one in trained.of("episode") if one.get("evaluation")]


def test_a_policy_is_asked_for_actions(rllib: InstalledWorker, trained: WorkerRun) -> None:
    config = {**SMALL, "policy_path": str(checkpoints_of(trained)[-1])}
    commands = [
        {"cmd": "reset", "seed": 3},
        {"cmd": "step"},
        {"cmd": "select_action", "observation": [0.0, 0.1, 0.0, -0.1], "player_id": "a"},
        {"cmd": "stop"},
    ]
    process = rllib.start("asked", config, "--interactive")

    answers, _ = process.communicate("".join(f"{json.dumps(one)}\n" for one in commands), timeout=240)

    told = [json.loads(line) for line in answers.splitlines() if line.startswith('{"')]
    by_type = {one["type"]: one for one in told if "type" in one}
    assert ["init", "ready", "step", "action_selected", "stopped"] == list(by_type)
    assert by_type["action_selected"]["action"] in (0, 1)


def test_a_team_cannot_be_played_over_stdin(rllib: InstalledWorker) -> None:
    run = rllib.run("team-asked", {"env_id": "simple_spread_v3", "policy_path": "somewhere"}, "--interactive")

    assert 2 == run.exit_code
    assert "simple_spread_v3 has several agents; --interactive plays one" in run.stderr


def test_a_stop_leaves_a_checkpoint_within_its_grace_and_no_process(rllib: InstalledWorker) -> None:
    # Iterations of RLlib's own size take longer than a stop may: the one under way is given up.
    process = rllib.start("stopped", {"seed": 1, "num_env_runners": 1, "total_steps": 1_000_000})
    lines_until(process, '"loss/policy"')

    # As the agent does it: Ray's own processes are told, too.
    os.killpg(process.pid, signal.SIGTERM)
    asked = time.monotonic()
    stopped = rllib.finish(process, "stopped")
    took_s = time.monotonic() - asked

    assert 143 == stopped.exit_code, stopped.stderr[-2000:]
    assert took_s < GRACE_S
    assert [] == processes_of(stopped.run_dir)
    (saved,) = stopped.of("checkpoint_saved")
    assert saved["step"] == stopped.of("run_cancelled")[-1]["steps"] > 0
    assert saved["sha256"] == digest_of(checkpoints_of(stopped)[0])


def test_a_stop_that_reaches_rays_processes_first_ends_none_of_them(rllib: InstalledWorker) -> None:
    process = rllib.start("shielded", {**SMALL, "num_env_runners": 1, "total_steps": 1_000_000})
    lines_until(process, '"loss/policy"')
    rays = {*pids_in_session(process.pid)} - {process.pid}

    for pid in rays:
        os.kill(pid, signal.SIGTERM)

    for _ in range(3):
        lines_until(process, '"loss/policy"')
    assert rays <= {*pids_in_session(process.pid)}
    os.killpg(process.pid, signal.SIGTERM)
    assert 143 == rllib.finish(process, "shielded").exit_code


@pytest.mark.parametrize("sign", ["", "session_*", "session_*/sockets/raylet"])
def test_a_stop_while_ray_starts_is_no_failure(rllib: InstalledWorker, sign: str) -> None:
    label = f"hasty-{sign.count('/')}{len(sign)}"
    process = rllib.start(label, SMALL)
    sought = f"mosaic-ray-{process.pid}-*/{sign}"
    until(lambda: any(Path(tempfile.gettempdir()).glob(sought)), what="Ray begins to start", seconds=120)

    os.killpg(process.pid, signal.SIGTERM)
    stopped = rllib.finish(process, label)

    assert 143 == stopped.exit_code, stopped.stderr[-2000:]
    assert 1 == len(stopped.of("run_cancelled"))
    assert [] == processes_of(stopped.run_dir)


def test_a_killed_run_takes_its_ray_with_it(rllib: InstalledWorker) -> None:
    process = rllib.start("killed", {**SMALL, "num_env_runners": 1, "total_steps": 1_000_000})
    lines_until(process, '"event":"episode"')

    os.kill(process.pid, signal.SIGKILL)
    killed = rllib.finish(process, "killed")

    # Two of Ray's helpers first try to tell a server that is gone; an agent would not wait for them.
    assert [] == processes_of(killed.run_dir, within_s=90)


def test_the_conformance_kit_has_nothing_against_it(rllib: InstalledWorker, tmp_path: Path) -> None:
    report = check_worker("rllib", python=rllib.python, env=rllib.env(tmp_path), timeout_s=240)

    assert [] == [f"{check.name}: {check.sentence}" for check in report.checks if check.outcome.value == "failed"]
    assert "grade A" in next(check.sentence for check in report.checks if check.name == "resume")
