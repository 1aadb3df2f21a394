"""What a policy is judged by, what a checkpoint says of itself, and what a run says of its settings."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

import pytest

from mosaic.worker.library.evaluation import evaluation_seeds
from tests.workers.cleanrl.conftest import DQN, GAUSSIAN, PPO, SAC, checkpoints_of, told_points
from tests.workers.conftest import InstalledWorker, WorkerRun

pytestmark = pytest.mark.slow

EVALUATED: dict[str, dict[str, Any]] = {
    "ppo": {**PPO, "total_steps": 2_048, "eval_every": 600, "eval_episodes": 2},
    "dqn": {**DQN, "eval_every": 300, "eval_episodes": 2, "eval_policy": "sample"},
    "gaussian": {**GAUSSIAN, "eval_every": 150, "checkpoint_every": 256, "eval_episodes": 1, "eval_policy": "sample"},
}
#: What `preset=auto` sets for a short run of ppo on CartPole.
_PRESET = {
    "learning_rate": 0.001,
    "num_envs": 8,
    "num_steps": 32,
    "num_minibatches": 1,
    "update_epochs": 20,
    "gamma": 0.98,
    "gae_lambda": 0.8,
    "ent_coef": 0.0,
}
#: How many different actions a policy takes when it sees the same fifty times.
_ACTIONS = """
import json, sys
from pathlib import Path
from mosaic.worker.library.checkpoints import About, undump
from mosaic_cleanrl.evaluation import TrainedPolicy
from mosaic_cleanrl.scripts import find_script
def count(is_greedy):
    script, state = find_script(About.read(Path(sys.argv[1])).passport.algo), undump(Path(sys.argv[1]) / "policy.pt")
    policy = TrainedPolicy(script, state, is_greedy=is_greedy)
    observation, _ = policy.env.reset(seed=1)
    return len({policy.act(observation).tobytes() for _ in range(50)})
