from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mosaic_reference.checkpoint import load
from mosaic_reference.config import ReferenceConfig
from mosaic_reference.faults import VARIABLE, FaultOnDemand
from mosaic_reference.runtime import ReferenceRuntime

from mosaic.errors import BadInput
from mosaic.testing.recording import RecordingEmitter
from mosaic.worker import WorkerAnalyticsManifest

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


def test_a_run_tells_episodes_metrics_checkpoints_and_artifacts(make: Make) -> None:
    runtime = make()

    summary = runtime.run()

    assert "completed" == summary["status"]
    assert summary["episodes"] == sum(line.get("agent_id") is None for line in told(runtime, "episode"))
    assert {"train/mean_return", "train/epsilon", "train/weight_norm", "eval/mean_return"} == {
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

    left = [line for line in values(whole) if line["step"] > first["step"] or line.get("agent_id") == "evaluation"]
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

    assert [7, 8, 9] == [row["seed"] for row in summary["episodes"]] == [row["seed"] for row in values(judge)]
    assert {"evaluation"} == {row["agent_id"] for row in values(judge)}
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


def test_a_checkpoint_of_another_environment_is_refused(make: Make, tmp_path: Path) -> None:
    make(env_id="FrozenLake-v1", total_steps=100).run()
    (newest,) = (tmp_path / "checkpoints").glob("*.npz")

    with pytest.raises(BadInput, match="is of environment 'FrozenLake-v1', this run is of 'CartPole-v1'"):
        make().resume_from(newest)


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


def test_a_config_survives_the_round_trip() -> None:
    config = ReferenceConfig("r1", env_id="Taxi-v4", learning_rate=0.1)

    assert config == ReferenceConfig.from_dict(json.loads(json.dumps(config.to_dict())))
