"""The environment of the tests' own worker: a venv that links to the sources instead of copying them."""

from __future__ import annotations

import sys
import venv
from collections.abc import Callable
from pathlib import Path

import mosaic.worker
from mosaic.agent.environments import install
from mosaic.agent.interpreters import Version
from mosaic.agent.recipes import Recipe

WORKER = "drill"

_SOURCES = Path(__file__).parent / "worker"
_SDK = Path(mosaic.worker.__file__).parents[2]


def install_drill(home: Path) -> Path:
    """Install the worker into the state directory *home* and return its interpreter."""
    return install_sources(WORKER, _SOURCES, home)


def install_sources(worker: str, sources: Path, home: Path) -> Path:
    """Install the package ``<worker>_worker`` in the folder *sources* like any worker; return its interpreter."""

    def build(path: Path, _recipe: Recipe, _progress: Callable[[str], None]) -> Version:
        venv.create(path, with_pip=False, symlinks=True)
        packages = path / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
        (packages / f"{worker}.pth").write_text(f"{_SDK}\n{sources}\n")
        described = packages / f"{worker}_worker-1.0.0.dist-info"
        described.mkdir()
        (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {worker}-worker\nVersion: 1.0.0\n")
        entry_point = f"{worker} = {worker}_worker:get_worker_metadata"
        (described / "entry_points.txt").write_text(f"[mosaic.workers]\n{entry_point}\n")
        return tuple(sys.version_info[:3])

    return install(Recipe(worker, str(sources)), home, build=build).python
