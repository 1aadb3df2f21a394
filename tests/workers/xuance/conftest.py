"""The XuanCe worker, and what its checkpoints hold."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workers.conftest import InstalledWorker, WorkerRun

_COMPARE = """
import json, sys
import torch
first, last = (torch.load(path, weights_only=True)["policy"] for path in sys.argv[1:])
print(json.dumps(sorted(name for name in first if not torch.equal(first[name], last[name]))))
"""


@pytest.fixture(scope="session")
def xuance(installed_worker: Callable[[str], InstalledWorker]) -> InstalledWorker:
    """The worker in its own environment."""
    return installed_worker("xuance")


def checkpoints_of(run: WorkerRun) -> list[Path]:
    """Return the checkpoints that a run has told of, oldest first."""
    return [run.run_dir / payload["checkpoint_path"] for payload in run.of("checkpoint_saved")]


def changed_weights(worker: InstalledWorker, run: WorkerRun) -> list[str]:
    """Return the names of the weights that differ between the first and the last checkpoint."""
    first, *_, last = checkpoints_of(run)
    changed: list[str] = worker.answer(_COMPARE, str(first / "model.pth"), str(last / "model.pth"))
    return changed


def disturbed(worker: InstalledWorker, what: str, folder: Path) -> str:
    """Return a ``PYTHONPATH`` on which *what* of this directory is run before the worker."""
    shutil.copy(Path(__file__).with_name(f"{what}.py"), folder / "sitecustomize.py")
    return f"{folder}{os.pathsep}{worker.env(folder)['PYTHONPATH']}"
