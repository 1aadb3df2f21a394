"""The RLlib worker, what its checkpoints hold and which processes it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.workers.conftest import InstalledWorker, WorkerRun

#: Beside this file lie environments of our own.
HERE = Path(__file__).parent
_COMPARE = """
import json, pickle, sys
from pathlib import Path
import numpy as np
def weights(folder):
    found = Path(folder).glob("algorithm/learner_group/learner/rl_module/*/module_state.pkl")
    return {path.parent.name: pickle.loads(path.read_bytes()) for path in found}
first, last = (weights(folder) for folder in sys.argv[1:])
same = lambda name: all(np.array_equal(first[name][key], last[name][key]) for key in first[name])
print(json.dumps({name: not same(name) for name in first}))
"""


@pytest.fixture(scope="session")
def rllib(installed_worker: Callable[[str], InstalledWorker]) -> InstalledWorker:
    """The worker in its own environment."""
    return installed_worker("rllib")


def with_own_environments(worker: InstalledWorker) -> str:
    """Return the PYTHONPATH with which *worker* also finds the environments beside this file."""
    return f"{worker.env(HERE)['PYTHONPATH']}{os.pathsep}{HERE}"


def checkpoints_of(run: WorkerRun) -> list[Path]:
    """Return the checkpoints that a run has told of, oldest first."""
    return [run.run_dir / payload["checkpoint_path"] for payload in run.of("checkpoint_saved")]


def lines_until(process: subprocess.Popen[str], sign: str) -> list[str]:
    """Return what a run says up to the first line with *sign*."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if sign in line:
            return lines
    pytest.fail(f"it ended before it said {sign}")


def changed_networks(worker: InstalledWorker, run: WorkerRun) -> dict[str, bool]:
    """Tell of each policy whether its weights differ between the first and the last checkpoint."""
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


def pids_in_session(leader: int) -> list[int]:
    """Return the living processes of a session."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found += [int(entry.name)] if os.getsid(int(entry.name)) == leader else []
    return found


def processes_of(run_dir: Path, *, within_s: float = 10.0) -> list[str]:
    """Return the processes of a run that are still alive after a while, by what they were started with."""
    deadline = time.monotonic() + within_s
    while (alive := _marked(f"MOSAIC_RUN_DIR={run_dir}")) and time.monotonic() < deadline:
        time.sleep(0.2)
    return alive


def _marked(mark: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:120])
        except OSError:
            continue
    return found