print(json.dumps({"greedy": count(True), "sampled": count(False)}))
"""


@pytest.fixture(scope="module")
def evaluated(cleanrl: InstalledWorker) -> Mapping[str, WorkerRun]:
    """Runs that evaluate while they train, each by its name in `EVALUATED`."""
    return {name: cleanrl.run(f"meanwhile-{name}", config) for name, config in EVALUATED.items()}


@pytest.mark.parametrize("name", EVALUATED)
def test_evaluations_during_training_change_nothing_of_it(
    cleanrl: InstalledWorker, evaluated: Mapping[str, WorkerRun], name: str
) -> None:
    plain = cleanrl.run(f"undisturbed-{name}", {**EVALUATED[name], "eval_every": 0, "eval_episodes": 0})

    played = [one for one in evaluated[name].of("episode") if "evaluation" in one]
    seeds = evaluation_seeds(1, EVALUATED[name]["eval_episodes"])
    steps = sorted({one["step"] for one in played})
    assert 3 <= len(steps)
    assert seeds * len(steps) == [one["seed"] for one in played]
    assert steps == [one["step"] for one in evaluated[name].of("metric") if one["name"] == "eval/mean_return"]
    told = told_points(evaluated[name])
    assert told_points(plain) == [one for one in told if one[0] != "eval/mean_return" and not one[-1]]
    assert "tensorboard" in evaluated[name].folders_naming("eval/mean_return")


@pytest.mark.parametrize("name", EVALUATED)
def test_a_run_that_goes_on_neither_repeats_nor_skips_an_evaluation(
    cleanrl: InstalledWorker, evaluated: Mapping[str, WorkerRun], name: str
) -> None:
    midway = checkpoints_of(evaluated[name])[0]

    resumed = cleanrl.run(f"meanwhile-on-{name}", EVALUATED[name], MOSAIC_RESUME_FROM=str(midway))

    assert told_points(evaluated[name], after=evaluated[name].of("checkpoint_saved")[0]) == told_points(resumed)


@pytest.mark.parametrize("name", EVALUATED)
def test_a_checkpoint_comes_after_all_it_covers_and_before_all_else(
    evaluated: Mapping[str, WorkerRun], name: str
) -> None:
    kinds = ("episode", "metric", "checkpoint_saved")
    lines = [(one["event"], one["payload"]) for one in evaluated[name].events if one["event"] in kinds]
    lines = [line for line in lines if "evaluation" not in line[1] and line[1].get("name") != "eval/mean_return"]
    places = [number for number, (event, _) in enumerate(lines) if event == "checkpoint_saved"]

    assert 2 <= len(places)
    for place in places:
        step = lines[place][1]["step"]
        assert all(one["step"] <= step for _, one in lines[:place])
        assert all(one["step"] > step for _, one in lines[place + 1 :])


def test_a_stop_within_an_evaluation_leaves_it_to_be_made_when_the_run_goes_on(cleanrl: InstalledWorker) -> None:
    config = {**PPO, "total_steps": 1_024, "eval_every": 512, "eval_episodes": 10_000}
    process = cleanrl.start("stopped-meanwhile", config)
    assert process.stdout is not None
    assert next(line for line in process.stdout if '"steps_per_s"' in line)
    process.send_signal(signal.SIGTERM)
    stopped = cleanrl.finish(process, "stopped-meanwhile", timeout_s=30.0)

    kept = checkpoints_of(stopped)[-1]
    resumed = cleanrl.run("meanwhile-later", {**config, "eval_episodes": 2}, MOSAIC_RESUME_FROM=str(kept))

    assert 143 == stopped.exit_code
    assert [] == [one for one in stopped.of("episode") if "evaluation" in one]
    assert [512, 512, 1_024, 1_024] == [one["step"] for one in resumed.of("episode") if "evaluation" in one]


def test_a_greedy_evaluation_does_not_draw_and_a_sampled_one_does(cleanrl: InstalledWorker, trained: WorkerRun) -> None:
    config = {"mode": "policy_eval", "policy_path": str(checkpoints_of(trained)[-1]), "eval_episodes": 5}
    greedy = cleanrl.run("greedy", config)
    sampled = cleanrl.run("sampled", {**config, "eval_policy": "sample"})

    best, drawn = ([one["total_reward"] for one in run.of("episode")] for run in (greedy, sampled))
    assert best != drawn
    assert cleanrl.answer(_ACTIONS, str(checkpoints_of(trained)[-1])) == {"greedy": 1, "sampled": 2}


@pytest.mark.parametrize("name", ["gaussian", "sac"])
def test_the_greedy_action_of_a_gaussian_policy_is_its_mean(cleanrl: InstalledWorker, name: str) -> None:
    config = SAC if name == "sac" else GAUSSIAN
    run = cleanrl.run(f"mean-{name}", {**config, "total_steps": 256})

    assert {"greedy": 1, "sampled": 50} == cleanrl.answer(_ACTIONS, str(checkpoints_of(run)[-1]))


@pytest.mark.parametrize("way", ["policy_eval", "--evaluate", "--interactive", "--dry-run"])
def test_a_policy_is_not_played_as_what_it_is_not(cleanrl: InstalledWorker, trained: WorkerRun, way: str) -> None:
    path = str(checkpoints_of(trained)[-1])
    mode = "policy_eval" if way in ("policy_eval", "--dry-run") else "train"
    flags = {"--evaluate": ["--evaluate", path], "policy_eval": []}.get(way, [way])
    config = {"algo": "dqn", "env_id": "Acrobot-v1", "mode": mode, "policy_path": path}

    run = cleanrl.run(f"contradicted-{way}", config, *flags)

    assert 2 == run.exit_code
    assert "is of algorithm 'ppo', but 'dqn' was asked for" in run.stderr
    assert "is of environment 'CartPole-v1', but 'Acrobot-v1' was asked for" in run.stderr
    assert [] == run.of("episode")


def test_a_policy_whose_task_is_not_said_is_played_on_its_own(cleanrl: InstalledWorker, trained: WorkerRun) -> None:
    other = cleanrl.run("acrobat", {**DQN, "env_id": "Acrobot-v1", "total_steps": 300})
    path = str(checkpoints_of(other)[-1])

    run = cleanrl.run("acrobat-played", {"mode": "policy_eval", "policy_path": path, "eval_episodes": 1, "seed": 9})

    expected = {"env_id": "Acrobot-v1", "algo": "dqn", "seed": 9}
    for event in ("settings_resolved", "run_completed"):
        (told,) = run.of(event)
        assert expected == {name: told[name] for name in expected}
    (started,) = run.of("run_started")
    assert expected == {name: started["config"][name] for name in expected}
    assert other.of("checkpoint_saved")[-1]["passport"] == run.of("run_completed")[0]["evaluation"]["passport"]
    assert evaluation_seeds(9, 1) == [one["seed"] for one in run.of("episode")]


def test_a_checkpoint_tells_where_it_comes_from(cleanrl: InstalledWorker, trained: WorkerRun) -> None:
    saved = trained.of("checkpoint_saved")[0]

    resumed = cleanrl.run("passport", {**PPO, "total_steps": 1_536}, MOSAIC_RESUME_FROM=str(checkpoints_of(trained)[0]))

    passport = saved["passport"]
    assert ("cleanrl", "1.2.0", "ppo", "CartPole-v1", 1_024, 1) == tuple(
        passport[name] for name in ("library", "library_version", "algo", "env_id", "step", "seed")
    )
    assert passport == resumed.of("checkpoint_loaded")[0]["passport"]
    # Longer or shorter, it is the same that is learned.
    assert passport["settings_digest"] == resumed.of("checkpoint_saved")[-1]["passport"]["settings_digest"]
    assert [] == [one for one in resumed.of("log") if "other settings" in one["text"]]


def test_going_on_with_other_settings_is_said(cleanrl: InstalledWorker, trained: WorkerRun) -> None:
    config = {**PPO, "total_steps": 1_536, "algo_params": {"gamma": 0.9}}

    resumed = cleanrl.run("other-gamma", config, MOSAIC_RESUME_FROM=str(checkpoints_of(trained)[0]))

    assert 0 == resumed.exit_code
    assert [one for one in resumed.of("log") if "other settings" in one["text"]]


def test_every_setting_is_told_with_its_origin_before_training(cleanrl: InstalledWorker) -> None:
    config = {"algo": "ppo", "env_id": "CartPole-v1", "total_steps": 256, "eval_episodes": 0, "notes": "n"}

    run = cleanrl.run("settings", config)

    kinds = [one["event"] for one in run.events]
    assert kinds.index("settings_resolved") < min(kinds.index("episode"), kinds.index("metric"))
    (told,) = run.of("settings_resolved")
    origins = {name: entry["origin"] for name, entry in told["settings"].items()}
    assert set(_PRESET) == {name for name, origin in origins.items() if origin == "preset"}
    assert set(config) == {name for name, origin in origins.items() if origin == "asked"}
    values = {name: entry["value"] for name, entry in told["settings"].items()}
    assert _PRESET.items() <= values.items()
    assert (0.2, "short_run", False, 256) == tuple(values[one] for one in ("clip_coef", "preset", "cuda", "batch_size"))


def test_what_is_asked_for_stands_as_asked_also_within_a_preset(cleanrl: InstalledWorker) -> None:
    asked = {"preset": "short_run", "algo_params": {"gamma": 0.9}, "extras": {"num_envs": 4}}
    config = {"algo": "ppo", "total_steps": 128, "eval_episodes": 0, **asked}

    (told,) = cleanrl.run("settings-asked", config).of("settings_resolved")

    settings = told["settings"]
    assert {"value": 0.9, "origin": "asked"} == settings["gamma"]
    assert {"value": 4, "origin": "asked"} == settings["num_envs"]
    assert {"value": 0.001, "origin": "preset"} == settings["learning_rate"]
    assert {"value": "CartPole-v1", "origin": "default"} == settings["env_id"]


def test_a_run_that_goes_on_to_be_a_long_one_keeps_its_preset(cleanrl: InstalledWorker) -> None:
    config = {"algo": "ppo", "env_id": "CartPole-v1", "total_steps": 256, "eval_episodes": 0}
    begun = cleanrl.run("short", config)

    (kept,) = checkpoints_of(begun)
    longer = cleanrl.run("longer", {**config, "total_steps": 500_000}, "--dry-run", MOSAIC_RESUME_FROM=str(kept))

    assert "--learning-rate 0.001" in longer.of("run_completed")[0]["plan"]["command"]
