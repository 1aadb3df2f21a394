from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import BadInput
from mosaic.worker import (
    ArtifactsMetadata,
    CheckpointMetadata,
    TensorBoardMetadata,
    WandBMetadata,
    WorkerAnalyticsManifest,
)


def a_manifest(**artifacts: Any) -> WorkerAnalyticsManifest:
    return WorkerAnalyticsManifest("r", "w", ArtifactsMetadata(**artifacts))


def test_the_file_is_upstreams_to_the_byte(tmp_path: Path) -> None:
    manifest = a_manifest(
        tensorboard=TensorBoardMetadata("tensorboard", True),
        wandb=WandBMetadata("", None, "", "", "", True),
        checkpoints=CheckpointMetadata("checkpoints", "pytorch"),
        logs_dir="logs",
        videos_dir="videos",
    )
    expected = {
        "run_id": "r",
        "worker_type": "w",
        "artifacts": {
            "tensorboard": {"log_dir": "tensorboard", "enabled": True, "port": None, "url": None},
            "wandb": {"project": "", "entity": None, "run_id": "", "run_name": "", "url": "", "enabled": True},
            "checkpoints": {
                "directory": "checkpoints",
                "format": "pytorch",
                "files": [],
                "best_checkpoint": None,
                "final_checkpoint": None,
            },
            "logs_dir": "logs",
            "videos_dir": "videos",
        },
        "metadata": {},
    }

    manifest.save(tmp_path / "run" / "analytics.json")

    assert json.dumps(expected, indent=2) == (tmp_path / "run" / "analytics.json").read_text(encoding="utf-8")
    assert manifest == WorkerAnalyticsManifest.load(tmp_path / "run" / "analytics.json")


def test_empty_members_are_left_out() -> None:
    assert a_manifest(logs_dir="", checkpoints=None).to_dict()["artifacts"] == {}


def test_a_directory_as_text_is_taken_for_tensorboard() -> None:
    manifest = a_manifest(tensorboard="tb")

    assert TensorBoardMetadata("tb", enabled=True) == manifest.artifacts.tensorboard
    assert manifest.to_dict()["artifacts"]["tensorboard"]["log_dir"] == "tb"


def test_a_checkpoint_without_a_directory_is_written_as_given() -> None:
    metadata = CheckpointMetadata(directory=None, format="none")  # type: ignore[arg-type]

    assert a_manifest(checkpoints=metadata).to_dict()["artifacts"]["checkpoints"]["directory"] is None


def test_metadata_may_hold_anything(tmp_path: Path) -> None:
    manifest = WorkerAnalyticsManifest("r", "w", ArtifactsMetadata(), {"best": float("nan"), "at": Path("x"), "é": 1})

    manifest.save(tmp_path / "analytics.json")

    assert WorkerAnalyticsManifest.load(tmp_path / "analytics.json").metadata == {"best": "NaN", "at": "x", "é": 1}


def test_saving_leaves_the_old_file_when_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "analytics.json"
    path.write_text("old")

    def full_disk(descriptor: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        a_manifest().save(path)

    assert path.read_text() == "old"
    assert [path] == list(tmp_path.iterdir())


def test_unknown_keys_survive_reading_and_writing() -> None:
    document = {
        "run_id": "r",
        "worker_type": "w",
        "artifacts": {
            "tensorboard": {"enabled": True, "relative_path": "tb", "log_dir": "/abs/tb", "colour": 1},
            "notes": "x",
        },
        "metadata": {},
        "optuna_db_path": None,
    }

    manifest = WorkerAnalyticsManifest.from_dict(document)
    written = manifest.to_dict()

    assert manifest.artifacts.tensorboard.log_dir == "tb"  # type: ignore[union-attr]
    assert written["artifacts"]["notes"] == "x"
    assert written["artifacts"]["tensorboard"]["colour"] == 1
    assert "optuna_db_path" in written


@pytest.mark.parametrize(
    "artifacts",
    [None, {}, [], {"tensorboard": None, "wandb": None, "checkpoints": None}, {"tensorboard": "tb"}],
)
def test_null_and_odd_members_can_be_read(artifacts: Any) -> None:
    document = {"run_id": "r", "worker_type": "w", "artifacts": artifacts, "metadata": None}

    assert WorkerAnalyticsManifest.from_dict(document).metadata == {}


def test_a_wandb_run_path_becomes_its_url() -> None:
    document = {"run_id": "r", "worker_type": "w", "artifacts": {"wandb": {"enabled": True, "run_path": "e/p/1"}}}

    wandb = WorkerAnalyticsManifest.from_dict(document).artifacts.wandb

    assert wandb.url == "https://wandb.ai/e/p/runs/1"  # type: ignore[union-attr]


def test_a_path_in_the_place_of_an_address_becomes_one() -> None:
    document = {"run_id": "r", "worker_type": "w", "artifacts": {"wandb": {"url": "e/p/1"}}}

    wandb = WorkerAnalyticsManifest.from_dict(document).artifacts.wandb

    assert wandb.url == "https://wandb.ai/e/p/runs/1"  # type: ignore[union-attr]


def test_all_missing_fields_are_named_at_once_as_a_key_error() -> None:
    with pytest.raises(KeyError) as caught:
        WorkerAnalyticsManifest.from_dict({})

    assert isinstance(caught.value, BadInput)
    assert caught.value.faults == ("run_id is missing", "worker_type is missing")
    assert str(caught.value) == "manifest: 2 faults\n  - run_id is missing\n  - worker_type is missing"


@pytest.mark.parametrize("text", ["{", "[]", "3", "\x00"])
def test_a_file_that_is_no_manifest_is_a_value_error_that_names_it(text: str, tmp_path: Path) -> None:
    path = tmp_path / "analytics.json"
    path.write_text(text)

    with pytest.raises(ValueError, match=r"analytics\.json"):
        WorkerAnalyticsManifest.load(path)
