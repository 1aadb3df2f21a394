"""An agent and real child processes: everything a worker can do to the one that runs it."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from mosaic.agent.execution.attempt_store import AttemptHome
from mosaic.agent.telemetry.pipes import FLUSH_S
from mosaic.ids import RunId
from mosaic.model.attempt import AttemptDirective, Directive
from mosaic.model.resources import GpuShare
from mosaic.processes import living_processes
from tests.fakes.agent import Bench, a_launch, eventually, running

SAY = """
import json, os, signal, subprocess, sys, time
def say(event, **payload):
    print(json.dumps({"event": event, "payload": payload, "run_id": "r", "timestamp": 1.0}), flush=True)
"""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    yield from running(Bench(tmp_path))


def script(bench: Bench, body: str) -> None:
    bench.script.write_text(SAY + body)


def wish(bench: Bench, directive: Directive) -> None:
    """Want something of run-1, and dispatch so that the agent asks at once."""
    bench.scheduler.directives = [AttemptDirective(RunId("run-1"), 1, directive)]
    bench.listener.on_dispatch("run-1", 1)


def last_event(bench: Bench) -> dict[str, object]:
    bench.sink.wait_for(b'"event":"attempt_ended"')
    payload: dict[str, object] = json.loads(bench.sink.stream()[-1])["payload"]
    return payload


def everything_below(root: Path) -> bytes:
    """Return the content of every file that still exists when it is read."""
    found = bytearray()
    for folder, _, names in os.walk(root):
        for name in names:
            with suppress(FileNotFoundError):
                found += Path(folder, name).read_bytes()
    return bytes(found)


def test_a_run_is_executed_streamed_reported_and_forgotten(bench: Bench) -> None:
    script(bench, "say('run_started'); say('metric', name='loss', value=1, step=1); say('run_completed')")

    bench.run()
    report = bench.scheduler.wait_for("succeeded")

    assert bench.scheduler.facts() == ["started", "succeeded"]
    assert last_event(bench)["outcome"] == "succeeded"
    events = [json.loads(line)["event"] for line in bench.sink.stream()]
    assert events == ["attempt_started", "run_started", "metric", "run_completed", "artifact", "attempt_ended"]
    assert len(events) - 1 == report.last_seq
    eventually(lambda: not bench.remembered)


def test_the_worker_sees_its_config_its_directory_and_nothing_of_ours(bench: Bench) -> None:
    script(bench, "say('custom', config=json.load(open(sys.argv[2])), env=dict(os.environ), cwd=os.getcwd())")

    checkpoint = bench.root / "runs" / "run-1" / "checkpoints" / "3.npz"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    bench.run(
        config={"lr": 0.1},
        seed=7,
        gpus=(GpuShare("GPU-1"), GpuShare("GPU-2")),
        cpus=2.5,
        environment={"ASKED_FOR": "yes"},
        resume_from="checkpoints/3.npz",
    )
    bench.scheduler.wait_for("succeeded")

    bench.sink.wait_for(b'"custom"')
    seen = next(event["payload"] for line in bench.sink.stream() if (event := json.loads(line))["event"] == "custom")
    run_dir = str(bench.root / "runs" / "run-1")
    assert seen["config"] == {"lr": 0.1, "run_id": "run-1", "seed": 7}
    assert run_dir == seen["cwd"] == seen["env"]["MOSAIC_RUN_DIR"]
    assert seen["env"]["CUDA_VISIBLE_DEVICES"] == "GPU-1,GPU-2"
    assert seen["env"]["OMP_NUM_THREADS"] == "2"
    assert seen["env"]["ASKED_FOR"] == "yes"
    assert run_dir + "/checkpoints/3.npz" == seen["env"]["MOSAIC_RESUME_FROM"]
    assert "TOKEN_OF_OURS" not in seen["env"]


def test_a_run_begins_from_the_checkpoint_of_another_run(bench: Bench) -> None:
    script(bench, "say('custom', path=os.environ['MOSAIC_RESUME_FROM'])")
    checkpoint = bench.root / "runs" / "run-0" / "checkpoints" / "3.npz"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()

    bench.run(resume_from="../run-0/checkpoints/3.npz")
    bench.scheduler.wait_for("succeeded")
    last_event(bench)

    started, custom, *_ = [json.loads(line) for line in bench.sink.stream()]
    assert "../run-0/checkpoints/3.npz" == started["payload"]["resumed_from"]
    assert {"path": str(checkpoint)} == custom["payload"]


def test_a_run_does_not_begin_anew_when_the_checkpoint_of_the_run_it_continues_is_gone(bench: Bench) -> None:
    script(bench, "say('custom')")

    bench.run(resume_from="../run-0/checkpoints/3.npz")

    assert "run-0/checkpoints/3.npz" in bench.scheduler.wait_for("failed").reason


def test_an_attempt_begins_with_what_it_is_made_of(bench: Bench) -> None:
    script(bench, "say('run_completed')")

    bench.run()
    bench.scheduler.wait_for("succeeded")
    last_event(bench)

    started, *_ = [json.loads(line)["payload"] for line in bench.sink.stream()]
    assert {"packages": {"script": "1.0"}} == started["environment"]


def test_a_checkpoint_that_is_gone_does_not_end_the_run(bench: Bench) -> None:
    script(bench, "say('custom', resume='MOSAIC_RESUME_FROM' in os.environ)")

    bench.run(resume_from="checkpoints/3.npz")
    bench.scheduler.wait_for("succeeded")
    last_event(bench)

    started, told, custom, *_ = [json.loads(line) for line in bench.sink.stream()]
    assert started["payload"]["resumed_from"] is None
    assert ("log", "warning") == (told["event"], told["payload"]["level"])
    assert "there is no checkpoint checkpoints/3.npz" in told["payload"]["text"]
    assert custom["payload"] == {"resume": False}


def test_a_full_disk_at_the_start_keeps_no_attempt_from_its_end(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(AttemptHome, "save_process", refuse)
    monkeypatch.setattr(AttemptHome, "save_checkpoint", refuse)
    script(bench, "say('checkpoint_saved', checkpoint_path='checkpoints/1.npz'); say('run_completed')")

    bench.run()

    assert "checkpoints/1.npz" == bench.scheduler.wait_for("succeeded").checkpoint


def test_a_secret_reaches_the_worker_and_nobody_else(bench: Bench) -> None:
    script(
        bench,
        "\nfor file in (sys.stdout, sys.stderr):\n    print('key', os.environ['API_KEY'], file=file, flush=True)"
        "\nwhile not os.path.exists('enough'):\n    time.sleep(0.01)"
        "\nsys.exit(1)",
    )

    bench.run(secrets={"API_KEY": "swordfish-1234"})
    bench.sink.wait_for(b"key ***")
    on_disk_during = everything_below(bench.root)
    (bench.root / "runs" / "run-1" / "enough").touch()
    report = bench.scheduler.wait_for("failed")
    last_event(bench)
    eventually(lambda: not bench.remembered)

    assert report.reason == "exit code 1; its last words: key ***\nkey ***"
    assert not any(b"swordfish" in line for line in bench.sink.stream())
    assert b"run-1" in on_disk_during
    assert b"swordfish" not in on_disk_during
    assert b"swordfish" not in everything_below(bench.root)


@pytest.mark.parametrize(
    ("body", "kind", "reason"),
    [
        ("sys.exit(2)", "config_error", "exit code 2"),
        ("raise ValueError('no such env')", "crash", "ValueError: no such env"),
        ("say('run_failed', error='diverged')", "crash", "diverged"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crash", "SIGSEGV"),
        ("raise MemoryError()", "out_of_memory", "MemoryError"),
    ],
)
def test_a_failure_has_a_kind_and_a_reason(bench: Bench, body: str, kind: str, reason: str) -> None:
    script(bench, body)

    bench.run()
    report = bench.scheduler.wait_for("failed")

    assert kind == report.failure_kind
    assert reason in report.reason


def test_a_worker_that_cannot_be_started_is_an_infrastructure_failure(bench: Bench) -> None:
    bench.run(environment={"NUL": "in\0side"})

    report = bench.scheduler.wait_for("failed")

    assert report.failure_kind == "infrastructure"
    assert "could not be started" in report.reason
    eventually(lambda: not bench.remembered)


def test_a_cancelled_worker_gets_its_grace(bench: Bench) -> None:
    script(
        bench,
        """
