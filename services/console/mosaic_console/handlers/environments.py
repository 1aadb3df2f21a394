"""The catalog of environments, and which workers of the fleet can train on each."""

from __future__ import annotations

from collections.abc import Sequence

from mosaic.errors import NotFound, WorkerNotFound, did_you_mean
from mosaic.model.fleet import Worker
from mosaic.worker.environments import Environment, catalog, families, find
from mosaic.worker.suitability import why_unsuited
from mosaic_console.domain.environments import Described
from mosaic_console.ports import Platform


def environments(platform: Platform, *, family: str = "", worker: str = "") -> list[Described]:
    """Return the environments of *family* that *worker* can train on; an empty text means any.

    Raises:
        NotFound: there is no such family or worker.
    """
    if family and family not in families():
        known = families()
        raise NotFound(f"no family is called {family!r}{did_you_mean(family, known)} (known: {', '.join(known)})")
    workers = platform.fleet().workers
    if worker and worker not in (names := [each.name for each in workers]):
        raise WorkerNotFound(worker, names)
    found = [_described(env, workers) for env in catalog() if family in ("", env.family)]
    return [each for each in found if not worker or worker in each.workers]


def environment(platform: Platform, env_id: str) -> Described:
    """Return one of them.

    Raises:
        NotFound: the catalog does not have it.
    """
    env = find(env_id)
    if env is None:
        hint = did_you_mean(env_id, [known.env_id for known in catalog()])
        raise NotFound(f"the catalog has no environment {env_id!r}{hint}; a worker may know it all the same")
    return _described(env, platform.fleet().workers)


def _described(env: Environment, workers: Sequence[Worker]) -> Described:
    reasons = {each.name: why_unsuited(each.capabilities, each.config_schema, env) for each in workers}
    able = sorted(name for name, reason in reasons.items() if reason is None)
    return Described(env, tuple(able), {name: reason for name, reason in sorted(reasons.items()) if reason})
