"""What a worker that is installed on this machine would execute, by its own ``--dry-run``."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mosaic.errors import BadInput, WorkerBroken
from mosaic.ids import GpuId, RunId
from mosaic.installer.environments import installed_environments, probe_environment
from mosaic.launching import child_environment, prepare
from mosaic.model.attempt import Launch
from mosaic.model.resources import GpuShare, Lease
from mosaic.model.run import RunSpec
from mosaic.worker.discovery import installed_entry_points
from mosaic.worker.plain import to_json
from mosaic.worker.probe import ProbedWorker, ProbeReport, probe
from mosaic.worker.session import EXIT_BAD_INPUT, EXIT_OK
from mosaic.worker.trial.process import Finished, WorkerProcess
from mosaic.worker.trial.transcript import payload_of

#: How long a dry run may take; importing a library may well take ten seconds.
PATIENCE_S = 60.0
_SIGNS_OF_TRAINING = ("metric", "step", "episode", "checkpoint_saved")
#: Stands in what is shown for the directory of a run that does not exist.
RUN_DIRECTORY = "RUN_DIRECTORY"


@dataclass(frozen=True)
class WorkerPlan:
    """The answer of a dry run."""

    worker: str
    #: In the worker's own words, for people.
    says: tuple[str, ...]
    #: The same for programs, as far as the worker tells: a command line, or the settings of its library.
    summary: Mapping[str, Any]


def plan_of(asked: RunSpec, home: Path, *, patience_s: float = PATIENCE_S) -> WorkerPlan | None:
    """Ask the worker that *asked* names what it would execute; None if it is not on this machine.

    It is started as an agent would start it, for its seed, in a directory that is gone afterwards. One that
    trains instead of answering, because it passes over options that it does not know, is ended at once.

    Raises:
        BadInput: it refuses its config, as it would refuse that of the run.
        WorkerBroken: it fails, or does not end within *patience_s*.
    """
    found = _worker_here(asked.worker, home)
    if found is None:
        return None
    python, worker = found
    with tempfile.TemporaryDirectory(prefix="mosaic-plan-") as scratch:
        launch = _launch(asked, worker)
        directory, config = prepare(Path(scratch), launch)
        command = [python, *worker.launch, "--config", str(config), "--dry-run"]
        environment = child_environment(os.environ, launch, directory, heartbeat_s=0)
        with WorkerProcess(command, directory.path, environment) as process:
            process.wait_until(lambda: _trains(process), patience_s)
            done = process.finish(0.0)
    if done.refused_option("--dry-run") or any(map(done.stdout.of_kind, _SIGNS_OF_TRAINING)):
        return WorkerPlan(asked.worker, ("it has no dry run, so what it would execute is not known",), {})
    if done.was_killed:
        raise WorkerBroken(asked.worker, f"its dry run did not end within {patience_s:g} s")
    if done.exit_code != EXIT_OK:
        raise _fault_of(asked.worker, done)
    return _plan_in(asked.worker, done)


def _trains(process: WorkerProcess) -> bool:
    return any(map(process.saw, _SIGNS_OF_TRAINING))


def _worker_here(name: str, home: Path) -> tuple[str, ProbedWorker] | None:
    """Return the interpreter and the description of the worker *name*, of this environment or of an installed one."""
    for report in _reports(name, home):
        for worker in report.workers:
            if worker.worker_id == name and worker.is_usable:
                return report.python, worker
    return None


def _reports(name: str, home: Path) -> Iterable[ProbeReport]:
    if name in {point.name for point in installed_entry_points()}:
        yield probe(sys.executable)
    yield from map(probe_environment, installed_environments(home))


def _launch(asked: RunSpec, worker: ProbedWorker) -> Launch:
    needs = asked.resources
    # Which ones they will be is known when the run starts; whether there are any decides what is learned on.
    gpus = (GpuShare(GpuId("0")),) if needs.gpus or needs.gpu_fraction else ()
    cpus = needs.cpus or float(worker.capabilities.get("cpu_cores") or 1)
    return Launch(RunId("dry-run"), 1, replace(asked, environment={}), Lease(cpus, needs.memory_mb, gpus))


def _fault_of(worker: str, done: Finished) -> BadInput | WorkerBroken:
    told = [payload_of(event).get("error") for event in done.stdout.of_kind("run_failed")]
    words = _without_scratch(str(told[-1]) if told and told[-1] else done.stderr.strip() or done.last_words(), done)
    if done.exit_code == EXIT_BAD_INPUT:
        return BadInput(f"{worker} refuses such a run", [words])
    return WorkerBroken(worker, f"its dry run ended with exit code {done.exit_code}: {words.splitlines()[-1]}")


def _plan_in(worker: str, done: Finished) -> WorkerPlan:
    logged = [str(payload_of(event).get("text", "")) for event in done.stdout.of_kind("log")]
    summary = next((payload_of(event) for event in done.stdout.of_kind("run_completed")), {})
    says = logged or ["the config can be used (it says no more about what it would execute)"]
    return WorkerPlan(
        worker,
        tuple(_without_scratch(text, done) for text in says),
        json.loads(_without_scratch(to_json(summary), done)),
    )


def _without_scratch(text: str, done: Finished) -> str:
    return text.replace(str(done.run_dir.resolve()), RUN_DIRECTORY).replace(str(done.run_dir), RUN_DIRECTORY)
