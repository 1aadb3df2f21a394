from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import mosaic.errors
from mosaic.errors import BadInput, WorkerBroken
from mosaic.home import home_directory
from mosaic.installer.environments import (
    AlreadyInstalled,
    EnvironmentNotFound,
    find_environment,
    install,
    installed_environments,
    remove,
)
from mosaic.installer.interpreters import Interpreter, PythonMissing, Version, choose_interpreter, fits
from mosaic.installer.provenance import Commit, commit_of
from mosaic.installer.recipes import Recipe, find_recipe, known_images
from mosaic.installer.venvs import for_cpus

CORRIDOR = Recipe("corridor", "mosaic-corridor")


def a_builder(content: str = "x" * 2_000_000) -> Callable[[Path, Recipe, Callable[[str], None]], Version]:
    """Return a stand-in for the making of a venv: a directory with one file of *content*."""

    def build(path: Path, _recipe: Recipe, progress: Callable[[str], None]) -> Version:
        path.mkdir()
        (path / "library.py").write_text(content)
        progress("made")
        return (3, 11, 4)

    return build


def broken_builder(path: Path, recipe: Recipe, _progress: Callable[[str], None]) -> Version:
    path.mkdir()
    (path / "half").touch()
    raise WorkerBroken(recipe.name, "no such package")


def an_interpreter(text: str) -> Interpreter:
    return Interpreter(Path(f"/python/{text}"), tuple(int(part) for part in text.split(".")))


def test_an_installed_environment_is_found_with_what_it_was_made_from(tmp_path: Path) -> None:
    made = install(CORRIDOR, tmp_path, build=a_builder())

    assert [made] == installed_environments(tmp_path)
    assert (made.source, made.python_version, made.size_mb) == ("mosaic-corridor", "3.11.4", 2.0)
    assert tmp_path / "workers" / "corridor" / "bin" / "python" == made.python


def test_an_environment_keeps_the_digest_of_its_lock_and_the_commit_of_its_source(tmp_path: Path) -> None:
    project, lock = Path(__file__).parent, tmp_path / "requirements.lock"
    lock.write_text("numpy==2.4.6\n")
    recipe = Recipe("corridor", str(project), lock=lock)

    made = install(recipe, tmp_path, build=a_builder())

    assert f"sha256:{hashlib.sha256(b'numpy==2.4.6' + bytes([10])).hexdigest()}" == made.lock_digest
    assert commit_of(project) == Commit(made.commit, made.dirty)
    assert [made] == installed_environments(tmp_path)


def test_an_environment_from_an_index_has_neither(tmp_path: Path) -> None:
    made = install(CORRIDOR, tmp_path, build=a_builder())

    assert (None, None, None) == (made.lock_digest, made.commit, made.dirty)


def test_only_a_directory_can_be_edited(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="only a project directory can be edited"):
        find_recipe("mosaic-corridor", start=tmp_path, editable=True)


def test_the_work_of_installing_can_be_followed(tmp_path: Path) -> None:
    heard: list[str] = []

    install(CORRIDOR, tmp_path, build=a_builder(), progress=heard.append)

    assert heard == ["made"]


def test_an_installation_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(WorkerBroken, match="no such package"):
        install(CORRIDOR, tmp_path, build=broken_builder)

    assert installed_environments(tmp_path) == []
    assert list(tmp_path.rglob("half")) == []


def test_a_half_made_venv_is_not_an_environment(tmp_path: Path) -> None:
    (tmp_path / "workers" / "corridor" / "bin").mkdir(parents=True)

    with pytest.raises(EnvironmentNotFound):
        find_environment("corridor", tmp_path)


def test_installing_twice_must_be_meant(tmp_path: Path) -> None:
    install(CORRIDOR, tmp_path, build=a_builder())

    with pytest.raises(AlreadyInstalled, match="--upgrade"):
        install(CORRIDOR, tmp_path, build=a_builder())


