"""A worker is installed into a venv of its own, listed, found broken, and removed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mosaic.cli.scaffold.project import create_project
from mosaic.cli.workers import app
from mosaic.installer.environments import find_environment, probe_environment

pytestmark = pytest.mark.slow


def mosaic_workers(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def listed(environment: str) -> dict[str, Any]:
    rows = json.loads(mosaic_workers("list", "--json"))
    (row,) = [row for row in rows if row["environment"] == environment]
    return dict(row)


def set_version(about: Path, old: str, new: str) -> None:
    """Edit as a person would: in another second, which is all that Python's cached bytecode tells sources apart by."""
    about.write_text(about.read_text().replace(f'__version__ = "{old}"', f'__version__ = "{new}"'))
    later = int(about.stat().st_mtime) + 2 * int(new.split(".")[1])
    os.utime(about, (later, later))


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


def test_an_author_checks_what_is_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path / "home"))
    project = create_project("corridor", tmp_path)
    mosaic_workers("install", str(project), "--name", "copied")
    mosaic_workers("install", str(project), "--name", "edited", "--editable")
    about = project / "mosaic_corridor" / "__init__.py"
    set_version(about, "0.1.0", "0.2.0")

    copied = json.loads(mosaic_workers("check", "copied", "--only", "metadata", "--json"))
    edited = json.loads(mosaic_workers("check", "edited", "--only", "metadata", "--json"))

    assert (
        f"what is edited in {project} counts after `mosaic workers install {project} --upgrade`" in copied["notes"][0]
    )
    assert f"checked was the source in {project / 'mosaic_corridor'}, as it is now" == edited["notes"][0]
    assert ("0.1.0", "0.2.0") == (listed("copied")["version"], listed("edited")["version"])
    set_version(about, "0.2.0", "0.3.0")
    assert "0.3.0" == listed("edited")["version"]
