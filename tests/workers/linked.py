"""A machine on which library workers are installed in an instant: their libraries are linked, not copied."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from mosaic.installer.environments import install
from mosaic.installer.interpreters import Version
from mosaic.installer.recipes import Recipe
from tests.stack.embedded import Machine
from tests.workers.conftest import ROOT, InstalledWorker


def machine_with(workers: Sequence[InstalledWorker], folder: Path, *, visible: Path) -> Machine:
    """Return a machine that has *workers*, with the sources of this checkout and the libraries of their locks.

    Its workers find the modules in *visible* before their own.
    """
    machine = Machine(folder, variables={"MOSAIC_WORKER_ENV_PYTHONPATH": str(visible)})
    for worker in workers:
        install(Recipe(worker.name, str(ROOT / "worker-images" / worker.name)), machine.home, build=_linked(worker))
    return machine


def _linked(worker: InstalledWorker) -> Callable[[Path, Recipe, Callable[[str], None]], Version]:
    def build(path: Path, recipe: Recipe, _progress: Callable[[str], None]) -> Version:
        subprocess.run([worker.python, "-m", "venv", "--without-pip", str(path)], check=True)
        (packages,) = path.glob("lib/python3*/site-packages")
        (libraries,) = worker.environment.path.glob("lib/python3*/site-packages")
        places = (ROOT / "sdk" / "src", ROOT / "compat" / "src", recipe.source, libraries)
        (packages / "linked.pth").write_text("".join(f"{place}\n" for place in places))
        major, minor, micro = worker.environment.python_version.split(".")
        return int(major), int(minor), int(micro)

    return build
