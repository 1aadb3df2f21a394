"""What a worker said of itself when its image was built, so that no container has to ask again.

``python -m mosaic.agent.control.probe_cache PYTHON FILE`` asks the environment of *PYTHON* and keeps the answer in
*FILE*. The part of it that fits on a label is in the variable ``WORKER``; a build whose label says
anything else than the worker does is ended.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mosaic.errors import BadInput, MosaicError, WorkerBroken
from mosaic.installer.environments import report_from
from mosaic.worker.probe import ProbedWorker, ProbeReport, probe

#: The label of a worker image: who it is and what it can do, as JSON.
LABEL = "org.mosaic.worker"

_TIMEOUT_S = 300.0


def keep_report(python: str | Path, path: Path, *, label: str) -> None:
    """Ask the worker of *python* and keep what it says in *path*.

    Raises:
        WorkerBroken: the environment or its worker cannot be used.
        BadInput: *label* is not what the worker says.
    """
    report = probe(python, timeout_s=_TIMEOUT_S)
    faults = [*report.faults, *(fault for worker in report.workers for fault in worker.faults)]
    if faults or len(report.workers) != 1:
        raise WorkerBroken(str(python), "; ".join(faults) or f"{len(report.workers)} workers instead of one")
    [worker] = report.workers
    said = label_text(worker)
    if label != said:
        raise BadInput(f"label {LABEL}", [f"it differs from the worker; in the Dockerfile, write ARG WORKER='{said}'"])
    path.write_text(json.dumps(asdict(report), indent=1), encoding="utf-8")


def read_report(path: Path) -> ProbeReport:
    """Return the report kept in *path*.

    Raises:
        WorkerBroken: there is none, or it cannot be read.
    """
    try:
        report = report_from(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkerBroken(str(path), f"the report of its build cannot be read: {error}") from error
    here = {"platform": platform.platform()}  # the image was built on another machine than it runs on
    workers = tuple(replace(worker, versions={**worker.versions, **here}) for worker in report.workers)
    return replace(report, workers=workers, versions={**report.versions, **here})


def label_text(worker: ProbedWorker) -> str:
    """Return what the label of *worker*'s image holds; its schema is too long for a label."""
    described: Mapping[str, Any] = {
        "worker": worker.worker_id,
        "package": worker.package,
        "launch": list(worker.launch),
        "metadata": worker.metadata,
        "capabilities": worker.capabilities,
    }
    # An apostrophe would end the quotes in the Dockerfile.
    return json.dumps(described, separators=(",", ":"), sort_keys=True).replace("'", "\\u0027")


def _main(python: str, path: str) -> int:
    try:
        keep_report(python, Path(path), label=os.environ.get("WORKER", ""))
    except MosaicError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
