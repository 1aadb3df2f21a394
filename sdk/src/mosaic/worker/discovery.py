"""Finding the workers installed in this environment.

A distribution offers a worker by an entry point in the group ``mosaic.workers`` whose callable
returns ``(WorkerMetadata, WorkerCapabilities)``. Asking it imports the worker's package, which
can be slow or crash: a service should use `mosaic.worker.probe`, which asks in a process of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mosaic.errors import WorkerBroken
from mosaic.worker.metadata import WorkerCapabilities, WorkerMetadata

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

WORKER_ENTRY_POINT_GROUP = "mosaic.workers"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DiscoveredWorker:
    """A worker that is installed and answered for itself."""

    worker_id: str  #: the entry point's name, whatever the worker calls its type
    metadata: WorkerMetadata
    capabilities: WorkerCapabilities
    entry_point_name: str
    module_path: str  #: the entry point's value, ``package:callable``


@dataclass
class WorkerDiscovery:
    """The installed workers, found on first use and remembered.

    A broken worker is logged and left out; no method raises because of one.
    """

    _cache: dict[str, DiscoveredWorker] = field(default_factory=dict)
    _loaded: bool = False

    def discover_all(self, *, force_reload: bool = False) -> list[DiscoveredWorker]:
        """Return every worker, by id; look again only when *force_reload* is true."""
        if force_reload or not self._loaded:
            self._cache = {worker.worker_id: worker for worker in _load_all(installed_entry_points())}
            self._loaded = True
        return [self._cache[worker_id] for worker_id in sorted(self._cache)]

    def get_worker(self, worker_id: str) -> DiscoveredWorker | None:
        """Return the worker called *worker_id*, or None."""
        self.discover_all()
        return self._cache.get(worker_id)

    def list_worker_ids(self) -> list[str]:
        """Return the ids of all workers, sorted."""
        return [worker.worker_id for worker in self.discover_all()]

    def has_worker(self, worker_id: str) -> bool:
        """Tell whether a worker called *worker_id* is installed and works."""
        return self.get_worker(worker_id) is not None

    def get_capabilities(self, worker_id: str) -> WorkerCapabilities | None:
        """Return what *worker_id* can do, or None when there is no such worker."""
        worker = self.get_worker(worker_id)
        return worker.capabilities if worker else None

    def filter_by_paradigm(self, paradigm: str) -> list[DiscoveredWorker]:
        """Return the workers that train in *paradigm*."""
        return [worker for worker in self.discover_all() if worker.capabilities.supports_paradigm(paradigm)]

    def filter_by_env_family(self, env_family: str) -> list[DiscoveredWorker]:
        """Return the workers that can use environments of *env_family*."""
        return [worker for worker in self.discover_all() if worker.capabilities.supports_env_family(env_family)]

    def clear_cache(self) -> None:
        """Forget what was found; the next question looks again."""
        self._cache = {}
        self._loaded = False


def discover_workers() -> list[DiscoveredWorker]:
    """Return every worker of this environment, looking afresh."""
    return WorkerDiscovery().discover_all()


def installed_entry_points() -> list[EntryPoint]:
    """Return the entry points that claim to be workers, without importing any."""
    # importlib.metadata costs more to import than the rest of this package together.
    from importlib.metadata import entry_points

    return list(entry_points(group=WORKER_ENTRY_POINT_GROUP))


def load_worker(entry_point: EntryPoint) -> DiscoveredWorker:
    """Import one worker's package and ask it for itself.

    Raises:
        WorkerBroken: what it returned is not the pair the contract asks for.
        Exception: whatever the package raised.

    """
    answer = entry_point.load()()
    metadata, capabilities = _checked_answer(entry_point.name, answer)
    if capabilities.worker_type != entry_point.name:
        _log.warning(
            "worker %r calls its type %r; the entry point name is used",
            entry_point.name,
            capabilities.worker_type,
        )
    return DiscoveredWorker(entry_point.name, metadata, capabilities, entry_point.name, entry_point.value)


def _checked_answer(name: str, answer: Any) -> tuple[WorkerMetadata, WorkerCapabilities]:
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise WorkerBroken(
            name,
            f"must return the tuple (WorkerMetadata, WorkerCapabilities), returned {type(answer).__name__}",
        )
    metadata, capabilities = answer
    if not isinstance(metadata, WorkerMetadata):
        raise WorkerBroken(name, f"first of the pair must be WorkerMetadata, is {type(metadata).__name__}")
    if not isinstance(capabilities, WorkerCapabilities):
        raise WorkerBroken(name, f"second of the pair must be WorkerCapabilities, is {type(capabilities).__name__}")
    return metadata, capabilities


def _load_all(found: Iterable[EntryPoint]) -> Iterable[DiscoveredWorker]:
    for entry_point in found:
        try:
            yield load_worker(entry_point)
        except WorkerBroken as broken:
            _log.error("%s; it is left out", broken)
        except (Exception, SystemExit):
            _log.exception("worker %r cannot be loaded; it is left out", entry_point.name)