def stop(*_):
    say('run_cancelled', reason='asked')
    sys.exit(143)
signal.signal(signal.SIGTERM, stop)
say('run_started')
time.sleep(60)
""",
    )
    bench.run(grace=timedelta(seconds=20))
    bench.scheduler.wait_for("started")

    wish(bench, Directive.CANCEL)
    report = bench.scheduler.wait_for("cancelled")

    assert report.exit_code == 143
    bench.sink.wait_for(b"run_cancelled")


def test_a_worker_that_ignores_sigterm_is_killed_after_its_grace(bench: Bench) -> None:
    script(bench, "signal.signal(signal.SIGTERM, signal.SIG_IGN); say('run_started'); time.sleep(60)")
    bench.run(grace=timedelta(seconds=0.2))
    bench.scheduler.wait_for("started")

    wish(bench, Directive.PREEMPT)
    report = bench.scheduler.wait_for("preempted")

    assert report.exit_code == -9


def test_nothing_of_a_worker_outlives_its_report(bench: Bench) -> None:
    """A grandchild that ignores SIGTERM, in the group, and one that left for a session of its own."""
    script(
        bench,
        """
stay = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
for leaves in (False, True):
    grandchild = subprocess.Popen([sys.executable, "-c", stay], start_new_session=leaves, stdout=subprocess.PIPE)
    grandchild.stdout.readline()
