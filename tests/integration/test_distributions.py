"""What is installed from our wheels works without the clone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DIST = ROOT / "build" / "dist"
#: Workers have an environment of their own, which `mosaic workers install` makes.
WORKERS = ("mosaic_reference",)
#: A package of ours below its project: `sdk/src/mosaic/...`, `services/registry/mosaic_registry/...`.
_PACKAGED = re.compile(r"(?:.+/src/|services/\w+/|worker-images/reference/)((?:mosaic|gym_gui)\w*/.+)")


@pytest.fixture(scope="module")
def wheels() -> list[Path]:
    """A wheel of every distribution, built from the sources as they are now."""
    shown("make", "dist", cwd=ROOT)
    return sorted(DIST.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` of an environment that has our wheels, and of other packages the locked versions."""
    venv = tmp_path_factory.mktemp("installed") / "venv"
    shown(sys.executable, "-m", "venv", str(venv))
    ours = [str(wheel) for wheel in wheels if not wheel.name.startswith(WORKERS)]
    # Files are named, so neither an index nor the checkout is asked for what is ours.
    pip = [str(venv / "bin" / "pip"), "install", "--quiet", "--constraint", str(ROOT / "requirements.lock")]
    shown(*pip, "--only-binary", ":all:", *ours)
    return venv / "bin"


def test_every_file_of_our_packages_is_in_a_wheel(wheels: list[Path]) -> None:
    """Migrations, templates, catalogs and `py.typed` are read at run time, and nothing else would miss them here."""
    listed = shown("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines()
    expected = {match[1] for name in listed if (match := _PACKAGED.fullmatch(name)) and (ROOT / name).exists()}
    inside = {name for wheel in wheels for name in zipfile.ZipFile(wheel).namelist()}

    assert {"mosaic/py.typed", "mosaic/worker/environments.json"} <= expected
    assert set() == expected - inside


def test_nothing_is_taken_from_the_checkout(installed: Path, tmp_path: Path) -> None:
    frozen = shown(str(installed / "pip"), "freeze", cwd=tmp_path).splitlines()
    ours = dict(line.split(" @ ") for line in frozen if line.startswith("mosaic-"))
    imported = shown(str(installed / "python"), "-c", "import sys; print(*sys.path, sep='\\n')", cwd=tmp_path)

    shown(str(installed / "pip"), "check", cwd=tmp_path)
    assert len(list(DIST.glob("*.whl"))) == len(ours) + len(WORKERS)
    assert all(origin.startswith(f"{DIST.as_uri()}/") and ".whl" in origin for origin in ours.values())
    assert str(ROOT) not in imported


def test_the_demo_runs_without_the_clone(installed: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()

    said = shown(str(installed / "mosaic"), "demo", "--home", str(tmp_path / "home"), cwd=empty)

    (manifest,) = (tmp_path / "home" / "manifests").rglob("*.json")
    assert "worker reference installed" in said
    assert "succeeded" == json.loads(manifest.read_text(encoding="utf-8"))["outcome"]
    assert [] == list(empty.iterdir())
    record = json.loads((tmp_path / "home" / "workers" / "reference" / "mosaic-environment.json").read_text())
    assert str(DIST) == str(Path(record["source"]).parent)


def test_a_new_worker_and_a_simulation_need_only_what_is_installed(installed: Path, tmp_path: Path) -> None:
    shown(str(installed / "mosaic"), "workers", "new", "mine", cwd=tmp_path)
    words = ("simulate", "steady", "--runs", "40", "--hours", "1", "--nodes", "2", "--html", "page.html")
    shown(str(installed / "mosaic"), *words, cwd=tmp_path)

    assert (tmp_path / "mine" / "pyproject.toml").is_file()
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")


def shown(*command: str, cwd: Path | None = None) -> str:
    """Run *command* with nothing of this process's Python in its environment, and return what it printed."""
    inherited = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV", "MOSAIC_"))
    }
    done = subprocess.run(command, cwd=cwd, env=inherited, capture_output=True, text=True, timeout=500, check=False)
    assert 0 == done.returncode, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout
