"""Runs that last as long as a test needs them, and what must be true when they have ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from mosaic.client import Resources
from mosaic.errors import Unavailable
from mosaic.lifecycle import AttemptState, RunState
from mosaic.testing import MosaicStack, StackRun
from mosaic.testing.containers.part import Part

#: So little that slots, not CPUs, decide how many run at once.
SMALL = Resources(cpus=0.1, memory_mb=64)

PATIENCE_S = 90.0

_STEP_S = 0.02
_CHECKPOINT_STEPS = 50

ValueT = TypeVar("ValueT")


def train(fleet: MosaicStack, *, steps: int = 500, resources: Resources = SMALL) -> StackRun:
    """Start a training that is over at once."""
    return fleet.submit("reference", env="FrozenLake-v1", steps=steps, seed=1, resources=resources)


def train_for(fleet: MosaicStack, seconds: float, *, resources: Resources = SMALL, **fields: Any) -> StackRun:
    """Start a training that takes *seconds* and a little more, and saves a checkpoint every second."""
    config = {"step_delay_s": _STEP_S, "checkpoint_every": _CHECKPOINT_STEPS, "eval_episodes": 0}
    steps = round(seconds / _STEP_S)
    return fleet.submit(
        "reference", env="FrozenLake-v1", steps=steps, seed=1, config=config, resources=resources, **fields
    )


def wait_for_checkpoint(run: StackRun) -> None:
    """Return when the run has something to continue from."""
    until(lambda: _checkpoints(run), what=f"a checkpoint of {run.run_id}")


def assert_undisturbed(run: StackRun) -> None:
    """Whatever was broken meanwhile, the run ended well at the first attempt and nothing of it was lost."""
    assert_succeeded(run)
    assert [AttemptState.SUCCEEDED] == [attempt.state for attempt in run.look().attempts]


def assert_succeeded(run: StackRun) -> None:
    """The run ended well, however many attempts it took, and its manifest lacks no event."""
    ended = run.wait()
    assert RunState.SUCCEEDED == ended.state, ended.reason
    content = until(lambda: _whole_manifest(run), what=f"a manifest of {run.run_id} without gaps")
    assert ("succeeded", 0) == (content["outcome"], content["events"]["missing"])


def assert_healthy(part: Part) -> None:
    """The check that the image brings along passes; it is run every few seconds."""
    until(lambda: part.health == "healthy", what=f"{part.name} to be healthy")


def assert_shut_in(name: str, inspected: Mapping[str, Any]) -> None:
    """A container has no root, no right, no place to write that was not given to it, and no way to the engine."""
    host, uid = inspected["HostConfig"], inspected["Config"]["User"].partition(":")[0]
    assert uid.isdigit(), f"{name} runs as {uid!r}: only a number can be checked before it starts"
    assert 0 != int(uid), f"{name} runs as root"
    assert host["ReadonlyRootfs"], f"{name} can write to its root"
    assert not host["Privileged"], name
    assert ["ALL"] == host["CapDrop"], name
    assert ["no-new-privileges:true"] == host["SecurityOpt"], name
    assert [] == [mount["Source"] for mount in inspected["Mounts"] if "docker.sock" in mount["Source"]], name


@contextmanager
def only(fleet: MosaicStack, *agents: Part) -> Iterator[None]:
    """Let no agents but these take runs for a ``with`` block."""
    chosen = {agent.name for agent in agents}
    others = [known.agent_id for known in fleet.mosaic.fleet().agents if known.agent_id not in chosen]
    for other in others:
        fleet.mosaic.drain(agent_id=other)
    try:
        yield
    finally:
        for other in others:
            fleet.mosaic.drain(agent_id=other, draining=False)


def until(look: Callable[[], ValueT], *, what: str, seconds: float = PATIENCE_S) -> ValueT:
    """Return the first truthy value of *look*, for which a service may be away for a while; fail when time is up."""
    deadline = time.monotonic() + seconds
    seen: object = None
    while True:
        try:
            seen = value = look()
            if value:
                return value
        except Unavailable as error:
            seen = error
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s for {what}; last seen: {seen!r}")
        time.sleep(0.1)


def _checkpoints(run: StackRun) -> int:
    return len(list(run.mosaic.events(run.run_id, kinds=["checkpoint_saved"], limit=1)))


def _whole_manifest(run: StackRun) -> dict[str, Any]:
    content = dict(run.manifest().content)
    return content if content["is_complete"] else {}
