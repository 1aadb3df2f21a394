"""Files that upstream writes are recognised, translated, or refused with the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.run_file import RunFile, read_run_file
from mosaic.errors import BadInput
from mosaic.worker.library.config import LibrarySettings
from mosaic.worker.upstream_names import OTHER_NAMES, WITHOUT_EFFECT, reason, remarks, translate

FILES = json.loads((Path(__file__).parents[2] / "golden" / "seeds" / "files.json").read_text())
SETTINGS = {"run_id", "algo", "env_id", "total_steps", "num_envs", "cuda", "mode", "algo_params", "extras"}


def told(data: dict[str, Any]) -> dict[str, Any]:
    takes = {"ppo": ["lr", "gamma"], "dqn": ["learning_rate"]}
    return translate(data, SETTINGS, algorithms=takes, parameters=lambda algo: takes.get(algo, ()), default_algo="ppo")


def read(tmp_path: Path, data: Any, worker: str = "") -> RunFile:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(data))
    return read_run_file(path, worker)


def printed(title: str) -> dict[str, Any]:
    (found,) = (case["file"] for case in FILES if case["from"] == title)
    return dict(found)


@pytest.mark.parametrize("title", ["000 Old Direct Format", "000 New Nested Format"])
def test_the_config_of_a_worker_is_a_run_with_its_name_and_seed(title: str, tmp_path: Path) -> None:
    asked = read(tmp_path, printed(title), "reference").spec

    assert ("reference", "test_run", 42) == (asked.worker, asked.name, asked.seed)
    assert {"env_id": "CartPole-v1"} == asked.config


def test_a_config_that_names_no_worker_asks_for_one(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not say of which; add --worker NAME"):
        read(tmp_path, printed("000 Old Direct Format"))


def test_a_train_run_config_is_a_submission(tmp_path: Path) -> None:
    described = read(tmp_path, printed("004 UI table, the whole payload"))
    asked, theirs = described.spec, described.upstream

    assert ("cleanrl", "cartpole-ppo", 7) == (asked.worker, asked.name, asked.seed)
    assert (4, 4096, 0) == (asked.resources.cpus, asked.resources.memory_mb, asked.resources.gpus)
    assert ("agent_1", "w-7", "first try") == tuple(asked.config[name] for name in ("agent_id", "worker_id", "notes"))
    assert "TRACK_TENSORBOARD" in asked.environment
    assert "CLEANRL_RUN_ID" not in asked.environment
    assert theirs is not None
    assert not theirs.dry_run
    assert "environment.CLEANRL_RUN_ID: is set by the platform" in theirs.remarks


def test_the_dry_run_toggle_is_a_dry_run(tmp_path: Path) -> None:
    theirs = read(tmp_path, printed("004 UI table, Dry Run toggle")).upstream
    assert theirs is not None
    assert theirs.dry_run


def test_a_key_in_the_file_is_not_sent(tmp_path: Path) -> None:
    described = read(tmp_path, printed("004 UI table, W&B API Key"))
    assert described.upstream is not None
    assert ("WANDB_API_KEY",) == described.upstream.withheld
    assert "WANDB_API_KEY" not in described.spec.environment


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"artifacts": None}, "Invalid TrainRunConfig: artifacts: must be an object"),
        ({"resources": {"cpus": 1}}, "resources.memory_mb: is required"),
        ({"colour": 1}, "colour: is not a known field"),
        ({"metadata": {"worker": {"script": "train.sh"}}}, "scripts are not run"),
        ({"metadata": {}}, "does not say which worker"),
        ({"metadata": {"worker": {"module": "cleanrl_worker.cli", "arguments": ["--algo"]}}}, "--algo cannot be"),
    ],
)
def test_what_cannot_be_used_of_a_train_run_config_is_named(change: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=why):
        read(tmp_path, printed("004 UI table, the whole payload") | change)


def test_a_missing_part_is_told_in_upstreams_words(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="Invalid TrainRunConfig: artifacts: is required"):
        read(tmp_path, printed("004 W&B Setup 4, without artifacts"))


@pytest.mark.parametrize(
    ("module", "worker"),
    [("cleanrl_worker.cli", "cleanrl"), ("xuance_worker.cli", "xuance"), ("ray_worker.cli", "rllib"), ("mine", "mine")],
)
def test_a_module_of_upstream_is_a_worker_here(module: str, worker: str, tmp_path: Path) -> None:
    data = printed("004 UI table, the whole payload")
    data["metadata"] = {"worker": {"module": module, "config": {}}}
    assert worker == read(tmp_path, data).spec.worker


def test_the_schedule_limits_the_run(tmp_path: Path) -> None:
    data = printed("004 UI table, the whole payload") | {"schedule": {"max_duration_seconds": 60, "max_steps": 9}}
    described = read(tmp_path, data)
    assert described.spec.max_wall is not None
    assert (60, 9) == (described.spec.max_wall.total_seconds(), described.common["steps"])


@pytest.mark.parametrize(
    ("given", "own"),
    [
        ({"algorithm": "PPO", "learning_rate": 1}, {"algo": "ppo", "algo_params": {"lr": 1}}),
        ({"method": "PPO_Clip", "parallels": 2}, {"algo": "ppo", "num_envs": 2}),
        ({"algorithm": "dqn", "lr": 1}, {"algo": "dqn", "algo_params": {"learning_rate": 1}}),
        ({"learning_rate": 1, "algo_params": {"lr": 2}}, {"algo_params": {"lr": 2}}),
        ({"framework": "torch", "backend": "PyTorch"}, {}),
        ({"framework": "tf2"}, {"framework": "tf2"}),
        ({"device": "cuda:0"}, {"cuda": True}),
        ({"device": "cpu", "cuda": True}, {"cuda": True}),
        ({"env": "CartPole-v1"}, {"env_id": "CartPole-v1"}),
        ({"env": "mpe", "env_id": "x"}, {"env_id": "x", "extras": {"env": "mpe"}}),
        ({"agent_id": "a"}, {"extras": {"agent_id": "a"}}),
        ({"test_mode": True}, {"mode": "policy_eval"}),
        ({"algo_params": {"num_envs": 3, "gamma": 1}}, {"num_envs": 3, "algo_params": {"gamma": 1}}),
        ({"extras": {"use_cuda": True}}, {"extras": {"cuda": True}}),
        ({"extras": {"algo_params": {"total_frames": 3}}}, {"extras": {"algo_params": {}, "total_frames": 3}}),
        ({"training": {"algorithm": "DQN"}, "resources": {"num_gpus": 1}}, {"algo": "dqn", "extras": {"num_gpus": 1}}),
        ({"lerning_rate": 1}, {"lerning_rate": 1}),
        ({"extras": 3}, {"extras": 3}),
    ],
)
def test_names_of_upstream_become_those_of_the_worker(given: dict[str, Any], own: dict[str, Any]) -> None:
    assert own == told(given)
    assert own == told(own), "what has its own names stays as it is"


def test_a_worker_with_other_settings_keeps_its_own_names() -> None:
    given = {"algorithm": "dqn", "framework": "mine", "agent_id": 3}
    assert given == translate(given, {"run_id", "algorithm", "framework", "agent_id"})


def test_what_changes_nothing_is_named_with_the_reason() -> None:
    assert ["fastlane_slot: pictures are not streamed from this worker"] == remarks({"fastlane_slot": 1, "cuda": True})
    assert "tf2 is not installed; the libraries here learn with torch" == reason("framework", "tf2")
    assert reason("nothing", 1) is None


def test_no_setting_of_every_library_is_also_another_name() -> None:
    own = set(LibrarySettings.__dataclass_fields__)
    assert not own & {*OTHER_NAMES, *WITHOUT_EFFECT}
    assert {own for own in OTHER_NAMES.values() if own != "num_env_runners"} <= own
