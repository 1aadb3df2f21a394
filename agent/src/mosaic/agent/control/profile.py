"""The worker of an environment, as its probe described it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mosaic.agent.ports import WorkerProfile
from mosaic.errors import WorkerBroken, WorkerNotFound
from mosaic.ids import WorkerName
from mosaic.installer.provenance import Revisions, environment_of
from mosaic.model.fleet import Worker
from mosaic.worker.probe import ProbedWorker, ProbeReport

_NONE = Revisions()


def choose_worker(
    report: ProbeReport, name: str = "", *, image: str = "", revisions: Revisions = _NONE
) -> WorkerProfile:
    """Return the worker called *name*, or the only one there is; see `profile_of`.

    Raises:
        WorkerBroken: the environment or the worker in it cannot be used; the reason is given.
        WorkerNotFound: there is no such worker, or several and none was named.
    """
    if report.faults:
        raise WorkerBroken(name or report.python, "; ".join(report.faults))
    by_name = {worker.worker_id: worker for worker in report.workers}
    if not name and len(by_name) == 1:
        [name] = by_name
    if name not in by_name:
        raise WorkerNotFound(name, by_name)
    worker = by_name[name]
    if not worker.is_usable:
        raise WorkerBroken(name, "; ".join(worker.faults) or "it cannot be launched")
    return profile_of(worker, report, image=image, revisions=revisions)


def profile_of(
    worker: ProbedWorker, report: ProbeReport, *, image: str = "", revisions: Revisions = _NONE
) -> WorkerProfile:
    """Return what the fleet needs to know about *worker*; *revisions* are those of the *image*."""
    versions = {**report.versions, **worker.versions}
    if image:
        versions["image"] = image
    described = Worker(
        name=WorkerName(worker.worker_id),
        version=_text(worker.metadata, "version"),
        description=_text(worker.metadata, "description"),
        upstream_library=_text(worker.metadata, "upstream_library"),
        upstream_version=_text(worker.metadata, "upstream_version"),
        metadata=worker.metadata,
        capabilities=worker.capabilities,
        config_schema=worker.config_schema,
        image=image,
        versions=versions,
        resume_grade=_text(worker.capabilities, "resume_grade"),
        launch=tuple(worker.launch),
    )
    return WorkerProfile(
        described,
        report.python,
        can_pause="Pausable" in worker.optional_protocols,
        environment=environment_of(worker, report, revisions),
    )


def _text(described: Mapping[str, Any], key: str) -> str:
    value = described.get(key)
    return "" if value is None else str(value)
