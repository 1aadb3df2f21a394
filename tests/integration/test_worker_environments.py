"""A worker is installed into a venv of its own, listed, found broken, and removed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mosaic.agent.environments import find_environment, probe_environment
from mosaic.cli.scaffold.project import create_project
from mosaic.cli.workers import app

pytestmark = pytest.mark.slow


def mosaic_workers(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def listed(environment: str) -> dict[str, Any]:
    rows = json.loads(mosaic_workers("list", "--json"))
    (row,) = [row for row in rows if row["environment"] == environment]
    return dict(row)


def test_an_environment_lives_from_its_installation_to_its_removal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path / "home"))
    project = create_project("corridor", tmp_path)

    mosaic_workers("install", str(project))

    assert tuple(listed("corridor")[key] for key in ("worker", "version", "is_usable")) == ("corridor", "0.1.0", True)
    assert list(project.glob("*.egg-info")) == []

    environment = find_environment("corridor", tmp_path / "home")
    first = probe_environment(environment)
    assert first == probe_environment(environment)
    assert first.workers[0].launch == ("-m", "mosaic_corridor")

    mosaic_workers("check", "corridor", "--only", "nested config")

    (package,) = environment.path.glob("lib/python3*/site-packages/mosaic_corridor")
    shutil.rmtree(package)
    assert listed("corridor")["is_usable"] is False
    assert "mosaic_corridor" in listed("corridor")["reason"]

    mosaic_workers("remove", "corridor")
    assert "corridor" not in {row["environment"] for row in json.loads(mosaic_workers("list", "--json"))}
