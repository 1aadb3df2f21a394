"""What the desktop application writes reaches a worker by the worker's own names, from wherever it stands."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import BadInput
from mosaic.worker.config import load_strictly
from mosaic.worker.library.config import LibrarySettings
from mosaic.worker.library.extras import own_names, unfold
from mosaic.worker.schema import setting

SETTINGS = ("run_id", "env_id", "total_steps", "cuda", "wandb_project", "algo_params", "extras")


@dataclass(frozen=True)
class Settings:
    """A worker's settings that know nothing of other names."""

    run_id: str
    total_steps: int = 1
    seed: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Settings:
        return cls(**data)


def test_extras_are_settings_or_hyper_parameters() -> None:
    told = {
        "run_id": "r",
        "agent_id": "a",
        "cuda": True,
        "algo_params": {"gamma": 0.9},
        "extras": {"cuda": False, "wandb_project_name": "p", "gamma": 0.1, "lr": 0.2},
    }

    assert {
        "run_id": "r",
        "cuda": True,
        "wandb_project": "p",
        "algo_params": {"gamma": 0.9, "lr": 0.2},
    } == unfold(told, SETTINGS)


def test_what_the_platform_reads_has_one_place() -> None:
    """An environment in extras would pass by the check of which algorithm can train on it."""
    assert {"algo_params": {"env_id": "Nope"}} == unfold({"extras": {"env_id": "Nope"}}, SETTINGS)


@pytest.mark.parametrize(
    ("told", "settings", "expected"),
    [
        ({"total_timesteps": 5}, {"total_steps"}, {"total_steps": 5}),
        ({"total_timesteps": 5, "total_steps": 6}, {"total_steps"}, {"total_steps": 6}),
        ({"total_timesteps": 5}, {"total_timesteps"}, {"total_timesteps": 5}),
        ({"total_timesteps": 5}, {"steps"}, {"total_timesteps": 5}),
    ],
)
def test_another_name_is_taken_for_the_workers_own_where_it_has_one(
    told: dict[str, Any], settings: set[str], expected: dict[str, Any]
) -> None:
    assert expected == own_names(told, settings)


def test_a_config_file_may_use_other_names(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"run_id": "r", "total_timesteps": 7}))

    assert 7 == load_strictly(path, Settings).total_steps

    path.write_text(json.dumps({"run_id": "r", "total_timesteps": "many"}))
    with pytest.raises(BadInput, match="total_steps: must be an integer"):
        load_strictly(path, Settings)


@dataclass(frozen=True)
class OfLibrary(LibrarySettings):
    """Those of a worker for a library."""

    run_id: str
    total_steps: int = setting(10, "How long", minimum=1)
    algo_params: dict[str, Any] = setting({}, "Hyper-parameters")
    extras: dict[str, Any] = setting({}, "More of the above")


def test_settings_of_a_library_come_back_from_what_they_tell() -> None:
    settings = OfLibrary.from_dict({"run_id": "r", "extras": {"total_timesteps": 5, "gamma": 0.9}})

    assert OfLibrary("r", total_steps=5, algo_params={"gamma": 0.9}) == settings
    assert settings == OfLibrary.from_dict(settings.to_dict())
    assert settings.extras is not OfLibrary("s").extras
