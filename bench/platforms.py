"""The two sizes of the platform for benchmarks, and the bare child that they are compared with."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mosaic.client import Mosaic
from mosaic.hosting.logs import configure_logs
from mosaic.lifecycle import RunState, is_terminal
from mosaic_embedded.platform import Platform
from tests.servers.choice import servers
from tests.stack.environment import WORKER, install_drill
from tests.stack.stack import Servers, Stack

#: The shortest run there is: it starts, says so, and ends.
TINY = {"episodes": 1, "steps": 1}


@contextmanager
def embedded(slots: int = 4) -> Iterator[Mosaic]:
    """Run everything in this process, with the tests' own worker installed."""
    with tempfile.TemporaryDirectory() as folder:
        install_drill(Path(folder))
        with running_platform(Path(folder), slots=slots) as fleet:
            yield fleet


@contextmanager
def running_platform(home: Path, slots: int = 4) -> Iterator[Mosaic]:
    """Run everything in this process, as ``mosaic up`` does, with its state in *home*."""
    configure_logs("bench", level="warning")
    platform = Platform(home, {**os.environ, "MOSAIC_HOME": str(home)}, slots=slots)
    login = platform.start()
    try:
        with Mosaic(login) as fleet:
            _end_leftovers(fleet)
            yield fleet
    finally:
        platform.stop()


def _end_leftovers(fleet: Mosaic) -> None:
    """Cancel what an interrupted benchmark left: the platform would go on with it beside ours."""
    for run in fleet.runs(states=[state for state in RunState if not is_terminal(state)]):
        fleet.cancel(run.run_id)
        fleet.wait(run.run_id)


@contextmanager
def stack(agents: int = 1, slots: int = 4) -> Iterator[Stack]:
    """Run services and agents as processes on real RabbitMQ, PostgreSQL and Redis."""
    with (
        tempfile.TemporaryDirectory() as folder,
        servers() as chosen,
        Stack(Servers.shared(chosen), Path(folder), agents=agents, slots=slots, lease_s=30.0) as running,
    ):
        yield running


def first_line_after_popen(python: Path, config: Path) -> float:
    """Return the seconds from starting the bare child to the time it stamped on its first line."""
    command = [str(python), "-m", "drill_worker", "--config", str(config)]
    environment = {**os.environ, "MOSAIC_RUN_DIR": str(config.parent), "MOSAIC_CHECKPOINT_DIR": str(config.parent)}
    started = time.time()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
    return float(json.loads(done.stdout.splitlines()[0])["timestamp"]) - started


def first_line_after_submit(fleet: Mosaic) -> float:
    """Return the seconds from the submit call to the time the worker stamped on its first line."""
    started = time.time()
    (run,) = fleet.submit(WORKER, TINY, seed=1)
    fleet.wait(run.run_id)
    for event in fleet.events(run.run_id, kinds=["run_started"], follow=True, limit=1):
        return float(json.loads(event.line)["timestamp"]) - started
    raise AssertionError(f"run {run.run_id} never said that it started")


def percentile(values: list[float], percent: float) -> float:
    """Return the value below which *percent* of *values* lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))]
