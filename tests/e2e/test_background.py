"""``mosaic up -d`` and ``mosaic down``: the platform of one machine in the background."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.lifecycle import RunState
from mosaic_embedded.home import holder
from tests.stack.embedded import Machine, finish
from tests.stack.orphans import worker_processes
from tests.stack.runs import submit, wait_for_end, wait_for_state
from tests.stack.waiting import until

SLOW = {"episodes": 40, "steps": 5, "checkpoint_every": 2, "pause_ms": 100.0}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine on which nothing runs, and on which nothing is left running."""
    machine = Machine(tmp_path)
    yield machine
    machine.type("down")
    assert holder(machine.home) is None


def up(machine: Machine) -> int:
    """Start the platform in the background and return its process."""
    typed = machine.type("up", "-d", "--slots", "4")
    assert 0 == typed.exit_code, typed.output + typed.errors
    pid = holder(machine.home)
    assert pid is not None
    return pid


def test_it_goes_on_in_the_background_until_it_is_taken_down(machine: Machine) -> None:
    typed = machine.type("up", "-d")

    assert 0 == typed.exit_code, typed.errors
    pid = holder(machine.home)
    for told in ("console    http://127.0.0.1:", f"process    {pid}", "drill", "mosaic down ends it"):
        assert told in typed.output
    assert "try mosaic submit drill --follow." in typed.output.lower(), "what it advises works as it stands"
    assert 0 == machine.type("submit", "drill", "--cpus", "0.1", "--follow").exit_code

    stopped = machine.type("down")

    assert (0, "") == (stopped.exit_code, stopped.errors)
    assert f"(process {pid})" in stopped.output
    assert "stopped" in stopped.output
    assert "stopped" in (machine.home / "up.log").read_text()
    assert 5 == machine.type("runs").exit_code


def test_it_goes_on_when_nobody_reads_its_greeting_to_the_end(machine: Machine) -> None:
    with machine.begin("up", "-d") as typed:
        assert typed.stdout is not None
        assert "starting" in typed.stdout.readline()
        typed.stdout.close()

    assert 0 == typed.returncode
    assert holder(machine.home) is not None
    assert 0 == machine.type("runs").exit_code


def test_a_second_one_is_refused_with_the_process_of_the_first(machine: Machine) -> None:
    pid = up(machine)

    for words in (("up", "-d"), ("up",)):
        typed = machine.type(*words)

        assert 4 == typed.exit_code
        assert f"already runs in {machine.home} (process {pid}); `mosaic down` stops it" in typed.errors


def test_a_start_that_fails_is_told_where_it_was_typed(machine: Machine) -> None:
    typed = machine.type("up", "-d", "--health", "nonsense")

    assert 2 == typed.exit_code
    assert "is not host:port" in typed.errors


def test_down_says_that_nothing_runs(machine: Machine) -> None:
    typed = machine.type("down")

    assert (5, f"error: no platform runs in {machine.home}, so there is nothing to stop") == (
        typed.exit_code,
        typed.errors.partition(";")[0],
    )


def test_what_runs_is_stopped_in_order_and_continues(machine: Machine) -> None:
    up(machine)
    with machine.connect() as mosaic:
        run_id = submit(mosaic, **SLOW).run_id
        wait_for_state(mosaic, run_id, RunState.RUNNING)
    until(lambda: list((machine.runs_root / run_id / "checkpoints").glob("*.json")), what="a checkpoint")

    assert 0 == machine.type("down").exit_code

    assert {} == worker_processes(machine.runs_root)
    up(machine)
    with machine.connect() as mosaic:
        ended = wait_for_end(mosaic, run_id)
        assert RunState.SUCCEEDED is ended.run.state
        assert "was stopped" in ended.attempts[0].reason


def test_after_kill_9_nothing_is_taken_for_the_platform(machine: Machine) -> None:
    pid = up(machine)
    os.kill(pid, signal.SIGKILL)
    until(lambda: holder(machine.home) is None, what="the lock to be free")

    assert 5 == machine.type("down").exit_code
    # The number of the one that was killed may be anybody's by now.
    (machine.home / "platform.lock").write_text(f"{os.getpid()} 1 somewhere\n")
    assert 5 == machine.type("down").exit_code
    assert pid != up(machine)


def test_down_ends_a_platform_in_another_terminal(machine: Machine) -> None:
    terminal = machine.begin("up")
    until(lambda: holder(machine.home), what="the platform")

    assert 0 == machine.type("down").exit_code

    typed = finish(terminal)
    assert "Traceback" not in typed.errors
    assert typed.exit_code in (0, 130), "in the middle of its start it is interrupted"


def test_a_worker_that_is_installed_later_is_told(machine: Machine, tmp_path: Path) -> None:
    workers = machine.home / "workers"
    workers.rename(tmp_path / "elsewhere")
    typed = machine.type("up", "-d")
    assert "mosaic workers install reference" in typed.output, "nothing can be submitted yet"

    (tmp_path / "elsewhere").rename(workers)

    log = machine.home / "up.log"
    until(lambda: "worker drill is here: `mosaic submit drill --follow`" in log.read_text(), what="the news")
