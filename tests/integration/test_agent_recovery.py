"""What an agent leaves behind when it is killed, and what the next one makes of it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from mosaic.agent.execution.attempt_store import AttemptHome
from mosaic.agent.execution.child import Trace
from mosaic.agent.telemetry import spool
from mosaic.processes import living_processes, read_birth
from tests.fakes.agent import Bench, a_launch, eventually

ROOT = Path(__file__).parents[2]

WORKER = """
import json, os, subprocess, sys, time
def say(event, **payload):
    print(json.dumps({"event": event, "payload": payload, "run_id": "r", "timestamp": 1.0}), flush=True)
stay = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(300)"
grandchild = subprocess.Popen([sys.executable, "-c", stay], start_new_session=True, stdout=subprocess.PIPE)
grandchild.stdout.readline()
say("run_started")
say("checkpoint_saved", checkpoint_path="checkpoints/7.npz")
for number in range(1000):
    say("custom", number=number)
    time.sleep(0.01)
"""

#: Says more than a pipe holds when it is to end, and saves then.
CHATTY = """
import pathlib, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("up", flush=True)
signal.sigwait([signal.SIGTERM])
for _ in range(4000):
    print("x" * 1000, flush=True)
pathlib.Path("saved").touch()
"""

#: An agent in a process of its own, whose telemetry goes nowhere, until somebody kills it.
DOOMED_AGENT = """
import sys, time
from pathlib import Path
from tests.fakes.agent import Bench
bench = Bench(Path(sys.argv[1]), Path(sys.argv[2]).read_text())
bench.sink.is_away = True
bench.agent.start()
bench.run(secrets={"KEY": "swordfish-1234"})
bench.scheduler.wait_for("started")
time.sleep(0.5)
print("running", flush=True)
time.sleep(300)
"""


@pytest.fixture
def wreck(tmp_path: Path) -> Iterator[Bench]:
    """What an agent left that was killed with SIGKILL while run-1 was running."""
    source = tmp_path / "source.py"
    source.write_text(WORKER)
    doomed = subprocess.Popen(
        [sys.executable, "-c", DOOMED_AGENT, str(tmp_path), str(source)], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert doomed.stdout is not None
    assert b"running\n" in iter(doomed.stdout.readline, b"")
    doomed.kill()
    doomed.wait()
    doomed.stdout.close()
    bench = Bench(tmp_path, WORKER)
    yield bench
    bench.agent.stop()


def mark_of(bench: Bench) -> str:
    [saved] = (bench.root / "home" / "attempts").glob("*/attempt.json")
    mark: str = json.loads(saved.read_text())["mark"]
    return mark


def test_the_child_dies_with_the_agent_but_not_what_it_started(wreck: Bench) -> None:
    """The reason why recovery has to look for orphans."""
    eventually(lambda: len(living_processes(mark_of(wreck))) == 1)

    wreck.agent.start()


def test_a_new_agent_ends_orphans_before_it_joins_the_fleet(wreck: Bench) -> None:
    mark = mark_of(wreck)

    wreck.agent.start()

    assert living_processes(mark) == []


def test_a_new_agent_reports_the_attempt_with_its_last_checkpoint(wreck: Bench) -> None:
    wreck.agent.start()

    report = wreck.scheduler.wait_for("failed")

    assert (report.failure_kind, report.exit_code) == ("lost_agent", None)
    assert "the agent restarted" in report.reason
    assert report.checkpoint == "checkpoints/7.npz"
    assert wreck.scheduler.facts()[0] == "checkpoint", "what takes longer may come after the lease has run out"


def test_a_number_that_means_somebody_else_by_now_harms_nobody(wreck: Bench) -> None:
    """After a restart of the machine the child's number may be that of the user's own shell."""
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    [noted] = (wreck.root / "home" / "attempts").glob("*/process.json")
    birth = json.loads(noted.read_text())
    mark = mark_of(wreck)
    noted.write_text(json.dumps({**birth, "pid": stranger.pid}))

    wreck.agent.start()

    assert living_processes(mark) == []
    assert stranger.poll() is None
    stranger.communicate()


def test_a_session_is_used_only_where_its_number_proves_something() -> None:
    own = read_birth(os.getpid())
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()

    assert own.session == own.pid
    assert replace(own, start_ticks=own.start_ticks + 1).session is None
    assert replace(own, boot_id="before the restart").session is None
    assert replace(own, pid=gone.pid).session == gone.pid
    assert replace(own, pid=gone.pid, boot_id="before the restart").session is None


def test_a_note_of_an_older_agent_is_no_proof(tmp_path: Path) -> None:
    home = AttemptHome(tmp_path)
    home.save_entry(a_launch(), "the-mark")
    (tmp_path / "process.json").write_text('{"pid": 1}')

    entry = home.entry()

    assert entry is not None
    assert Trace("the-mark", None) == entry.trace


def test_every_line_that_was_read_is_shipped_once_and_the_stream_is_closed(wreck: Bench) -> None:
    wreck.agent.start()

    report = wreck.scheduler.wait_for("failed")
    wreck.sink.wait_for(b'"attempt_ended"')

    lines = wreck.sink.stream()
    numbers = [json.loads(line)["payload"]["number"] for line in lines if b'"custom"' in line]
    assert len(numbers) > 10
    assert list(range(len(numbers))) == numbers
    assert json.loads(lines[-1])["event"] == "attempt_ended"
    assert len(lines) - 1 == report.last_seq
    assert wreck.sink.repeated == 0
    eventually(lambda: not wreck.remembered)


def test_no_secret_was_left_on_the_disk(wreck: Bench) -> None:
    files = [path for path in wreck.root.rglob("*") if path.is_file()]

    assert not any(b"swordfish" in path.read_bytes() for path in files)
    wreck.agent.start()


def test_a_report_that_was_not_delivered_goes_out_after_the_restart(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "print('done')", stop_timeout_s=1.0)
    bench.agent.start()
    bench.sink.is_away = True
    bench.run()
    bench.scheduler.wait_for("started")
    bench.scheduler.is_away = True
    eventually(lambda: (tmp_path / "home/attempts/run-1.1/report.json").exists())
    bench.agent.stop()

    bench.scheduler.is_away = bench.sink.is_away = False
    bench.restart()

    bench.scheduler.wait_for("succeeded")
    bench.sink.wait_for(b'"attempt_ended"')
    outcomes = [line for line in bench.sink.stream() if b'"attempt_ended"' in line]
    assert len(outcomes) == 1
    eventually(lambda: not bench.remembered)
    bench.agent.stop()


def test_a_death_while_the_books_are_closed_closes_them_once(tmp_path: Path) -> None:
    """The report is on disk, its closing lines are not."""
    bench = Bench(tmp_path, "print('done')", stop_timeout_s=1.0)
    bench.agent.start()
    bench.sink.is_away = bench.scheduler.is_away = False
    bench.run()
    bench.sink.is_away = True
    bench.scheduler.wait_for("succeeded")
    bench.agent.stop()
    home = tmp_path / "home/attempts/run-1.1"
    (home / "acknowledged.json").rename(home / "report.json")
    _forget_last_frame(home / "spool")

    bench.sink.is_away = False
    bench.restart()
    bench.sink.wait_for(b'"attempt_ended"')

    assert sum(b'"attempt_ended"' in line for line in bench.sink.stream()) == 1
    bench.agent.stop()


def test_a_stop_on_a_full_disk_lets_workers_save_and_is_finished_by_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    bench = Bench(tmp_path, CHATTY, stop_timeout_s=60.0, settle_timeout_s=1.0)
    bench.agent.start()
    bench.run(grace=timedelta(seconds=30))
    bench.sink.wait_for(b"up")
    monkeypatch.setattr(spool, "_write_whole", refuse)
    monkeypatch.setattr(AttemptHome, "save_final_report", refuse)

    began = time.monotonic()
    bench.agent.stop()

    assert time.monotonic() - began < 20
    assert (tmp_path / "runs" / "run-1" / "saved").exists()
    monkeypatch.undo()
    bench.restart()
    assert "the agent restarted" in bench.scheduler.wait_for("failed").reason
    bench.sink.wait_for(b'"attempt_ended"')
    eventually(lambda: not bench.remembered)
    bench.agent.stop()


def _forget_last_frame(spool: Path) -> None:
    from mosaic.agent.telemetry.spool import Spool

    opened = Spool(spool, "run-1", 1)
    frames = opened.take(frames=100, size_bytes=10**9)
    opened.close()
    [segment] = spool.glob("*.segment")
    content = segment.read_bytes()
    segment.write_bytes(content[: content.rindex(frames[-1].body) - 20])


def test_telemetry_waits_on_disk_while_nobody_takes_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "print('kept')")
    bench.agent.start()
    bench.sink.is_away = True
    bench.run()
    bench.scheduler.wait_for("succeeded")
    eventually(lambda: "telemetry" in bench.agent.faults())

    bench.sink.is_away = False
    bench.sink.wait_for(b'"attempt_ended"')

    assert b"kept" in bench.sink.stream()
    eventually(lambda: not bench.agent.faults())
    bench.agent.stop()


def test_a_spool_over_its_limit_thins_steps_and_says_so(tmp_path: Path) -> None:
    steps = """
import json
for number in range(20_000):
    print(json.dumps({"event": "step", "payload": {"step_index": number, "noise": hash(str(number))}}))
    if number % 100 == 0:
        print(json.dumps({"event": "metric", "payload": {"name": "loss", "value": number, "step": number}}))
"""
    bench = Bench(tmp_path, steps, spool_limit_bytes=10_000)
    bench.agent.start()
    bench.sink.is_away = True
    bench.run()
    bench.scheduler.wait_for("succeeded")
    bench.sink.is_away = False
    bench.sink.wait_for(b'"attempt_ended"')

    events = [json.loads(line) for line in bench.sink.stream()]
    kinds = [event["event"] for event in events]
    resumed = events[kinds.index("telemetry_resumed")]["payload"]
    assert kinds.index("telemetry_starved") < kinds.index("telemetry_resumed")
    assert kinds.count("step") + resumed["dropped_steps"] == 20_000
    assert resumed["dropped_steps"] > 1000
    assert kinds.count("metric") == 200
    bench.agent.stop()
