"""The platform of one machine ends, cleanly or not, and the next ``mosaic up`` continues."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mosaic.lifecycle import AttemptState, RunState, is_terminal
from tests.stack.embedded import Machine
from tests.stack.evidence import compare
from tests.stack.orphans import worker_processes
from tests.stack.runs import submit, undisturbed_result, wait_for, wait_for_end, wait_for_manifest, wait_for_state
from tests.stack.waiting import until

LENGTH = {"episodes": 40, "steps": 5}


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Machine]:
    """A machine on which the platform is up."""
    machine = Machine(tmp_path)
    machine.up()
    yield machine
    machine.platform.stop()


def start_run(machine: Machine, **more: object) -> str:
    """Start a run with checkpoints and return its id once it has saved one."""
    with machine.connect() as mosaic:
        run_id = submit(mosaic, checkpoint_every=2, pause_ms=100.0, **LENGTH, **more).run_id
        wait_for_state(mosaic, run_id, RunState.RUNNING)
    checkpoints = machine.runs_root / run_id / "checkpoints"
    until(lambda: list(checkpoints.glob("*.json")), what="a checkpoint")
    return run_id


def test_ctrl_c_ends_everything_and_the_next_up_continues_from_the_checkpoint(stack: Machine) -> None:
    run_id = start_run(stack)

    stack.interrupt()

    assert {} == worker_processes(stack.runs_root)
    stack.up()
    with stack.connect() as mosaic:
        ended = wait_for_end(mosaic, run_id)
        assert [AttemptState.PREEMPTED, AttemptState.SUCCEEDED] == [attempt.state for attempt in ended.attempts]
        assert ended.attempts[1].resumed_from.startswith("checkpoints/")
        manifest = wait_for_manifest(mosaic, run_id).content
        assert undisturbed_result(**LENGTH) == manifest["result"]["result"]
        assert all(compared.is_whole for compared in compare(mosaic, run_id, stack.runs_root).values())


def test_after_kill_9_nothing_is_left_behind_and_the_run_ends_without_a_gap(stack: Machine) -> None:
    run_id = start_run(stack, grandchild=True)

    stack.platform.kill()

    until(lambda: len(worker_processes(stack.runs_root)) <= 1, what="the worker to die with the platform")
    leftovers = set(worker_processes(stack.runs_root))
    stack.up()
    assert not leftovers & set(worker_processes(stack.runs_root)), "what outlived it is ended before anything starts"
    with stack.connect() as mosaic:
        ended = wait_for_end(mosaic, run_id)
        assert [AttemptState.FAILED, AttemptState.SUCCEEDED] == [attempt.state for attempt in ended.attempts]
        assert "agent restarted" in ended.attempts[0].reason
        manifest = wait_for_manifest(mosaic, run_id).content
        assert (0, undisturbed_result(**LENGTH)) == (manifest["events"]["missing"], manifest["result"]["result"])
        first, second = compare(mosaic, run_id, stack.runs_root).values()
        assert first.is_prefix, str(first)
        assert second.is_whole, str(second)


@pytest.mark.parametrize("end", [Machine.interrupt, lambda machine: machine.platform.kill()], ids=["ctrl-c", "kill -9"])
def test_a_paused_run_stays_paused_until_it_is_resumed(stack: Machine, end: Callable[[Machine], None]) -> None:
    run_id = start_run(stack)
    with stack.connect() as mosaic:
        mosaic.pause(run_id)
        wait_for_state(mosaic, run_id, RunState.PAUSED)

    end(stack)
    stack.up()

    with stack.connect() as mosaic:
        held = wait_for(mosaic, run_id, lambda found: is_terminal(found.attempts[-1].state), what="held")
        assert (RunState.PAUSED, 1) == (held.run.state, len(held.attempts))
        assert "it is paused" in " ".join(mosaic.explain(run_id).sentences)
        mosaic.resume(run_id)
        ended = wait_for_end(mosaic, run_id)
        assert (RunState.SUCCEEDED, 2) == (ended.run.state, len(ended.attempts))
        assert ended.attempts[1].resumed_from.startswith("checkpoints/")


def test_runs_that_waited_start_after_a_restart(stack: Machine) -> None:
    with stack.connect() as mosaic:
        busy = [submit(mosaic, episodes=100_000, pause_ms=50.0).run_id for _ in range(4)]
        for run_id in busy:
            wait_for_state(mosaic, run_id, RunState.RUNNING)
        waiting = submit(mosaic).run_id

    stack.platform.kill()
    stack.up()

    with stack.connect() as mosaic:
        for run_id in busy:
            mosaic.cancel(run_id)
        ended = wait_for(mosaic, waiting, lambda detail: detail.run.has_ended, what="ended")
        assert [AttemptState.SUCCEEDED] == [attempt.state for attempt in ended.attempts]
        for run_id in busy:
            assert RunState.CANCELLED == wait_for_end(mosaic, run_id).run.state