def test_an_upgrade_replaces_what_the_name_points_to(tmp_path: Path) -> None:
    install(CORRIDOR, tmp_path, build=a_builder("old"))

    upgraded = install(CORRIDOR, tmp_path, build=a_builder("new"), upgrade=True)

    assert (upgraded.path / "library.py").read_text() == "new"


def test_an_upgrade_that_fails_leaves_the_old_environment(tmp_path: Path) -> None:
    install(CORRIDOR, tmp_path, build=a_builder("old"))

    with pytest.raises(WorkerBroken):
        install(CORRIDOR, tmp_path, build=broken_builder, upgrade=True)

    assert (find_environment("corridor", tmp_path).path / "library.py").read_text() == "old"


def test_the_venv_before_the_last_upgrade_is_kept_for_runs_that_use_it_and_no_older_one(
    tmp_path: Path,
) -> None:
    for content in ("first", "second", "third"):
        install(CORRIDOR, tmp_path, build=a_builder(content), upgrade=True)

    kept = {path.read_text() for path in tmp_path.rglob(".venvs/*/library.py")}
    assert {"second", "third"} == kept


def test_a_removed_environment_is_gone_from_disk(tmp_path: Path) -> None:
    install(CORRIDOR, tmp_path, build=a_builder())

    remove("corridor", tmp_path)

    assert installed_environments(tmp_path) == []
    assert list(tmp_path.rglob("library.py")) == []


def test_an_unknown_environment_gets_its_nearest_neighbour(tmp_path: Path) -> None:
    install(CORRIDOR, tmp_path, build=a_builder())

    with pytest.raises(EnvironmentNotFound, match="did you mean 'corridor'"):
        remove("coridor", tmp_path)


def test_the_state_lies_where_the_environment_says_or_at_home() -> None:
    assert Path("/elsewhere") == home_directory({"MOSAIC_HOME": "/elsewhere", "HOME": "/home/a"})
    assert Path("/home/a/.mosaic") == home_directory({"HOME": "/home/a"})


@pytest.mark.parametrize(
    ("version", "wanted", "expected"),
    [
        ((3, 10, 13), "3.10", True),
        ((3, 11, 1), "3.10", False),
        ((3, 1, 0), "3.10", False),
        ((3, 10, 13), ">=3.8,<3.11", True),
        ((3, 11, 0), ">=3.8,<3.11", False),
        ((3, 12, 1), "==3.12.*", True),
        ((3, 12, 1), "!=3.12.*", False),
        ((3, 12, 1), "~=3.10", True),
        ((3, 12, 1), "~=3.10.2", False),
        ((3, 13, 0), "", True),
        ((3, 11, 7), ">3.11.6, <=3.11.7", True),
    ],
)
def test_a_version_fits_the_bounds_a_project_states(version: Version, wanted: str, expected: bool) -> None:
    assert expected is fits(version, wanted)


def test_the_first_python_that_fits_is_chosen() -> None:
    installed = [an_interpreter("3.11.7"), an_interpreter("3.13.0"), an_interpreter("3.10.13")]

    assert installed[0] == choose_interpreter(">=3.10", installed)
    assert installed[2] == choose_interpreter(">=3.8,<3.11", installed)


def test_a_missing_python_is_named_with_those_that_are_there() -> None:
    with pytest.raises(PythonMissing, match=r"needs Python <3\.11.*found: 3\.11\.7.*uv python install 3\.10"):
        choose_interpreter("<3.11", [an_interpreter("3.11.7")])


def test_an_image_of_the_checkout_is_found_from_below(tmp_path: Path) -> None:
    image = tmp_path / "worker-images" / "cleanrl"
    image.mkdir(parents=True)
    (image / "pyproject.toml").write_text('[project]\nrequires-python = ">=3.8,<3.11"\n')
    (image / "requirements.lock").write_text("numpy==1.26.4\n")
    (tmp_path / "docs").mkdir()

    recipe = find_recipe("cleanrl", start=tmp_path / "docs")

    assert ("cleanrl", str(image), ">=3.8,<3.11") == (recipe.name, recipe.source, recipe.python)
    assert image / "requirements.lock" == recipe.lock
    assert "cleanrl" in known_images(tmp_path)