say('custom', mark=os.environ["MOSAIC_AGENT_MARK"])
say('run_completed')
""",
    )

    bench.run(grace=timedelta(seconds=0.3))
    bench.scheduler.wait_for("succeeded")

    bench.sink.wait_for(b'"mark"')
    mark = next(
        event["payload"]["mark"] for line in bench.sink.stream() if (event := json.loads(line))["event"] == "custom"
    )
    assert living_processes(mark) == []


def test_a_silent_worker_is_hung(bench: Bench) -> None:
    script(bench, "say('run_started'); time.sleep(60)")

    bench.run(hang_limit=timedelta(seconds=0.5), grace=timedelta(seconds=0.1))
    report = bench.scheduler.wait_for("failed")

    assert report.failure_kind == "hung"
    assert report.reason == "it said nothing but that it lives for 0.5 s"


def test_a_worker_that_talks_is_not_hung(bench: Bench) -> None:
    script(bench, "[(say('heartbeat'), time.sleep(0.2)) for _ in range(6)]")

    bench.run(hang_limit=timedelta(seconds=0.7))

    bench.scheduler.wait_for("succeeded")


def test_what_only_the_agent_says_cannot_be_said_by_a_worker(bench: Bench) -> None:
    script(bench, "say('attempt_ended', outcome='succeeded'); say('custom', text='attempt_ended'); sys.exit(1)")

    bench.run()
    bench.scheduler.wait_for("failed")
    last_event(bench)

    events = [json.loads(line) for line in bench.sink.stream()]
    kinds = [event["event"] for event in events]
    assert kinds == ["attempt_started", "protocol_violated", "custom", "artifact", "attempt_ended"]
    assert "only the agent says 'attempt_ended'" in events[1]["payload"]["reason"]
    assert "succeeded" in events[1]["payload"]["text"]


def test_a_worker_over_its_time_is_ended(bench: Bench) -> None:
    script(bench, "\nwhile True:\n    say('heartbeat'); time.sleep(0.05)")

    bench.run(max_wall=timedelta(seconds=0.5), grace=timedelta(seconds=0.1))
    report = bench.scheduler.wait_for("failed")

    assert report.failure_kind == "time_limit"


def test_a_paused_worker_stands_still_and_is_not_called_hung(bench: Bench) -> None:
    script(bench, "\nfor number in range(1000):\n    say('custom', number=number); time.sleep(0.02)")
    bench.run(hang_limit=timedelta(seconds=0.6), lease_for=timedelta(seconds=0.4))
    bench.scheduler.wait_for("started")

    wish(bench, Directive.PAUSE)
    bench.scheduler.wait_for("paused")
    time.sleep(2 * FLUSH_S)  # so long, what it said before may still be on its way
    heard = len(bench.sink.stream())
    time.sleep(2 * FLUSH_S)

    assert heard == len(bench.sink.stream())
    wish(bench, Directive.RESUME)
    bench.scheduler.wait_for("resumed")
    eventually(lambda: len(bench.sink.stream()) > heard)
    wish(bench, Directive.CANCEL)
    bench.scheduler.wait_for("cancelled")


def test_a_paused_worker_can_be_cancelled(bench: Bench) -> None:
    script(bench, "say('run_started'); time.sleep(60)")
    bench.run(grace=timedelta(seconds=20))
    bench.scheduler.wait_for("started")
    wish(bench, Directive.PAUSE)
    bench.scheduler.wait_for("paused")

    wish(bench, Directive.CANCEL)

    assert bench.scheduler.wait_for("cancelled").exit_code == -15


def test_an_abandoned_attempt_is_killed_without_a_word(bench: Bench) -> None:
    script(bench, "say('run_started'); time.sleep(60)")
    bench.run(grace=timedelta(seconds=60))
    bench.scheduler.wait_for("started")

    wish(bench, Directive.ABANDON)

    eventually(lambda: not bench.remembered)
    assert bench.scheduler.facts() == ["started"]


def test_a_newer_attempt_takes_the_place_of_the_older(bench: Bench) -> None:
    script(bench, "say('run_started', pid=os.getpid()); time.sleep(60 if os.environ['MOSAIC_ATTEMPT'] == '1' else 0)")
    bench.run()
    bench.scheduler.wait_for("started")

    bench.run(attempt=2)
    report = bench.scheduler.wait_for("succeeded")

    assert report.attempt == 2
    assert bench.scheduler.facts() == ["started", "started", "succeeded"]


def test_a_second_ring_does_not_start_it_twice(bench: Bench) -> None:
    script(bench, "say('run_started'); time.sleep(0.5)")

    bench.run()
    bench.listener.on_dispatch("run-1", 1)
    bench.scheduler.wait_for("started")
    bench.listener.on_dispatch("run-1", 1)
    bench.scheduler.wait_for("succeeded")

    assert bench.scheduler.facts() == ["started", "succeeded"]


def test_a_lost_ring_is_healed_by_the_next_renewal(bench: Bench) -> None:
    script(bench, "say('run_started'); time.sleep(0.5)")
    bench.run(lease_for=timedelta(seconds=0.4))
    bench.scheduler.wait_for("started")
    bench.scheduler.offer(a_launch(run_id=RunId("run-2")))

    bench.scheduler.directives = [AttemptDirective(RunId("run-2"), 1, Directive.CONTINUE)]

    bench.scheduler.wait_for("succeeded", "run-2")


def test_checkpoints_are_reported_relative_to_the_run_directory(bench: Bench) -> None:
    script(
        bench,
        """
