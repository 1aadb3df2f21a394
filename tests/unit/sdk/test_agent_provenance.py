"""Of what an attempt is made, told from real repositories and environments."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from mosaic.agent.control.profile import profile_of
from mosaic.installer.provenance import RECORD, Commit, Revisions, commit_of, environment_of, read_revision
from mosaic.worker.installed import Origin, installed_packages, origin_of
from mosaic.worker.probe import ProbedWorker, ProbeReport

WORKER = ProbedWorker("toy", "mosaic_toy", metadata={"version": "1.2"}, capabilities={"a": 1}, launch=("-m", "x"))


def git(directory: Path, *arguments: str) -> str:
    who = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
    return subprocess.check_output(["git", "-C", str(directory), *who, *arguments], text=True).strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a committed project in a repository."""
    folder = tmp_path / "repository" / "toy"
    folder.mkdir(parents=True)
    (folder / "toy.py").write_text("x = 1\n")
    git(folder.parent, "init", "--quiet")
    git(folder.parent, "add", "-A")
    git(folder.parent, "commit", "--quiet", "-m", "Add a toy")
    return folder


@pytest.fixture
def report(tmp_path: Path) -> ProbeReport:
    """Return what was asked of an environment."""
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    return ProbeReport(str(python), (WORKER,), packages={"numpy": "2.4.6"})


def test_a_source_is_told_by_its_commit(project: Path) -> None:
    assert Commit(git(project, "rev-parse", "HEAD"), dirty=False) == commit_of(project)


@pytest.mark.parametrize("name", ["toy.py", "new.py"])
def test_what_is_not_in_the_commit_makes_a_source_dirty(project: Path, name: str) -> None:
    (project / name).write_text("x = 2\n")

    assert commit_of(project).dirty is True


def test_what_changes_elsewhere_in_the_repository_does_not(project: Path) -> None:
    (project.parent / "notes.txt").write_text("later")

    assert commit_of(project).dirty is False


def test_variables_of_another_repository_do_not_mislead(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")

    assert commit_of(project).commit


def test_without_git_nothing_is_claimed(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Commit() == commit_of(tmp_path)

    monkeypatch.setenv("PATH", str(tmp_path))

    assert Commit() == commit_of(project)


@pytest.mark.parametrize(
    ("text", "commit"),
    [("", Commit()), ("unknown", Commit()), ("4be0", Commit("4be0", False)), ("4be0-dirty", Commit("4be0", True))],
)
def test_an_image_knows_the_revision_of_its_build(text: str, commit: Commit) -> None:
    assert commit == read_revision(text)


def test_an_environment_is_told_with_packages_lock_and_both_commits(report: ProbeReport) -> None:
    (Path(report.python).parents[1] / RECORD).write_text(json.dumps({"lock_digest": "sha256:1"}))

    told = environment_of(WORKER, report, Revisions(worker="4be0-dirty", platform="unknown"))

    assert {"numpy": "2.4.6"} == told["packages"]
    assert "sha256:1" == told["lock_digest"]
    assert {"version": "1.2", "commit": "4be0", "dirty": True} == told["worker"]
    # The SDK of this checkout is installed as it lies here.
    assert version("mosaic-sdk") == told["platform"]["version"]
    assert commit_of(Path(__file__).parent).commit == told["platform"]["commit"]


def test_an_installed_copy_is_told_by_where_its_source_stood_then(report: ProbeReport) -> None:
    (Path(report.python).parents[1] / RECORD).write_text(json.dumps({"commit": "1234", "dirty": False}))

    assert {"version": "1.2", "commit": "1234", "dirty": False} == environment_of(WORKER, report, Revisions())["worker"]


def test_a_source_that_is_imported_in_place_is_told_as_it_stands_now(report: ProbeReport, project: Path) -> None:
    (Path(report.python).parents[1] / RECORD).write_text(json.dumps({"commit": "1234", "dirty": False}))
    (project / "toy.py").write_text("x = 2\n")

    told = profile_of(replace(WORKER, source=str(project)), report).environment

    assert {"version": "1.2", "commit": commit_of(project).commit, "dirty": True} == told["worker"]


def test_a_worker_from_a_repository_is_told_by_the_commit_that_was_fetched(report: ProbeReport) -> None:
    told = environment_of(replace(WORKER, commit="99ff"), report, Revisions())

    assert {"version": "1.2", "commit": "99ff", "dirty": False} == told["worker"]


def test_where_nobody_wrote_anything_down_nothing_is_claimed(report: ProbeReport) -> None:
    told = environment_of(WORKER, report, Revisions())

    assert {"version": "1.2", "commit": None, "dirty": None} == told["worker"]
    assert told["lock_digest"] is None


def test_packages_are_listed_by_their_normalised_names(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    names = ("Mosaic_SDK-0.1.0.dist-info", "ruamel.yaml-0.18.6.dist-info", "gym-0.23.1-py3.11.egg-info", "toy", "x.pth")
    for folder in (*(first / name for name in names), second / "gym-0.26.2.dist-info"):
        folder.mkdir(parents=True)

    found = installed_packages([str(first), str(second), str(tmp_path / "nowhere")])

    assert {"gym": "0.23.1", "mosaic-sdk": "0.1.0", "ruamel-yaml": "0.18.6"} == found


def test_what_pip_lists_is_what_is_listed_here() -> None:
    installed = installed_packages()

    assert {name: version(name) for name in installed} == installed
    assert {"mosaic-sdk", "pytest", "pydantic-core"} <= set(installed)


def test_a_distribution_tells_where_it_came_from() -> None:
    assert origin_of("mosaic-sdk").is_editable
    assert Path(origin_of("mosaic-sdk").directory) == Path(__file__).parents[3] / "sdk"
    assert Origin() == origin_of("pytest") == origin_of("no-such-distribution")
