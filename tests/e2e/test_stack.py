"""A run on the platform as a cluster has it, from submit to manifest."""

from __future__ import annotations

from typing import Any

from mosaic.client import Manifest, Resources, Run, Submission
from mosaic.errors import NotFound
from mosaic.lifecycle import RunState
from tests.stack.environment import WORKER
from tests.stack.evidence import compare
from tests.stack.stack import Stack
from tests.stack.waiting import until

SMALL = Resources(cpus=0.1, memory_mb=16)


def submit(stack: Stack, **config: Any) -> Run:
    [run] = stack.mosaic.submit(Submission(WORKER, config, seed=7, resources=SMALL))
    return run


def manifest_of(stack: Stack, run_id: str) -> Manifest:
    def look() -> Manifest | None:
        try:
            return stack.mosaic.manifest(run_id)
        except NotFound:
            return None

    found = until(look, what=f"the manifest of {run_id}")
    assert found is not None
    return found


def test_a_run_ends_in_a_manifest_without_gaps(stack: Stack) -> None:
    run = submit(stack, episodes=4, steps=50)

    ended = stack.mosaic.wait(run.run_id)

    assert RunState.SUCCEEDED == ended.state, ended.reason
    manifest = manifest_of(stack, run.run_id)
    assert manifest.content["outcome"] == "succeeded"
    assert manifest.content["is_complete"]
    assert manifest.content["seed"] == 7
    [compared] = compare(stack.mosaic, run.run_id, stack.runs_root).values()
    assert compared.is_whole, str(compared)