def test_a_pinned_python_goes_before_the_bounds(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nrequires-python = ">=3.8"\n')
    (tmp_path / ".python-version").write_text("3.10\n")

    assert find_recipe(f"{tmp_path}/", start=Path()).python == "3.10"


def test_a_distribution_is_named_as_one_or_asked_for(tmp_path: Path) -> None:
    recipe = find_recipe("mosaic-corridor", start=tmp_path)

    assert (recipe.name, recipe.source, recipe.lock) == ("mosaic-corridor", "mosaic-corridor", None)
    assert "corridor" == find_recipe("corridor", start=tmp_path, from_index=True).source
    assert "cleanrl" == find_recipe("cleanrl", start=tmp_path, from_index=True).source


def test_a_name_that_was_mistyped_is_not_looked_for_in_the_package_index(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()

    with pytest.raises(BadInput, match=r"\(.*cleanrl.*\), did you mean 'cleanrl'\?.*--from-index"):
        find_recipe("clenrl", start=tmp_path)
    with pytest.raises(BadInput, match=r"write \./mine"):
        find_recipe("mine", start=tmp_path)


def test_without_a_checkout_a_worker_of_ours_is_its_distribution(tmp_path: Path) -> None:
    sdk = installed_from(tmp_path / "nowhere" / "mosaic_sdk-0.1.0-py3-none-any.whl", tmp_path / "site")

    assert "mosaic-reference" == asked_for("reference", sdk)


def test_a_worker_of_ours_is_taken_from_the_wheels_that_the_sdk_came_from(tmp_path: Path) -> None:
    """The file itself, so that a package of the same name in an index is never taken for ours."""
    dist = tmp_path / "dist"
    dist.mkdir()
    for name in ("mosaic_sdk-0.1.0", "mosaic_reference-1.0.0"):
        (dist / f"{name}-py3-none-any.whl").touch()
    sdk = installed_from(dist / "mosaic_sdk-0.1.0-py3-none-any.whl", tmp_path / "site")

    assert str(dist / "mosaic_reference-1.0.0-py3-none-any.whl") == asked_for("reference", sdk)
    assert str(dist / "mosaic_sdk-0.1.0-py3-none-any.whl") == asked_for("mosaic-sdk", sdk)


def installed_from(wheel: Path, site: Path) -> Path:
    """Write down in *site* what pip does when it installs the SDK from *wheel*."""
    record = site / "mosaic_sdk-0.1.0.dist-info"
    record.mkdir(parents=True)
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: mosaic-sdk\nVersion: 0.1.0\n")
    (record / "direct_url.json").write_text(json.dumps({"url": wheel.as_uri(), "archive_info": {}}))
    return site


def asked_for(name: str, site: Path) -> str:
    """Return what pip would be asked for outside a checkout, where the SDK is installed as *site* says."""
    program = (
        "import pathlib, sys; from mosaic.installer.recipes import find_recipe;"
        "print(find_recipe(sys.argv[1], start=pathlib.Path('/')).source)"
    )
    environment = {"PYTHONPATH": os.pathsep.join([str(site), str(Path(mosaic.errors.__file__).parents[1])])}
    done = subprocess.run(
        [sys.executable, "-c", program, name], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def test_a_directory_without_a_project_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"has no pyproject\.toml"):
        find_recipe(str(tmp_path), start=tmp_path)


def test_a_machine_without_a_gpu_gets_the_small_torch() -> None:
    lock = "numpy==1.26.4\ntorch==2.13.0 \\\n    --hash=sha256:aa\ntorchmetrics==1.0\n"

    assert "numpy==1.26.4\ntorch==2.13.0+cpu \\\n    --hash=sha256:aa\ntorchmetrics==1.0\n" == for_cpus(lock)