path = os.path.join(os.environ["MOSAIC_CHECKPOINT_DIR"], "one.npz")
open(path, "w").write("state")
say('checkpoint_saved', checkpoint_path=path)
say('run_completed')
""",
    )

    bench.run()
    report = bench.scheduler.wait_for("succeeded")

    assert report.checkpoint == "checkpoints/one.npz"
    bench.sink.wait_for(b'"event":"attempt_ended"')
    found = [json.loads(line)["payload"] for line in bench.sink.stream() if b'"artifact"' in line]
    assert next((item["kind"], item["size_bytes"]) for item in found if item["path"] == "checkpoints/one.npz") == (
        "checkpoint",
        5,
    )


def test_a_progress_bar_is_a_few_lines_and_never_the_reason(bench: Bench) -> None:
    script(
        bench,
        """
for file in (sys.stderr, sys.stdout):
    for step in range(20_000):
        file.write(f"\\r{step / 200:3.0f}%|#####     | {step}/20000 [00:01<00:01, 9.9it/s]")
    file.flush()
os.kill(os.getpid(), signal.SIGKILL)
""",
    )

    bench.run()
    report = bench.scheduler.wait_for("failed")
    last_event(bench)

    bars = [line for line in bench.sink.stream() if b"it/s]" in line and b"attempt_ended" not in line]
    assert 2 == sum(b" 19999/20000" in line for line in bars)
    assert len(bars) <= 6
    assert max(map(len, bars)) < 300
    assert report.reason.startswith("ended by SIGKILL: ")


def test_long_lines_garbage_and_a_missing_newline_do_not_stop_the_drain(bench: Bench) -> None:
    script(
        bench,
        r"""
