"""Who follows a run sees its end, even if the platform is stopped and started again meanwhile."""

from __future__ import annotations

import os
import pty
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mosaic.client import Mosaic
from mosaic.errors import RunNotFound, RunUnfinished
from mosaic.lifecycle import RunState
from tests.stack.embedded import Machine, finish, next_line
from tests.stack.runs import submit, wait_for_end, wait_for_state
from tests.stack.waiting import until

LENGTH = {"episodes": 60, "steps": 5, "checkpoint_every": 2, "pause_ms": 100.0, "garbage": True}
ENDLESS = {"episodes": 100_000, "pause_ms": 50.0}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine on which the platform is up."""
    machine = Machine(tmp_path_factory.mktemp("machine"))
    machine.up()
    yield machine
    machine.platform.stop()


def connect(machine: Machine) -> Mosaic:
    """Return a client that finds the platform as a person's program does."""
    return Mosaic.connect({"MOSAIC_HOME": str(machine.home)})


def start_run(machine: Machine) -> str:
    """Start a run of some seconds and return its id once it has saved a checkpoint."""
    with machine.connect() as mosaic:
        run_id = submit(mosaic, **LENGTH).run_id
    until(lambda: list((machine.runs_root / run_id / "checkpoints").glob("*.json")), what="a checkpoint")
    return run_id


def restart(machine: Machine) -> None:
    """Stop the platform in good order and start it again; its ports are others then."""
    machine.interrupt()
    machine.up()


def test_follow_goes_on_until_the_run_has_ended(stack: Machine) -> None:
    run_id = start_run(stack)
    following = stack.begin("follow", run_id)
    tailing = stack.begin("events", run_id, "--follow", "--jsonl")
    reading = stack.begin("logs", run_id, "--follow", "--json")
    begun = {typed: next_line(typed) for typed in (following, tailing, reading)}

    restart(stack)

    followed = finish(following)
    assert 0 == followed.exit_code, followed.errors
    assert "succeeded" in followed.output
    assert 1 == followed.errors.count("the scheduler is away"), followed.errors
    assert stack.type("events", run_id, "--jsonl").output == begun[tailing] + finish(tailing).output
    assert stack.type("logs", run_id, "--json").output == begun[reading] + finish(reading).output


def test_in_a_terminal_nothing_is_printed_onto_the_bars(stack: Machine) -> None:
    """What draws the bars prints the news above them; whatever else prints to a terminal falls onto one."""
    run_id = start_run(stack)
    screen, terminal = pty.openpty()
    following = stack.begin("follow", run_id, terminal=terminal)
    os.close(terminal)
    seen = ""
    while "running" not in seen:
        seen += os.read(screen, 65536).decode()

    restart(stack)

    with suppress(OSError):  # the end of what a terminal shows
        while shown := os.read(screen, 65536).decode(errors="replace"):
            seen += shown
    os.close(screen)
    assert 0 == finish(following).exit_code
    assert re.search(r"\x1b\[2K[^a-z]*the scheduler is away; the runs go on", seen), "on a line that was cleared"


@pytest.mark.parametrize(
    ("words", "again"), [("follow", "mosaic follow"), ("logs -f", "mosaic logs -f"), ("events -f", "mosaic events -f")]
)
def test_who_stops_watching_is_told_that_the_run_goes_on(stack: Machine, words: str, again: str) -> None:
    with connect(stack) as mosaic:
        run_id = submit(mosaic, **ENDLESS, garbage=True).run_id
        wait_for_state(mosaic, run_id, RunState.RUNNING)
        watching = stack.begin(*words.split(), run_id)
        next_line(watching)

        watching.send_signal(signal.SIGINT)

        typed = finish(watching)
        end = run_id[-8:]
        assert (
            130,
            f"\nrun {end} goes on without you: `{again} {end}` watches again, `mosaic cancel {end}` ends it\n",
        ) == (
            typed.exit_code,
            typed.errors,
        )
        assert RunState.RUNNING is mosaic.run(run_id).run.state
        mosaic.cancel(run_id)


