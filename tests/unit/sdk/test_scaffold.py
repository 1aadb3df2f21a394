from __future__ import annotations

import compileall
from pathlib import Path

import pytest
import tomllib

from mosaic.cli.scaffold.project import OUR_NAMES, DirectoryTaken, create_project
from mosaic.errors import BadInput


def test_a_project_has_a_package_an_entry_point_and_a_test(tmp_path: Path) -> None:
    project = create_project("my-lib", tmp_path)

    written = sorted(str(path.relative_to(project)) for path in project.rglob("*") if path.is_file())
    assert written == [
        "README.md",
        "mosaic_my_lib/__init__.py",
        "mosaic_my_lib/__main__.py",
        "mosaic_my_lib/config.py",
        "mosaic_my_lib/corridor.py",
        "mosaic_my_lib/runtime.py",
        "pyproject.toml",
        "tests/test_conformance.py",
    ]
    assert 'my-lib = "mosaic_my_lib:get_worker_metadata"' in (project / "pyproject.toml").read_text()


def test_every_file_of_a_project_is_python_without_a_placeholder_left(tmp_path: Path) -> None:
    project = create_project("my-lib", tmp_path)

    assert compileall.compile_dir(project, quiet=2)
    assert not [path for path in project.rglob("*.*") if path.suffix != ".pyc" and "$" in path.read_text()]


@pytest.mark.parametrize("name", ["My-Lib", "my_lib", "-lib", "lib-", "my--lib", "3d", "", "a/b", "..", "é"])
def test_a_name_that_cannot_name_a_worker_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="must be lower-case letters and digits"):
        create_project(name, tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["sdk", "registry", "scheduler", "telemetry", "embedded", "cleanrl"])
def test_a_name_of_our_own_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"would make a second mosaic-{name}, and this platform has one of its own"):
        create_project(name, tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_every_distribution_of_this_repository_is_a_name_of_our_own() -> None:
    root = Path(__file__).parents[3]
    projects = [*root.glob("*/pyproject.toml"), *root.glob("*/*/pyproject.toml")]
    distributions = {tomllib.loads(path.read_text())["project"]["name"] for path in projects}

    assert OUR_NAMES == {name.removeprefix("mosaic-") for name in distributions}


def test_the_name_of_an_installed_distribution_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "mosaic_ant-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: mosaic-ant\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(BadInput, match="would make a second mosaic-ant, and one is installed here"):
        create_project("ant", tmp_path / "projects")


def test_a_refused_name_comes_with_one_that_would_do(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"e\.g\. 'my-lib'"):
        create_project("My_Lib", tmp_path)


def test_all_faults_of_a_name_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        create_project("X" * 50, tmp_path)

    assert len(refused.value.faults) == 2


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "my-lib").mkdir()
    (tmp_path / "my-lib" / "work.py").write_text("precious")

    with pytest.raises(DirectoryTaken, match="exists already"):
        create_project("my-lib", tmp_path)

    assert [path.name for path in (tmp_path / "my-lib").iterdir()] == ["work.py"]


def test_missing_parents_are_made(tmp_path: Path) -> None:
    assert (create_project("my-lib", tmp_path / "a" / "b") / "README.md").is_file()