out = sys.stdout.buffer
out.write(b"x" * 10_000_000 + b"\n")
out.write(bytes(range(256)) * 100 + b"\n")
out.write(b"\n\n")
sys.stderr.buffer.write(b"\xff" * 3_000_000 + b"\nlast words")
out.write(b"no newline")
""",
    )

    bench.run()
    bench.scheduler.wait_for("succeeded")

    last_event(bench)
    lines = bench.sink.stream()
    assert b"no newline" in lines
    assert any(b"[clipped: 8951424 more bytes]" in line for line in lines)
    assert any(b'"text":"last words"' in line for line in lines)
    assert max(map(len, lines)) < 12 * 1024 * 1024


def test_a_flood_arrives_whole_and_in_order(bench: Bench) -> None:
    script(bench, "sys.stdout.write(''.join(f'line {number}\\n' for number in range(200_000)))")

    bench.run()
    bench.scheduler.wait_for("succeeded")

    last_event(bench)
    expected = [b"line %d" % number for number in range(200_000)]
    assert expected == [line for line in bench.sink.stream() if line.startswith(b"line")]


def test_a_stopping_agent_preempts_ships_and_leaves(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SAY + "say('run_started'); time.sleep(60)")
    bench.agent.start()
    bench.run()
    bench.scheduler.wait_for("started")

    bench.agent.stop()

    assert bench.scheduler.facts() == ["started", "preempted"]
    assert last_event(bench)["outcome"] == "preempted"
    assert bench.registry.has_left
    assert bench.remembered == []


def test_leases_are_renewed_while_an_attempt_runs(bench: Bench) -> None:
    script(bench, "say('run_started'); time.sleep(1)")

    bench.run(lease_for=timedelta(seconds=0.4))
    bench.scheduler.wait_for("succeeded")

    assert len(bench.scheduler.renewals) >= 4
    assert bench.scheduler.renewals[0][0].run_id == "run-1"


def test_a_worker_is_left_alone_while_the_scheduler_is_away(bench: Bench) -> None:
    script(bench, "say('run_started'); time.sleep(0.6); say('run_completed')")
    bench.run(lease_for=timedelta(seconds=0.2))
    bench.scheduler.wait_for("started")

    bench.scheduler.is_away = True
    time.sleep(0.8)
    bench.scheduler.is_away = False

    bench.scheduler.wait_for("succeeded")


def test_the_agent_introduces_itself_again_when_it_was_forgotten(bench: Bench) -> None:
    eventually(lambda: bench.registry.heartbeats)

    bench.registry.token = "another life"

    eventually(lambda: len(bench.registry.announcements) == 2)


def test_a_lonely_agent_opens_no_more_files_with_every_run(bench: Bench) -> None:
    script(bench, "say('run_completed')")

    def run(number: int) -> int:
        bench.run(run_id=f"run-{number}")
        bench.scheduler.wait_for("succeeded", f"run-{number}")
        eventually(lambda: not bench.remembered)
        return len(os.listdir("/proc/self/fd"))

    counts = [run(number) for number in range(5)]

    assert counts[1] == counts[-1]
