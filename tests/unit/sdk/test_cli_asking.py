"""How what was typed and what a file says become one config, by what the worker publishes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.asking import Typed, whole_submission
from mosaic.cli.run_file import RunFile
from mosaic.client import Login, Mosaic, Run, RunDetail, RunSpec, Worker
from mosaic.errors import BadInput
from mosaic.lifecycle import RunState

_SCHEMA = {"properties": {"env_id": {}, "algo": {}, "total_steps": {}, "total_timesteps": {}, "policy_path": {}}}
_HERE = Login("http://127.0.0.1:1", "t")


class Published(Mosaic):
    """A platform with one worker and one ended run, which answers without a connection."""

    def __init__(self) -> None:
        super().__init__(_HERE)

    def worker(self, name: str) -> Worker:
        return Worker(name, "1", "", "", "", {}, {}, _SCHEMA, "", {}, "A", None, ())

    def run(self, run_id: str) -> RunDetail:
        then = datetime(2030, 1, 1, tzinfo=timezone.utc)
        config = {"env_id": "CartPole-v1", "algo_params": {"gamma": 0.9}}
        spec = RunSpec("toy", config, seed=7, name=run_id, team="default", user="ada")
        run = Run("01OLD", spec, RunState.SUCCEEDED, then, then, attempt=1)
        return RunDetail(run, (), ())


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory in which no platform runs."""
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def whole(described: RunFile | None = None, **typed: Any) -> RunSpec:
    with Published() as platform:
        return whole_submission(platform, described or RunFile(RunSpec("toy")), Typed(**typed)).spec


@pytest.mark.usefixtures("home")
def test_what_every_library_has_is_spelt_as_the_worker_spells_it() -> None:
    asked = whole(common={"env": "CartPole-v1", "steps": 5}, values={"algo_params.gamma": 0.9})

    assert {"env_id": "CartPole-v1", "total_steps": 5, "algo_params": {"gamma": 0.9}} == asked.config


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("name", ["total_steps", "total_timesteps"])
def test_two_options_that_disagree_are_refused(name: str) -> None:
    with pytest.raises(BadInput, match=f"steps is 5, but --set has {name}=6; say it once"):
        whole(common={"steps": 5}, values={name: 6})

    assert 5 == whole(common={"steps": 5}, values={name: 5}).config["total_steps"]


@pytest.mark.usefixtures("home")
def test_what_is_typed_goes_before_what_a_file_says() -> None:
    described = RunFile(RunSpec("toy", {"total_timesteps": 4, "lr": 1}), common={"env": "Taxi-v3"})

    asked = whole(described, common={"steps": 5, "env": "CartPole-v1"}, config={"lr": 2})

    assert {"env_id": "CartPole-v1", "total_steps": 5, "lr": 2} == asked.config


@pytest.mark.usefixtures("home")
def test_a_file_that_disagrees_with_itself_is_refused() -> None:
    with pytest.raises(BadInput, match="env is 'a', but the file has env_id='b'"):
        whole(RunFile(RunSpec("toy", {"env_id": "b"}), common={"env": "a"}))


@pytest.mark.usefixtures("home")
def test_a_run_that_continues_another_has_its_worker_its_config_and_its_seed() -> None:
    described = RunFile(RunSpec(continues="base"))

    asked = whole(described, common={"steps": 9}, values={"algo_params.lr": 1})

    assert ("toy", 7, "01OLD") == (asked.worker, asked.seed, asked.continues)
    assert {"env_id": "CartPole-v1", "total_steps": 9, "algo_params": {"gamma": 0.9, "lr": 1}} == asked.config


def test_a_policy_that_is_not_on_this_machine_is_refused_where_runs_see_its_files(home: Path) -> None:
    config = {"policy_path": "best.pt"}
    assert config == whole(config=config).config, "elsewhere only the worker can know"

    _HERE.tell(home)
    with pytest.raises(BadInput, match=f"there is no {home}/best.pt on this machine"):
        whole(config=config)

    (home / "best.pt").touch()
    assert {"policy_path": f"{home}/best.pt"} == whole(config=config).config
    assert config == whole_submission(_away(), RunFile(RunSpec("toy")), Typed(config=config)).spec.config


def _away() -> Published:
    """Return a platform on another machine."""
    platform = Published()
    platform._rest.login = replace(_HERE, url="http://elsewhere:2")
    return platform
