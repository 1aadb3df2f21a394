"""What leaves a process, and when: each of these needs a process of its own to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from typing import Any

import pytest

BEGINNING = """
import os, signal, sys, threading, time
from mosaic.worker import TelemetryEmitter
emitter = TelemetryEmitter("R1")
for step in range(100):
    emitter.metric("loss", step * 0.5, step)
"""


def run(script: str, before: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    source = before + BEGINNING + textwrap.dedent(script)
    return subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=30, **options)


def steps(output: str) -> list[int]:
    lines = [json.loads(line) for line in output.splitlines()]
    return [line["payload"]["step"] for line in lines if line["event"] == "metric"]


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("raise RuntimeError('boom')", 1),
        ("emitter.flush(); os._exit(4)", 4),
        ("emitter.flush(); os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
    ],
    ids=["end", "sys.exit", "exception", "flush and _exit", "flush and SIGTERM"],
)
def test_no_metric_is_lost_when_the_process_ends(ending: str, code: int) -> None:
    ended = run(ending)

    assert code == ended.returncode
    assert list(range(100)) == steps(ended.stdout)


def test_a_metric_that_no_line_follows_leaves_all_the_same() -> None:
    source = BEGINNING + "threading.Event().wait()"
    worker = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None

    try:
        seen = [worker.stdout.readline() for _ in range(100)]
    finally:
        worker.kill()
        worker.wait()
        worker.stdout.close()

    assert list(range(100)) == steps("".join(seen))


def test_a_lifecycle_line_comes_after_the_metrics_before_it_and_at_once() -> None:
    ended = run("emitter.run_completed({}); os._exit(0)")

    assert list(range(100)) == steps(ended.stdout)
    assert json.loads(ended.stdout.splitlines()[-1])["event"] == "run_completed"


def test_two_emitters_of_one_process_keep_their_order() -> None:
    ended = run("TelemetryEmitter('R1').run_completed({}); os._exit(0)")

    assert json.loads(ended.stdout.splitlines()[-1])["event"] == "run_completed"
    assert len(ended.stdout.splitlines()) == 101


def test_a_forked_child_repeats_nothing_and_loses_nothing() -> None:
    ended = run("""
        child = os.fork()
        if child == 0:
            emitter.metric("loss", 1.0, 1000)
            os._exit(0)
        os.waitpid(child, 0)
        emitter.metric("loss", 1.0, 2000)
    """)

    assert [*range(100), 1000, 2000] == steps(ended.stdout)


def test_threads_that_fork_at_the_same_time_do_not_silence_each_other() -> None:
    ended = run("""
        import warnings
        warnings.simplefilter("ignore")

        def fork(times):
            for _ in range(times):
                child = os.fork()
                if child == 0:
                    os._exit(0)
                os.waitpid(child, 0)

        threads = [threading.Thread(target=fork, args=(100,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        emitter.metric("loss", 1.0, 100)
    """)

    assert list(range(101)) == steps(ended.stdout)


def test_a_process_that_may_start_no_thread_writes_at_once() -> None:
    refusal = """
import threading
def refuse(thread):
    raise RuntimeError("can't start new thread")
threading.Thread.start = refuse
"""

    ended = run("os._exit(7)", before=refusal)

    assert (7, "") == (ended.returncode, ended.stderr)
    assert list(range(100)) == steps(ended.stdout)


def test_lines_of_several_processes_and_threads_do_not_mix() -> None:
    ended = run("""
        for _ in range(3):
            if os.fork() == 0:
                for step in range(500):
                    emitter.metric("loss", step * 0.1, step)
                    emitter.step(0, step, 1.0, observation=[0.5] * 20)
                os._exit(0)
        def work():
            for step in range(500):
                emitter.metric("loss", step * 0.1, step)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        for _ in range(3): os.wait()
    """)

    assert len(steps(ended.stdout)) == 100 + 6 * 500


def test_a_signal_handler_may_emit_while_the_main_thread_does() -> None:
    ended = run("""
        signal.signal(signal.SIGALRM, lambda number, frame: emitter.heartbeat())
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        for step in range(100, 5000):
            emitter.metric("loss", 1.0, step)
        signal.setitimer(signal.ITIMER_REAL, 0)
    """)

    assert list(range(5000)) == steps(ended.stdout)


def test_a_reader_that_has_gone_does_not_end_the_run() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    script = BEGINNING + textwrap.dedent("""
        print("a library prints", flush=True)
        emitter.run_completed({})
        sys.stderr.write(f"lost {emitter._writer.lost}")
    """).replace("print(", "emitter.flush(); print(")

    ended = subprocess.run(
        [sys.executable, "-c", script], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=30
    )
    os.close(writing)

    assert ended.returncode == 0
    assert ended.stderr.count("nobody reads the telemetry any more") == 1
    assert ended.stderr.endswith("lost 101")
    assert "Traceback" not in ended.stderr


def test_what_a_library_prints_is_in_order_and_on_its_own_line() -> None:
    ended = run("""
        emitter.flush()
        print("library")
        emitter.heartbeat()
    """)

    assert ended.stdout.splitlines()[100] == "library"
    assert json.loads(ended.stdout.splitlines()[101])["event"] == "heartbeat"


def test_a_metric_put_a_while_after_the_last_line_leaves_at_once() -> None:
    ended = run("time.sleep(0.3); emitter.metric('loss', 0.5, 100); os._exit(6)")

    assert list(range(101)) == steps(ended.stdout)
