"""A XuanCe run repeats itself, stops, goes on, is evaluated and is played."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mosaic.testing import check_worker
from mosaic.worker.library.evaluation import evaluation_seeds
from tests.workers.conftest import InstalledWorker, WorkerRun
from tests.workers.xuance.conftest import checkpoints_of

pytestmark = pytest.mark.slow

_SHORT: dict[str, Any] = {
    "seed": 1,
    "num_envs": 4,
    "total_steps": 1_000,
    "checkpoint_every": 500,
    "metrics_every": 300,
    "eval_episodes": 2,
}
_REPLAY = {"start_training": 100, "buffer_size": 2_000}
PPO = {**_SHORT, "algo": "ppo", "env_id": "CartPole-v1", "algo_params": {"horizon_size": 64}}
SAC = {**_SHORT, "algo": "sac", "env_id": "Hopper-v5", "algo_params": _REPLAY}
MAPPO = {**_SHORT, "algo": "mappo", "env_id": "simple_spread_v3", "algo_params": {"buffer_size": 200}}

#: Print whose random numbers a checkpoint holds.
_GENERATORS = """
import json, sys
import torch
print(json.dumps(sorted(torch.load(sys.argv[1], weights_only=False))))
"""


@pytest.fixture(scope="module")
def trained(xuance: InstalledWorker) -> WorkerRun:
    """A short run of PPO with two checkpoints, which asked for a GPU that is not there."""
    return xuance.run("trained", {**PPO, "cuda": True})


def test_the_worker_keeps_every_promise_of_the_contract(xuance: InstalledWorker, tmp_path: Path) -> None:
    env = {name: value for name, value in xuance.env(tmp_path).items() if not name.startswith("MOSAIC_")}

    report = check_worker("xuance", python=xuance.python, env=env, grace_s=30.0)

    assert [] == [(check.name, check.sentence) for check in report.checks if check.outcome == "failed"]
    assert "grade A" in next(check.sentence for check in report.checks if check.name == "resume")


@pytest.fixture(scope="module", params=[PPO, SAC, MAPPO], ids=["ppo", "sac", "mappo"])
def whole(request: pytest.FixtureRequest, xuance: InstalledWorker) -> tuple[dict[str, Any], WorkerRun]:
    """A run that was never interrupted and evaluates every 250 steps, a team by drawing, and its config."""
    config = {**request.param, "eval_every": 250, "eval_policy": "sample" if request.param is MAPPO else "greedy"}
    run = xuance.run(f"whole-{config['algo']}", config)
    assert 0 == run.exit_code, run.stderr[-2000:]
    return config, run


def test_a_resumed_run_goes_on_to_the_bit_and_repeats_no_evaluation(
    xuance: InstalledWorker, whole: tuple[dict[str, Any], WorkerRun]
) -> None:
    config, uninterrupted = whole
    midway = checkpoints_of(uninterrupted)[0]

    resumed = xuance.run(f"resumed-{config['algo']}", config, MOSAIC_RESUME_FROM=str(midway))

    assert 0 == resumed.exit_code, resumed.stderr[-2000:]
    assert checkpoints_of(resumed)
    assert _after(uninterrupted, 500) == _after(resumed, 500)
    assert [] == [one for one in resumed.of("episode") if one["step"] <= 500]


def test_evaluations_during_training_change_nothing_about_it(
    xuance: InstalledWorker, whole: tuple[dict[str, Any], WorkerRun]
) -> None:
    config, evaluated = whole

    plain = xuance.run(f"plain-{config['algo']}", {**config, "eval_every": 0, "eval_episodes": 0})

    assert _of_training(plain) == _of_training(evaluated)
    assert ([], 4) == (plain.values("eval/mean_return"), len(evaluated.values("eval/mean_return")))
    assert [252, 500, 752, 1_000] == sorted({one["step"] for one in evaluated.of("episode") if "evaluation" in one})


def test_a_checkpoint_comes_after_all_lines_that_it_covers_and_before_all_others(
    whole: tuple[dict[str, Any], WorkerRun],
) -> None:
    events = whole[1].events
    saved = [(place, one["payload"]["step"]) for place, one in enumerate(events) if one["event"] == "checkpoint_saved"]
    # The evaluation at the very end is of the last checkpoint.
    told = [
        (place, one["payload"]["step"])
        for place, one in enumerate(events)
        if one["event"] in ("metric", "episode") and not (_is_evaluation(one["payload"]) and place > saved[-1][0])
    ]

    assert [500, 1_000] == [step for _place, step in saved]
    for place, step in saved:
        assert all((other < place) == (at <= step) for other, at in told)


def test_the_last_step_of_a_training_has_a_point(whole: tuple[dict[str, Any], WorkerRun]) -> None:
    points = [one["step"] for one in whole[1].of("metric") if one["name"] == "xuance/updates"]

    assert [300, 600, 900, 1_000] == points


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
    assert evaluation_seeds(1, 5) == [seed for seed, _return, _length in told]
    assert all(one["evaluation"] for one in run.of("episode"))
    assert all(episode_return == length for _seed, episode_return, length in told)
    assert document["mean_ci"][0] <= document["mean_return"] <= document["mean_ci"][1]
    assert [] == run.of("checkpoint_saved")
    assert list((run.run_dir / "videos").glob("*.mp4"))


def test_what_a_policy_was_trained_on_need_not_be_said_again(xuance: InstalledWorker) -> None:
    config = {**MAPPO, "total_steps": 100, "algo_params": {"actor_hidden_size": [32]}}
    team = xuance.run("small-team", {**config, "eval_episodes": 0})
    (policy,) = checkpoints_of(team)

    run = xuance.run("team-played", {"mode": "policy_eval", "policy_path": str(policy), "eval_episodes": 1})

    assert 0 == run.exit_code, run.stderr[-2000:]
    (resolved,) = run.of("settings_resolved")
    (started,) = run.of("run_started")
    (summary,) = run.of("run_completed")
    for told in (resolved, started["config"], summary):
        assert ("mappo", "simple_spread_v3", 1) == (told["algo"], told["env_id"], told["seed"])
    assert {"value": [32], "origin": "preset"} == resolved["settings"]["actor_hidden_size"]
    assert team.of("checkpoint_saved")[0]["passport"] == run.of("checkpoint_loaded")[0]["passport"]
    (played,) = json.loads((run.run_dir / "evaluation.json").read_text())["episodes"]
    assert pytest.approx(sum(played["agents"].values())) == played["episode_return"]


@pytest.mark.parametrize("arguments", [[], ["--dry-run"]], ids=["run", "dry-run"])
def test_a_policy_is_not_played_on_anything_but_what_it_was_trained_on(
    xuance: InstalledWorker, trained: WorkerRun, arguments: list[str]
) -> None:
    policy = str(checkpoints_of(trained)[-1])
    config = {"mode": "policy_eval", "policy_path": policy, "algo": "dqn", "env_id": "Acrobot-v1", "eval_episodes": 2}

    run = xuance.run(f"elsewhere{len(arguments)}", config, *arguments)

    assert 2 == run.exit_code
    assert "is of environment 'CartPole-v1', but 'Acrobot-v1' was asked for" in run.stderr
    assert "is of algorithm 'ppo', but 'dqn' was asked for" in run.stderr
    assert [] == run.of("episode")


def test_a_dry_run_of_an_evaluation_shows_the_evaluation(xuance: InstalledWorker, trained: WorkerRun) -> None:
    config = {"mode": "policy_eval", "policy_path": str(checkpoints_of(trained)[-1]), "eval_episodes": 2, "seed": 9}

    run = xuance.run("plan-to-evaluate", config, "--dry-run")

    plan = run.of("run_completed")[0]["plan"]
    assert ("policy_eval", "CartPole-v1", "greedy") == tuple(plan[name] for name in ("mode", "env_id", "eval_policy"))
    assert evaluation_seeds(9, 2) == plan["seeds"]


def test_every_setting_is_told_with_its_origin_before_anything_is_played(trained: WorkerRun) -> None:
    (resolved,) = trained.of("settings_resolved")

    settings = resolved["settings"]
    assert ("ppo", "CartPole-v1", 1) == (resolved["algo"], resolved["env_id"], resolved["seed"])
    assert {"value": 64, "origin": "asked"} == settings["horizon_size"]
    assert {"value": 0.0004, "origin": "default"} == settings["learning_rate"]
    assert {"value": 4, "origin": "asked"} == settings["num_envs"]
    assert {"value": "cpu", "origin": "default"} == settings["device"]
    assert {"value": 64, "origin": "default"} == settings["replay_limit_mb"]
    assert not {"algo_params", "extras"} & set(settings)
    kinds = [one["event"] for one in trained.events]
    assert kinds.index("settings_resolved") < min(kinds.index("episode"), kinds.index("metric"))


def test_a_checkpoint_knows_what_it_is_of(trained: WorkerRun) -> None:
    passports = [one["passport"] for one in trained.of("checkpoint_saved")]

    assert [500, 1_000] == [one["step"] for one in passports]
    assert {("xuance", "xuance", "1.4.4", "ppo", "CartPole-v1", 1)} == {
        tuple(one[name] for name in ("worker", "library", "library_version", "algo", "env_id", "seed"))
        for one in passports
    }
    inside = json.loads((checkpoints_of(trained)[-1] / "about.json").read_text())["passport"]
    assert passports[-1] == inside


def test_a_training_begins_with_the_policy_it_is_given(xuance: InstalledWorker, trained: WorkerRun) -> None:
    first = checkpoints_of(trained)[0]
    config = {**PPO, "total_steps": 700, "policy_path": str(first), "eval_episodes": 0}

    run = xuance.run("begun-with-policy", config)

    assert [500] == [one["step"] for one in run.of("checkpoint_loaded")]
    assert 700 == run.of("run_completed")[0]["steps"]
    assert [] == [one for one in run.of("episode") if one["step"] <= 500]


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
    told = run.of("run_completed")[0]["wandb"]
    entry = json.loads((run.run_dir / "analytics.json").read_text())["artifacts"]["wandb"]
    assert ("offline", "mosaic", entry["run_id"]) == (told["mode"], told["project"], told["run_id"])
    # A path is no address; a run that is offline has none.
    assert ("", True) == (entry["url"], entry["enabled"])


def test_a_checkpoint_holds_the_random_numbers_of_cpu_and_gpu(xuance: InstalledWorker, trained: WorkerRun) -> None:
    generators = xuance.answer(_GENERATORS, str(checkpoints_of(trained)[0] / "generators.pt"))

    assert ["cuda", "numpy", "python", "torch"] == generators


def _is_evaluation(payload: Mapping[str, Any]) -> bool:
    return bool(payload.get("evaluation")) or str(payload.get("name")).startswith("eval/")


def _of_training(run: WorkerRun) -> list[tuple[Any, ...]]:
    """Return everything told of the training that follows from the seed."""
    told = [one for one in (*run.of("metric"), *run.of("episode")) if not _is_evaluation(one)]
    return [tuple(sorted(one.items())) for one in told if one.get("name") != "steps_per_s"]


def _after(run: WorkerRun, step: int) -> list[tuple[Any, ...]]:
    """Return everything told beyond *step* that follows from the seed."""
    metrics = [(one["name"], one["step"], one["value"]) for one in run.of("metric") if one["name"] != "steps_per_s"]
    episodes = [(one["episode_index"], one["step"], one["total_reward"]) for one in run.of("episode")]
    return [point for point in metrics + episodes if point[1] > step]
