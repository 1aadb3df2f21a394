"""Check a worker from the outside: every promise of the contract, on real runs."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from mosaic.errors import BadInput, MosaicError, did_you_mean
from mosaic.ids import new_run_id
from mosaic.installer.provenance import read_record
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
    grace_s: float = 10.0,
    env: Mapping[str, str] | None = None,
    only: Collection[str] | None = None,
    on_check: Callable[[Check], None] | None = None,
) -> Report:
    """Check the worker *name* (entry point, package or distribution) in the environment of *python*.

    It is started as the fleet would start it, about fifteen times, with a short config: *config*, else
    the package's ``get_check_config()``, else one derived from its schema. *timeout_s* bounds each run,
    *grace_s* the time it may take to end after SIGTERM. *only* limits the work to the checks it names.
    *on_check* hears of every check as it ends. Nothing is left on disk, and no process survives.

    Raises:
        BadInput: *only* names a check that does not exist.
        WorkerNotFound: that environment has no such worker.
        WorkerBroken: that environment cannot be asked.

    """
    names = _chosen(only)
    subject = inspected(
        name, python=python, env=env, config=config, run_id=f"check-{new_run_id()}", timeout_s=timeout_s
    )
    with tempfile.TemporaryDirectory(prefix="mosaic-check-") as scratch:
        evidence = Evidence(subject, Path(scratch).resolve(), Patience(run_s=timeout_s, grace_s=grace_s))
        checks = tuple(_checked(evidence, names, on_check or (lambda _check: None)))
    return Report(subject.name, python, ("python", "-m", *subject.launch), tuple(_notes(subject)), checks)


def _chosen(only: Collection[str] | None) -> list[str]:
    unknown = [name for name in only or () if name not in CHECKS]
    if unknown:
        faults = [f"there is no check {name!r}{did_you_mean(name, CHECKS)}" for name in unknown]
        raise BadInput("the checks asked for", faults)
    return [name for name in CHECKS if only is None or name in only]


def _checked(evidence: Evidence, names: list[str], on_check: Callable[[Check], None]) -> Iterator[Check]:
    for name in names:
        started = time.monotonic()
        try:
            verdict = CHECKS[name](evidence)
        except MosaicError as error:
            verdict = failed(str(error))
        check = Check(name, verdict.outcome, verdict.sentence, round(time.monotonic() - started, 3))
        on_check(check)
        yield check


def _notes(subject: Subject) -> Iterator[str]:
    if subject.location:
        yield _which_copy(subject.location, str(read_record(subject.python).get("source") or ""))
    if subject.is_driven:
        yield (
            f"{subject.package} has no __main__ module, so it was run by a generated driver from its "
            "*Config and *Runtime classes; add a __main__ that calls mosaic.worker.run_worker"
        )
    if subject.config_source:
        yield f"the config of the short run comes from {subject.config_source}"


def _which_copy(location: str, source: str) -> str:
    if "site-packages" not in Path(location).parts:
        return f"checked was the source in {location}, as it is now"
    copy = f"checked was the installed copy in {location}"
    if not Path(source).is_absolute():
        return copy
    return (
        f"{copy}; what is edited in {source} counts after `mosaic workers install {source} --upgrade`, "
        "with --editable at once"
    )
