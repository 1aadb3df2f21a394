"""Submitting drills and waiting for what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mosaic.client import Manifest, Mosaic, Resources, Run, RunDetail, RunSpec
from mosaic.errors import NotFound
from mosaic.lifecycle import RunState
from tests.stack.environment import WORKER
from tests.stack.waiting import PATIENCE_S, until

#: So little that slots, not CPUs, decide how many run at once.
SMALL = Resources(cpus=0.1, memory_mb=16)

SEED = 7

_MODULUS = 2**31 - 1


def a_drill(*, seed: int = SEED, resources: Resources = SMALL, **rest: Any) -> RunSpec:
    """Return a submission; what is no field of one is part of the drill's config."""
    fields = {name: rest.pop(name) for name in list(rest) if name in RunSpec.__dataclass_fields__}
    return RunSpec(WORKER, rest, seed=seed, resources=resources, **fields)


def submit(mosaic: Mosaic, *, key: str = "", **asked: Any) -> Run:
    """Submit one drill."""
    [run] = mosaic.submit(a_drill(**asked), idempotency_key=key)
    return run


def wait_for(
    mosaic: Mosaic, run_id: str, test: Callable[[RunDetail], object], *, what: str, seconds: float = PATIENCE_S
) -> RunDetail:
    """Return the run once *test* is true of it."""

    def look() -> RunDetail | None:
        detail = mosaic.run(run_id)
        return detail if test(detail) else None

    found = until(look, what=f"{run_id} to be {what}", seconds=seconds)
    assert found is not None
    return found


def wait_for_state(mosaic: Mosaic, run_id: str, state: RunState, seconds: float = PATIENCE_S) -> RunDetail:
    """Return the run once it is in *state*."""
    return wait_for(mosaic, run_id, lambda detail: detail.run.state is state, what=state.value, seconds=seconds)


def wait_for_end(mosaic: Mosaic, run_id: str, seconds: float = PATIENCE_S) -> RunDetail:
    """Return the run once it has ended."""
    return wait_for(mosaic, run_id, lambda detail: detail.run.has_ended, what="ended", seconds=seconds)


def wait_for_manifest(mosaic: Mosaic, run_id: str, seconds: float = PATIENCE_S) -> Manifest:
    """Return the manifest once it lacks nothing."""

    def look() -> Manifest | None:
        try:
            found = mosaic.manifest(run_id, within_s=0.0)
        except NotFound:
            return None
        return found if found.content["is_complete"] else None

    manifest = until(look, what=f"a manifest of {run_id} without gaps", seconds=seconds)
    assert manifest is not None
    return manifest


def undisturbed_result(*, seed: int = SEED, episodes: int, steps: int) -> int:
    """Return what a drill computes when nobody disturbs it."""
    state = seed % _MODULUS + 1
    for _ in range(episodes * steps):
        state = state * 48271 % _MODULUS
    return state
