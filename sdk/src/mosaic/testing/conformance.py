"""Check a worker from the outside: every promise of the contract, on real runs."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mosaic.errors import MosaicError
from mosaic.ids import new_run_id
from mosaic.testing.checks import configuration, identity, repeating, running, stopping
from mosaic.testing.evidence import Evidence, Patience
from mosaic.testing.report import Check, Report, Verdict, failed
from mosaic.testing.subject import Subject, inspected

#: Every check, in the order a reader wants to hear of them.
CHECKS: Mapping[str, Callable[[Evidence], Verdict]] = {
    "discovery": identity.discovery,
    "metadata": identity.metadata,
    "capabilities": identity.capabilities,
    "config round trip": configuration.round_trip,
    "nested config": configuration.nested_config,
    "direct config": configuration.direct_config,
    **{f"bad input: {kind}": configuration.refusal_of(kind) for kind in configuration.BAD_INPUTS},
    "dry run": configuration.dry_run,
    "lifecycle order": running.lifecycle_order,
    "stdout hygiene": running.stdout_hygiene,
    "manifest": running.manifest,
    "heartbeat cadence": running.heartbeat_cadence,
    "failure path": running.failure_path,
    "stop on SIGTERM": stopping.sigterm,
    "same seed, same values": repeating.same_seed,
    "another seed, other values": repeating.another_seed,
    "resume": repeating.resume,
}


def check_worker(
    name: str,
    *,
    python: str = sys.executable,
    config: Mapping[str, Any] | None = None,
    timeout_s: float = 120.0,
    env: Mapping[str, str] | None = None,
    on_check: Callable[[Check], None] | None = None,
) -> Report:
    """Check the worker *name* (entry point, package or distribution) in the environment of *python*.

    It is started as the fleet would start it, about fifteen times, with a short config: *config*, else
    the package's ``get_check_config()``, else one derived from its schema. *timeout_s* bounds each run.
    *on_check* hears of every check as it ends. Nothing is left on disk, and no process survives.

    Raises:
        WorkerNotFound: that environment has no such worker.
        WorkerBroken: that environment cannot be asked.

    """
    subject = inspected(
        name, python=python, env=env, config=config, run_id=f"check-{new_run_id()}", timeout_s=timeout_s
    )
    with tempfile.TemporaryDirectory(prefix="mosaic-check-") as scratch:
        evidence = Evidence(subject, Path(scratch).resolve(), Patience(run_s=timeout_s))
        checks = tuple(_checked(evidence, on_check or (lambda _check: None)))
    return Report(subject.name, python, ("python", "-m", *subject.launch), tuple(_notes(subject)), checks)


def _checked(evidence: Evidence, on_check: Callable[[Check], None]) -> Iterator[Check]:
    for name, judge in CHECKS.items():
        started = time.monotonic()
        try:
            verdict = judge(evidence)
        except MosaicError as error:
            verdict = failed(str(error))
        check = Check(name, verdict.outcome, verdict.sentence, round(time.monotonic() - started, 3))
        on_check(check)
        yield check


def _notes(subject: Subject) -> Iterator[str]:
    if subject.is_driven:
        yield (
            f"{subject.package} has no __main__ module, so it was run by a generated driver from its "
            "*Config and *Runtime classes; add a __main__ that calls mosaic.worker.run_worker"
        )
    if subject.config_source:
        yield f"the config of the short run comes from {subject.config_source}"
