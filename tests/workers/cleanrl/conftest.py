"""The CleanRL worker, and what its checkpoints hold."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workers.conftest import InstalledWorker, WorkerRun

_COMPARE = """
import json, sys
from pathlib import Path
import torch
from mosaic_cleanrl.checkpoint import load
first, last = (load(Path(path)).state["modules"] for path in sys.argv[1:])
same = lambda name: all(torch.equal(first[name][key], last[name][key]) for key in first[name])
print(json.dumps({name: not same(name) for name in first}))
"""


@pytest.fixture(scope="session")
def cleanrl(installed_worker: Callable[[str], InstalledWorker]) -> InstalledWorker:
    """The worker in its own environment."""
    return installed_worker("cleanrl")


def checkpoints_of(run: WorkerRun) -> list[Path]:
    """Return the checkpoints that a run has told of, oldest first."""
    return [run.run_dir / payload["checkpoint_path"] for payload in run.of("checkpoint_saved")]


def changed_networks(worker: InstalledWorker, run: WorkerRun) -> dict[str, bool]:
    """Tell of each network whether its weights differ between the first and the last checkpoint."""
    first, *_, last = checkpoints_of(run)
    answer = subprocess.run(
        [worker.python, "-c", _COMPARE, str(first), str(last)],
        env=worker.env(run.run_dir),
        capture_output=True,
        text=True,
        check=True,
    )
    changed: dict[str, bool] = json.loads(answer.stdout)
    return changed
