"""An agent and a worker that keeps the whole contract: what the two say to each other beyond lines and exit codes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from mosaic.agent.ports import WorkerProfile
from mosaic.ids import RunId, WorkerName
from mosaic.model.attempt import AttemptDirective, Directive
from mosaic.model.fleet import Worker
from tests.fakes.agent import Bench, eventually, running
from tests.stack.orphans import is_stopped, worker_processes

PROJECT = Path(__file__).parents[2] / "worker-images" / "reference"
REFERENCE = WorkerProfile(
    Worker(WorkerName("reference"), "1.0", launch=("-m", "mosaic_reference")), sys.executable, can_pause=True
)


#: As the operator of a machine makes a worker visible.
INSTALLED = {"PATH": "/usr/bin:/bin", "MOSAIC_WORKER_ENV_PYTHONPATH": str(PROJECT)}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    yield from running(Bench(tmp_path, worker=REFERENCE, heartbeat_s=0.1, environment=INSTALLED))


def train(bench: Bench, *, fault: str = "", **launch: object) -> None:
    bench.run(config={"total_steps": 10000000}, environment={"MOSAIC_REFERENCE_FAULT": fault}, **launch)
    bench.scheduler.wait_for("started")


def wish(bench: Bench, directive: Directive) -> None:
    bench.scheduler.directives = [AttemptDirective(RunId("run-1"), 1, directive)]
    bench.agent.on_dispatch("run-1", 1)


def beats(bench: Bench) -> list[dict[str, object]]:
    events = [json.loads(line) for line in bench.sink.stream() if b'"heartbeat"' in line]
    return [event["payload"] for event in events]


def test_a_worker_that_stalls_is_hung_although_its_heart_beats(bench: Bench) -> None:
    train(bench, fault="stall@50", hang_limit=timedelta(seconds=2.0), grace=timedelta(seconds=0.1))

    report = bench.scheduler.wait_for("failed")

    assert ("hung", "it said nothing but that it lives for 2 s") == (report.failure_kind, report.reason)
    assert len(beats(bench)) > 5


def test_a_worker_that_can_hold_still_is_asked_to_and_not_stopped_in_place(bench: Bench) -> None:
    train(bench, hang_limit=timedelta(seconds=1.0))
    wish(bench, Directive.PAUSE)
    bench.scheduler.wait_for("paused")
    [process] = worker_processes(bench.root / "runs")

    time.sleep(1.2)  # longer than the hang limit, which does not count now
    quiet = len(beats(bench))
    eventually(lambda: len(beats(bench)) > quiet)

    assert not is_stopped(process)
    assert float(str(beats(bench)[-1]["quiet_s"])) > 0.5
    wish(bench, Directive.RESUME)
    bench.scheduler.wait_for("resumed")
    eventually(lambda: beats(bench)[-1].get("quiet_s") == 0)
    wish(bench, Directive.CANCEL)
    bench.scheduler.wait_for("cancelled")


def test_a_worker_that_does_not_answer_is_stopped_in_place(tmp_path: Path) -> None:
    deaf = "import signal, time; signal.signal(signal.SIGTSTP, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    profile = WorkerProfile(Worker(WorkerName("script"), "1.0", launch=("-c", deaf)), sys.executable, can_pause=True)
    for bench in running(Bench(tmp_path, worker=profile)):
        bench.run()
        bench.scheduler.wait_for("started")

        wish(bench, Directive.PAUSE)
        bench.scheduler.wait_for("paused")

        [process] = worker_processes(bench.root / "runs")
        eventually(lambda process=process: is_stopped(process))  # type: ignore[misc]
