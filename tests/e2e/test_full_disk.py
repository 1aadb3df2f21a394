"""A disk that takes nothing more: people are told once and truly, and nothing is lost."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.lifecycle import RunState
from tests.stack.embedded import Machine, finish
from tests.stack.runs import submit, wait_for_end, wait_for_state
from tests.stack.waiting import until

#: Room for the notes that an agent takes, and for no database.
CROWDED = (64 * 1024, resource.RLIM_INFINITY)
FULL = (1, resource.RLIM_INFINITY)
ROOMY = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Machine]:
    """A machine on which the platform is up."""
    machine = Machine(tmp_path)
    machine.up()
    yield machine
    machine.platform.stop()


def let_files_grow(machine: Machine, limit: tuple[int, int]) -> None:
    """Let no file that the platform writes grow beyond *limit*, as a full disk does."""
    resource.prlimit(machine.platform.pid, resource.RLIMIT_FSIZE, limit)


def test_it_is_told_in_one_sentence_wherever_people_look(stack: Machine) -> None:
    with stack.connect() as mosaic:
        run_id = submit(mosaic, episodes=300, pause_ms=50.0).run_id
        wait_for_state(mosaic, run_id, RunState.RUNNING)
        following = stack.begin("follow", run_id)
        let_files_grow(stack, CROWDED)

        why = until(mosaic.telemetry_fault, what="the fault")

        until(lambda: "something is wrong" in terminal(stack), what="a sentence in the terminal of up")
        for words in (("runs",), ("show", run_id)):
            assert f"telemetry cannot be stored: {why}" in stack.type(*words).errors
        let_files_grow(stack, ROOMY)
        until(lambda: not mosaic.telemetry_fault(), what="the fault to be over")
        until(lambda: "all is well again" in terminal(stack), what="the good news")
        assert RunState.SUCCEEDED is wait_for_end(mosaic, run_id).run.state

    followed = finish(following)
    assert (0, 1) == (followed.exit_code, followed.errors.count("telemetry cannot be stored"))
    assert 1 == terminal(stack).count("something is wrong")
    assert "Traceback" not in terminal(stack)


def test_who_follows_a_run_that_waits_for_the_disk_is_told_that_nothing_is_heard_of_it(stack: Machine) -> None:
    with stack.connect() as mosaic:
        run_id = submit(mosaic, episodes=100_000, pause_ms=50.0).run_id
        wait_for_state(mosaic, run_id, RunState.RUNNING)
        following = stack.begin("follow", run_id)
        assert following.stderr is not None
        let_files_grow(stack, FULL)

        assert f"nothing was heard of run {run_id}" in following.stderr.readline()

        assert f"run {run_id} waits, its lines cannot be written" in stack.platform.faults()["agents"]
        let_files_grow(stack, ROOMY)
        until(lambda: not stack.platform.faults(), what="all to be well again")
        mosaic.cancel(run_id)
        wait_for_end(mosaic, run_id)
    finish(following)


def terminal(machine: Machine) -> str:
    """Return what ``mosaic up`` printed."""
    return machine.platform.log.read_text()
