"""A disk that takes nothing more: people are told once and truly, and nothing is lost."""

from __future__ import annotations

import resource
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.lifecycle import RunState
from tests.stack.embedded import Machine, finish, next_line
from tests.stack.evidence import compare
from tests.stack.orphans import worker_processes
from tests.stack.runs import submit, undisturbed_result, wait_for, wait_for_end, wait_for_manifest, wait_for_state
from tests.stack.waiting import until

#: Room for the notes that an agent takes, and for no database.
CROWDED = (64 * 1024, resource.RLIM_INFINITY)
FULL = (1, resource.RLIM_INFINITY)
ROOMY = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)

LENGTH = {"episodes": 100, "steps": 5}


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


def follow(machine: Machine, run_id: str, seen: Path) -> subprocess.Popen[str]:
    """Follow a run and let *seen* hold all that is printed meanwhile, in whatever order."""
    with seen.open("w") as file:
        return machine.begin("follow", run_id, terminal=file.fileno())


def test_it_is_told_in_one_sentence_wherever_people_look(stack: Machine, tmp_path: Path) -> None:
    seen = tmp_path / "follow.txt"
    with stack.connect() as mosaic:
        run_id = submit(mosaic, episodes=300, pause_ms=50.0).run_id
        wait_for_state(mosaic, run_id, RunState.RUNNING)
        following = follow(stack, run_id, seen)
        let_files_grow(stack, CROWDED)

        why = until(mosaic.telemetry_fault, what="the fault")

        until(lambda: "something is wrong" in terminal(stack), what="a sentence in the terminal of up")
        for words in (("runs",), ("show", run_id)):
            assert f"telemetry cannot be stored: {why}" in stack.type(*words).errors
        until(lambda: "telemetry cannot be stored" in seen.read_text(), what="a sentence for who follows")
        let_files_grow(stack, ROOMY)
        until(lambda: not mosaic.telemetry_fault(), what="the fault to be over")
        until(lambda: "all is well again" in terminal(stack), what="the good news")
        assert RunState.SUCCEEDED is wait_for_end(mosaic, run_id).run.state

    assert (0, 1) == (finish(following).exit_code, seen.read_text().count("telemetry cannot be stored"))
    assert 1 == terminal(stack).count("something is wrong")
    assert "Traceback" not in terminal(stack)


def test_who_follows_a_run_that_waits_for_the_disk_is_told_that_nothing_is_heard_of_it(
    stack: Machine, tmp_path: Path
) -> None:
    seen = tmp_path / "follow.txt"
    with stack.connect() as mosaic:
        run_id = submit(mosaic, episodes=100_000, pause_ms=50.0).run_id
        wait_for_state(mosaic, run_id, RunState.RUNNING)
        following = follow(stack, run_id, seen)
        let_files_grow(stack, FULL)

        until(lambda: f"nothing was heard of run {run_id}" in seen.read_text(), what="a word about the silence")

        assert f"run {run_id} waits, its lines cannot be written" in stack.platform.faults()["agents"]
        let_files_grow(stack, ROOMY)
        until(lambda: not stack.platform.faults(), what="all to be well again")
        mosaic.cancel(run_id)
        wait_for_end(mosaic, run_id)
    finish(following)


@pytest.mark.parametrize("limit", [CROWDED, FULL], ids=["crowded", "full"])
def test_ctrl_c_ends_the_platform_soon_and_the_next_up_continues(stack: Machine, limit: tuple[int, int]) -> None:
    with stack.connect() as mosaic:
        run_id = submit(mosaic, checkpoint_every=2, pause_ms=100.0, **LENGTH).run_id
        wait_for(mosaic, run_id, lambda found: found.run.checkpoint, what="saved")
        let_files_grow(stack, limit)
        until(stack.platform.faults, what="a fault")

    stack.interrupt()

    assert {} == worker_processes(stack.runs_root)
    stack.up()
    with stack.connect() as mosaic:
        ended = wait_for_end(mosaic, run_id)
        assert (RunState.SUCCEEDED, 2) == (ended.run.state, len(ended.attempts))
        assert ended.attempts[1].resumed_from.startswith("checkpoints/")
        manifest = wait_for_manifest(mosaic, run_id).content
        assert (0, undisturbed_result(**LENGTH)) == (manifest["events"]["missing"], manifest["result"]["result"])
        first, second = compare(mosaic, run_id, stack.runs_root).values()
        assert first.is_whole if limit is CROWDED else first.is_prefix, str(first)
        assert second.is_whole, str(second)


def test_who_presses_ctrl_c_is_told_that_it_stopped(tmp_path: Path) -> None:
    up = Machine(tmp_path).begin("up")
    until(lambda: "Ctrl-C ends it" in next_line(up), what="the platform")
    resource.prlimit(up.pid, resource.RLIMIT_FSIZE, FULL)

    up.send_signal(signal.SIGINT)

    typed = finish(up)
    assert (0, "") == (typed.exit_code, typed.errors)
    assert typed.output.endswith("stopped\n"), typed.output


def terminal(machine: Machine) -> str:
    """Return what ``mosaic up`` printed."""
    return machine.platform.log.read_text()
