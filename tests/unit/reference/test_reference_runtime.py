from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mosaic_reference.checkpoint import load
from mosaic_reference.config import ReferenceConfig
from mosaic_reference.faults import VARIABLE, FaultOnDemand
from mosaic_reference.runtime import ReferenceRuntime

from mosaic.errors import BadInput
from mosaic.testing.recording import RecordingEmitter
from mosaic.worker import WorkerAnalyticsManifest
from mosaic.worker.library.evaluation import evaluation_seeds

Make = Callable[..., ReferenceRuntime]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Runtimes that share one run directory."""

    def make(environment: dict[str, str] | None = None, **settings: Any) -> ReferenceRuntime:
        config = ReferenceConfig("r1", **{"total_steps": 600, "checkpoint_every": 200, "eval_episodes": 2} | settings)
        return ReferenceRuntime(
            config, RecordingEmitter("r1"), environment={"MOSAIC_RUN_DIR": str(tmp_path), **(environment or {})}
        )

    return make


def told(runtime: ReferenceRuntime, *kinds: str) -> list[dict[str, Any]]:
    emitter = runtime.emitter
    assert isinstance(emitter, RecordingEmitter)
    return [{"event": line["event"], **line["payload"]} for line in emitter.events if line["event"] in kinds]


def values(runtime: ReferenceRuntime) -> list[dict[str, Any]]:
    return told(runtime, "episode", "metric", "step")


def of_training(runtime: ReferenceRuntime) -> list[dict[str, Any]]:
    return [one for one in values(runtime) if "evaluation" not in one and one.get("name") != "eval/mean_return"]


def after_save(runtime: ReferenceRuntime) -> list[dict[str, Any]]:
    """What a run said after it had saved its first checkpoint."""
    lines = told(runtime, "episode", "metric", "step", "checkpoint_saved")
    first = next(number for number, line in enumerate(lines) if line["event"] == "checkpoint_saved")
    return [line for line in lines[first:] if line["event"] != "checkpoint_saved"]


def test_a_run_tells_episodes_metrics_checkpoints_and_artifacts(make: Make) -> None:
    runtime = make()

    summary = runtime.run()

    assert "completed" == summary["status"]
    assert summary["episodes"] == sum("evaluation" not in line for line in told(runtime, "episode"))
    assert {"episode_return_mean", "epsilon", "reference/weight_norm", "eval/mean_return"} == {
        line["name"] for line in told(runtime, "metric")
    }
    assert 3 <= len(told(runtime, "checkpoint_saved"))
    assert ["evaluation.json"] == [line["path"] for line in told(runtime, "artifact")]


def test_a_resumed_run_says_bit_by_bit_what_the_whole_one_would_have(make: Make) -> None:
    whole = make()
    whole.run()
    first = told(whole, "checkpoint_saved")[0]

    resumed = make()
    resumed.resume_from(whole.run_dir / first["checkpoint_path"])
    resumed.run()

    left = [line for line in values(whole) if line["step"] > first["step"] or "evaluation" in line]
    assert left == values(resumed)


def test_a_stopped_run_can_be_resumed_exactly(make: Make, tmp_path: Path) -> None:
    whole = make(checkpoint_every=10_000)
    whole.run()
    stopped = make(checkpoint_every=10_000)
    stopped.emitter.episode = lambda *args, **more: stopped.request_stop()  # type: ignore[method-assign]

    summary = stopped.run()
    (saved,) = told(stopped, "checkpoint_saved")
    resumed = make(checkpoint_every=10_000)
    resumed.resume_from(tmp_path / saved["checkpoint_path"])
    resumed.run()

    assert "cancelled" == summary["status"]
    assert 1 == saved["episode"]
    assert values(whole)[1:] == values(resumed)


def test_a_checkpoint_is_named_with_its_true_hash(make: Make, tmp_path: Path) -> None:
    runtime = make()
    runtime.run()

    for line in told(runtime, "checkpoint_saved"):
        content = (tmp_path / line["checkpoint_path"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == line["sha256"]


def test_checkpoints_go_where_the_agent_says(make: Make, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"

    runtime = make({"MOSAIC_CHECKPOINT_DIR": str(elsewhere)})
    runtime.run()

    assert {line["checkpoint_path"] for line in told(runtime, "checkpoint_saved")} == {
        f"elsewhere/{path.name}" for path in elsewhere.iterdir()
    }


def test_another_seed_is_another_run(make: Make) -> None:
    one, other = make(seed=1), make(seed=2)

    one.run()
    other.run()

    assert values(one) != values(other)


def test_without_a_seed_one_is_drawn_and_told(make: Make) -> None:
    assert make(seed=None).run()["seed"] != make(seed=None).run()["seed"]


def test_steps_are_told_only_when_asked_for(make: Make) -> None:
    quiet, chatty = make(total_steps=50), make(total_steps=50, emit_steps=True)

    quiet.run()
    summary = chatty.run()

    assert [] == told(quiet, "step")
    assert summary["steps"] == len(told(chatty, "step"))


def test_an_evaluation_has_a_row_per_seed_and_a_summary(make: Make, tmp_path: Path) -> None:
    runtime = make()
    runtime.run()
    newest = told(runtime, "checkpoint_saved")[-1]["checkpoint_path"]
    judge = make()

    summary = judge.evaluate(tmp_path / newest, seeds=[7, 8, 9])

    rows = told(judge, "episode")
    assert [7, 8, 9] == [row["seed"] for row in summary["episodes"]] == [row["seed"] for row in rows]
    assert {True} == {row["evaluation"] for row in rows}
    assert judge.evaluate(tmp_path / newest, seeds=[7, 8, 9]) == summary


def test_the_final_evaluation_is_kept_as_a_file(make: Make, tmp_path: Path) -> None:
    summary = make(eval_episodes=3).run()

    kept = json.loads((tmp_path / "evaluation.json").read_text())
    assert 3 == len(kept.pop("episodes"))
    assert kept == summary["evaluation"]


def test_the_manifest_names_the_checkpoints(make: Make, tmp_path: Path) -> None:
    make().run()

    manifest = WorkerAnalyticsManifest.load(tmp_path / "analytics.json")
    assert manifest.artifacts.checkpoints is not None
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == manifest.artifacts.checkpoints.files


@pytest.mark.parametrize("verb", ["resume_from", "evaluate"])
def test_a_checkpoint_of_another_environment_than_was_asked_for_is_refused(
    make: Make, tmp_path: Path, verb: str
) -> None:
    make(env_id="FrozenLake-v1", total_steps=100).run()
    (newest,) = (tmp_path / "checkpoints").glob("*.npz")
    runtime = make(env_id="Taxi-v4", algo="q_learning")

    with pytest.raises(BadInput) as refused:
        getattr(runtime, verb)(newest, *([[1]] if verb == "evaluate" else []))

    assert refused.value.faults == (
        "is of environment 'FrozenLake-v1', but 'Taxi-v4' was asked for",
        "is of algorithm 'sarsa', but 'q_learning' was asked for",
    )
    assert [] == values(runtime)


def test_what_was_not_asked_for_is_as_the_checkpoint_says(make: Make, tmp_path: Path) -> None:
    make(env_id="FrozenLake-v1", algo="q_learning", total_steps=100, seed=5).run()
    (newest,) = (tmp_path / "checkpoints").glob("*.npz")
    judge = make()

    result = judge.evaluate(newest, seeds=[1])

    played = {"env_id": "FrozenLake-v1", "algo": "q_learning", "seed": 5}
    assert played == {name: result[name] for name in played}
    (settings,) = told(judge, "settings_resolved")
    assert played == {name: settings[name] for name in played}
    assert {"value": 0.2, "origin": "default"} == settings["settings"]["learning_rate"]


def test_a_checkpoint_carries_its_passport(make: Make, tmp_path: Path) -> None:
    runtime = make()
    runtime.run()
    saved = told(runtime, "checkpoint_saved")[0]

    passport = load(tmp_path / saved["checkpoint_path"]).passport

    assert (
        saved["passport"] == passport.to_dict() == make().resume_from(tmp_path / saved["checkpoint_path"])["passport"]
    )
    assert ("reference", "CartPole-v1", "sarsa", saved["step"], 1) == (
        passport.worker,
        passport.env_id,
        passport.algo,
        passport.step,
        passport.seed,
    )
    assert passport.settings_digest.startswith("sha256:")


def test_a_checkpoint_of_an_older_release_still_tells_where_it_comes_from(make: Make, tmp_path: Path) -> None:
    make(total_steps=100).run()
    (newest,) = (tmp_path / "checkpoints").glob("*.npz")
    with np.load(newest) as arrays:
        weights, document = arrays["weights"], json.loads(str(arrays["document"]))
    del document["passport"], document["progress"]["evaluated_at"]
    np.savez(tmp_path / "old.npz", weights=weights, document=np.array(json.dumps(document)))

    runtime = make(env_id="CartPole-v1")

    assert "CartPole-v1" == runtime.resume_from(tmp_path / "old.npz")["passport"]["env_id"]
    assert [] == told(runtime, "log")


def test_going_on_with_other_settings_is_said(make: Make, tmp_path: Path) -> None:
    make(total_steps=100).run()
    (newest,) = (tmp_path / "checkpoints").glob("*.npz")
    longer, other = make(total_steps=900), make(gamma=0.5)

    longer.resume_from(newest)
    other.resume_from(newest)

    assert [] == told(longer, "log")
    assert "was learned with other settings" in told(other, "log")[0]["text"]


def test_every_setting_is_told_before_training_with_its_origin(make: Make) -> None:
    runtime = make(gamma=0.9)

    runtime.run()

    first = told(runtime, "settings_resolved", "episode", "metric")[0]
    assert "settings_resolved" == first["event"]
    assert ("CartPole-v1", "sarsa", 1) == (first["env_id"], first["algo"], first["seed"])
    told_settings = first["settings"]
    assert {"value": 0.9, "origin": "asked"} == told_settings["gamma"]
    assert {"value": 0.3, "origin": "default"} == told_settings["learning_rate"]
    assert [] == [name for name, entry in told_settings.items() if entry["value"] is None]


def test_a_null_that_suits_the_environment_is_resolved_in_the_config(make: Make) -> None:
    assert (0.3, 0.1) == (make().config.learning_rate, make().config.epsilon_start)


def test_a_dry_run_tells_the_settings_and_trains_nothing(tmp_path: Path) -> None:
    emitter = RecordingEmitter("r1")
    environment = {"MOSAIC_RUN_DIR": str(tmp_path)}

    summary = ReferenceRuntime(ReferenceConfig("r1"), emitter, dry_run=True, environment=environment).run()

    assert ("completed", True) == (summary["status"], summary["dry_run"])
    assert 0.3 == summary["plan"]["settings"]["learning_rate"]["value"]
    assert [] == emitter.of_kind("episode")
    assert [] == list(tmp_path.iterdir())


EVALUATED = {"eval_every": 150, "env_id": "FrozenLake-v1", "total_steps": 1_000, "checkpoint_every": 400}


@pytest.mark.parametrize("policy", ["greedy", "sample"])
def test_evaluations_during_training_change_nothing_of_it(make: Make, policy: str) -> None:
    plain, evaluated = make(**{**EVALUATED, "eval_every": 0}), make(**EVALUATED, eval_policy=policy)

    plain.run()
    evaluated.run()

    steps = [line["step"] for line in told(evaluated, "metric") if line["name"] == "eval/mean_return"]
    assert 6 <= len(steps)
    assert of_training(plain) == of_training(evaluated)
    assert 2 * len(steps) == sum("evaluation" in line for line in told(evaluated, "episode"))


def test_every_evaluation_plays_the_same_episodes(make: Make) -> None:
    runtime = make(**EVALUATED)

    runtime.run()

    seeds = [line["seed"] for line in told(runtime, "episode") if "evaluation" in line]
    assert evaluation_seeds(1, 2) * (len(seeds) // 2) == seeds


def test_a_resumed_run_neither_repeats_nor_skips_an_evaluation(make: Make, tmp_path: Path) -> None:
    whole = make(**EVALUATED)
    whole.run()
    saved = told(whole, "checkpoint_saved")[0]

    resumed = make(**EVALUATED)
    resumed.resume_from(tmp_path / saved["checkpoint_path"])
    resumed.run()

    assert after_save(whole) == values(resumed)


def test_a_checkpoint_comes_after_all_it_covers_and_before_all_else(make: Make) -> None:
    runtime = make(**EVALUATED, metrics_every=50)
    runtime.run()

    reached = -1
    for line in told(runtime, "checkpoint_saved", "episode", "metric"):
        if line["event"] == "checkpoint_saved":
            reached = line["step"]
        elif "evaluation" not in line and not line.get("name", "").startswith("eval/"):
            assert line["step"] > reached


def test_a_torn_checkpoint_is_refused_with_its_name(make: Make, tmp_path: Path) -> None:
    make(total_steps=100).run()
    (whole,) = (tmp_path / "checkpoints").glob("*.npz")
    torn = tmp_path / "torn.npz"
    torn.write_bytes(whole.read_bytes()[:-200])

    with pytest.raises(BadInput, match=r"torn\.npz: is not a checkpoint"):
        load(torn)


def test_a_crash_on_demand_comes_at_its_step_and_attempt(make: Make) -> None:
    unharmed = make({VARIABLE: "crash@30#1", "MOSAIC_ATTEMPT": "2"}, total_steps=100)
    unharmed.run()

    with pytest.raises(FaultOnDemand, match="at step 30"):
        make({VARIABLE: "crash@30#1", "MOSAIC_ATTEMPT": "1"}).run()


def test_a_fault_that_cannot_be_read_is_refused(make: Make) -> None:
    with pytest.raises(BadInput, match="must be crash, exit, kill, stall or hang"):
        make({VARIABLE: "explode@1"})


def test_every_fault_of_a_config_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"env_id: must be one of .*total_steps: must be at least 1.*gamma: .*at most 1"
    ):
        ReferenceConfig("r1", env_id="Pong-v5", total_steps=0, gamma=2.0)  # type: ignore[arg-type]


def test_evaluations_without_an_episode_are_refused() -> None:
    with pytest.raises(ValueError, match="eval_episodes: an evaluation needs at least 1 episode"):
        ReferenceConfig("r1", eval_every=100, eval_episodes=0)


def test_a_config_survives_the_round_trip() -> None:
    config = ReferenceConfig("r1", env_id="Taxi-v4", learning_rate=0.1)

    assert config == ReferenceConfig.from_dict(json.loads(json.dumps(config.to_dict())))
