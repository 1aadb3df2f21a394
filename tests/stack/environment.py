"""The environment of the tests' own worker: a venv that links to the sources instead of copying them."""

from __future__ import annotations

import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path
from site import getsitepackages

import mosaic.worker
from mosaic.installer.environments import install
from mosaic.installer.interpreters import Version
from mosaic.installer.recipes import Recipe

WORKER = "drill"

_SOURCES = Path(__file__).parent / "worker"
_REFERENCE = Path(__file__).parents[2] / "worker-images" / "reference"
_SDK = Path(mosaic.worker.__file__).parents[2]


def install_drill(home: Path) -> Path:
    """Install the worker into the state directory *home* and return its interpreter."""
    return install_sources(WORKER, _SOURCES, home)


def install_reference(home: Path) -> Path:
    """Install the reference worker, with the libraries that the tests have, and return its interpreter."""
    return install_sources(
        "reference", _REFERENCE, home, package="mosaic_reference", beside=[*map(Path, getsitepackages())]
    )


def install_sources(worker: str, sources: Path, home: Path, *, package: str = "", beside: Sequence[Path] = ()) -> Path:
    """Install the package ``<worker>_worker`` in the folder *sources* like any worker; return its interpreter.

    What is in the folders *beside* it can be imported as well.
    """
    package = package or f"{worker}_worker"

    def build(path: Path, _recipe: Recipe, _progress: Callable[[str], None]) -> Version:
        venv.create(path, with_pip=False, symlinks=True)
        packages = path / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
        (packages / f"{worker}.pth").write_text("".join(f"{place}\n" for place in (_SDK, sources, *beside)))
        described = packages / f"{package}-1.0.0.dist-info"
        described.mkdir()
        (described / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package.replace('_', '-')}\nVersion: 1.0.0\n"
        )
        entry_point = f"{worker} = {package}:get_worker_metadata"
        (described / "entry_points.txt").write_text(f"[mosaic.workers]\n{entry_point}\n")
        return tuple(sys.version_info[:3])

    return install(Recipe(worker, str(sources)), home, build=build).python