def test_who_submits_and_stops_watching_is_told_that_the_runs_go_on(stack: Machine) -> None:
    words = ("submit", "drill", "--seed", "1..2", "--cpus", "0.1", "--set", "episodes=100000", "--set", "pause_ms=50")
    watching = stack.begin(*words, "--follow")
    first = next_line(watching)
    until(lambda: "running" in next_line(watching), what="a run")

    watching.send_signal(signal.SIGINT)

    typed = finish(watching)
    assert 130 == typed.exit_code, first
    assert "2 runs go on without you: `mosaic follow " in typed.errors
    with connect(stack) as mosaic:
        for run in mosaic.runs(states=[RunState.RUNNING, RunState.ADMITTED, RunState.QUEUED]):
            mosaic.cancel(run.run_id)


def test_wait_outlives_a_restart(stack: Machine) -> None:
    run_id = start_run(stack)
    with connect(stack) as mosaic:
        restart(stack)

        assert RunState.SUCCEEDED == mosaic.wait(run_id).state


def test_wait_takes_the_beginning_of_an_id_and_refuses_what_names_no_run(stack: Machine) -> None:
    with connect(stack) as mosaic:
        run_id = submit(mosaic).run_id
        wait_for_end(mosaic, run_id)

        assert run_id == mosaic.wait(run_id[:-2].lower()).run_id
        with pytest.raises(RunNotFound, match="there is no run 'NOSUCHRUN'"):
            mosaic.wait("NOSUCHRUN")
        with pytest.raises(RunNotFound):
            next(mosaic.watch([run_id, "NOSUCHRUN"]))


def test_several_runs_are_awaited_at_once_in_the_order_they_were_named(stack: Machine) -> None:
    with connect(stack) as mosaic:
        slow, quick = (submit(mosaic, episodes=count, pause_ms=50).run_id for count in (20, 1))

        ended = mosaic.wait_all([slow[-8:], quick])

        assert [(slow, RunState.SUCCEEDED), (quick, RunState.SUCCEEDED)] == [(run.run_id, run.state) for run in ended]
        assert [] == mosaic.wait_all([])
        with pytest.raises(RunNotFound, match="there is no run 'NOSUCHRUN'"):
            mosaic.wait_all([slow, "NOSUCHRUN"])


def test_a_wait_for_several_runs_can_be_bounded(stack: Machine) -> None:
    with connect(stack) as mosaic:
        quick, endless = submit(mosaic).run_id, submit(mosaic, **ENDLESS).run_id
        wait_for_state(mosaic, endless, RunState.RUNNING)

        with pytest.raises(RunUnfinished, match=f"run {endless} is still running"):
            mosaic.wait_all([quick, endless], within_s=3)

        mosaic.cancel(endless)
        assert [RunState.SUCCEEDED, RunState.CANCELLED] == [run.state for run in mosaic.wait_all([quick, endless])]


def test_a_wait_can_be_bounded(stack: Machine) -> None:
    with connect(stack) as mosaic:
        run_id = submit(mosaic, **ENDLESS).run_id
        wait_for_state(mosaic, run_id, RunState.RUNNING)

        with pytest.raises(RunUnfinished, match=f"run {run_id} is still running after 0.5 s"):
            mosaic.wait(run_id, within_s=0.5)

        mosaic.cancel(run_id)
        assert RunState.CANCELLED == mosaic.wait(run_id).state


def test_a_reader_who_has_seen_enough_is_no_fault(stack: Machine) -> None:
    with connect(stack) as mosaic:
        run_id = submit(mosaic, episodes=500).run_id
        wait_for_end(mosaic, run_id)
    for words in (("events", run_id, "--jsonl"), ("events", run_id), ("logs", run_id), ("runs", "--json")):
        with stack.begin(*words) as typed:
            assert typed.stdout is not None
            assert typed.stderr is not None
            typed.stdout.close()
            said = typed.stderr.read()

        assert ("", 0) == (said, typed.returncode), words


def test_a_platform_that_cannot_start_says_why_and_ends(stack: Machine, tmp_path: Path) -> None:
    taken = stack.platform.health
    other = Machine(tmp_path)
    for address, exit_code, words in (("nonsense", 2, "is not host:port"), (taken, 4, "already in use")):
        typed = other.type("up", "--health", address)

        assert exit_code == typed.exit_code, typed.errors
        assert words in typed.errors.lower()
        assert "Traceback" not in typed.errors
