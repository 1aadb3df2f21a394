"""W&B can be missing, broken or stuck, and the training never notices."""

from __future__ import annotations

import io
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mosaic.errors import BadInput
from mosaic.worker import TelemetryEmitter, wandb_guard
from mosaic.worker.wandb_guard import WandbGuard, WandbSettings, run_client

SETTINGS = WandbSettings(project="tests", tags=("a",), config={"algo": "ppo"})
HANGING = "import time; time.sleep(60)"
CRASHING = "import sys; sys.exit(3)"
RECORDING = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())"
#: Logs a row, waits for SIGTERM and finishes.
STOPPING_WORKER = """
import signal, sys, threading
from pathlib import Path
from mosaic.worker.wandb_guard import WandbGuard, WandbSettings
asked = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: asked.set())
command = (sys.executable, "-c", *sys.argv[2:])
guard = WandbGuard(WandbSettings("tests"), Path(sys.argv[1]), warn=print, command=command)
guard.log({"loss": 1.0}, 7)
print("logged", flush=True)
asked.wait()
guard.finish(is_stopping=asked.is_set)
"""
#: Says which process its client is, and waits to be killed.
KILLED_WORKER = """
import sys, threading
from pathlib import Path
from mosaic.worker.wandb_guard import WandbGuard, WandbSettings
command = (sys.executable, "-c", sys.argv[2])
guard = WandbGuard(WandbSettings("tests"), Path(sys.argv[1]), warn=print, command=command)
print(guard._client.pid, flush=True)
threading.Event().wait()
"""
#: The real client, stuck where it would import the library.
HANGING_CLIENT = """
import time
from mosaic.worker import TelemetryEmitter, wandb_guard
wandb_guard.ORPHAN_S = 0.2
wandb_guard.import_module = lambda name: time.sleep(60)
wandb_guard.main()
"""


class RecordingWandb:
    """Stands for the client library."""

    entity, project, id = None, "tests", "x1"

    def __init__(self, fault: Exception | None = None, url: str | None = None) -> None:
        self.fault = fault
        self.offline, self.url = url is None, url
        self.rows: list[tuple[dict[str, Any], int]] = []
        self.finished = False

    def Settings(self, **settings: Any) -> dict[str, Any]:
        return settings

    def init(self, **arguments: Any) -> RecordingWandb:
        self.arguments = arguments
        if self.fault:
            raise self.fault
        return self

    def log(self, values: dict[str, Any], step: int) -> None:
        self.rows.append((values, step))

    def finish(self) -> None:
        self.finished = True


def guard_with(script: str, directory: Path, *arguments: str, **options: Any) -> tuple[WandbGuard, list[str]]:
    warnings: list[str] = []
    command = (sys.executable, "-c", script, *arguments)
    return WandbGuard(SETTINGS, directory, warn=warnings.append, command=command, **options), warnings


def started(script: str, *arguments: str) -> subprocess.Popen[str]:
    command = (sys.executable, "-c", script, *arguments)
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


def client_lines(*rows: dict[str, Any]) -> list[str]:
    first = {"settings": {"project": "tests", "tags": ["a"]}, "directory": "d"}
    return [json.dumps(row) for row in (first, *rows)]


def test_rows_reach_the_client_in_order(tmp_path: Path) -> None:
    received = tmp_path / "received"
    guard, warnings = guard_with(RECORDING, tmp_path, str(received))

    guard.log({"loss": 1.5}, 10)
    guard.log({"loss": 0.5}, 20)
    guard.finish()

    first, *rows = [json.loads(line) for line in received.read_text().splitlines()]
    assert ("tests", "ppo") == (first["settings"]["project"], first["settings"]["config"]["algo"])
    assert [10, 20] == [row["step"] for row in rows]
    assert [] == warnings


def test_a_client_that_hangs_costs_the_training_nothing_and_is_ended(tmp_path: Path) -> None:
    guard, warnings = guard_with(HANGING, tmp_path, queue_rows=10)

    started = time.monotonic()
    for step in range(10_000):
        guard.log({"loss": 1.0}, step)
    logged_s = time.monotonic() - started
    guard.finish(timeout_s=0.2)

    assert logged_s < 2.0
    assert guard.dropped > 0
    assert any("did not finish in time" in sentence for sentence in warnings)


def test_a_run_that_stops_waits_less_for_its_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wandb_guard, "STOP_TIMEOUT_S", 0.2)
    guard, warnings = guard_with(HANGING, tmp_path)

    started = time.monotonic()
    guard.finish(is_stopping=lambda: True)

    assert time.monotonic() - started < 5.0
    assert any("did not finish in time" in sentence for sentence in warnings)


def test_a_signal_to_the_group_of_the_worker_leaves_the_client_to_send_the_rest(tmp_path: Path) -> None:
    received = tmp_path / "received"

    with started(STOPPING_WORKER, str(tmp_path), RECORDING, str(received)) as worker:
        assert worker.stdout is not None
        assert "logged\n" == worker.stdout.readline()
        os.killpg(worker.pid, signal.SIGTERM)

    assert 0 == worker.returncode
    assert 7 == json.loads(received.read_text().splitlines()[-1])["step"]


def test_a_client_that_hangs_ends_soon_after_its_worker_was_killed(tmp_path: Path) -> None:
    with started(KILLED_WORKER, str(tmp_path), HANGING_CLIENT) as worker:
        assert worker.stdout is not None
        client = os.pidfd_open(int(worker.stdout.readline()))
        worker.kill()

    try:
        assert select.select([client], [], [], 20.0)[0]
    finally:
        os.close(client)


def test_a_client_that_crashes_is_left_behind(tmp_path: Path) -> None:
    guard, _ = guard_with(CRASHING, tmp_path)

    for step in range(100):
        guard.log({"loss": 1.0}, step)
    guard.finish()

    assert not guard.is_alive


def test_a_client_that_cannot_start_is_a_warning(tmp_path: Path) -> None:
    warnings: list[str] = []

    guard = WandbGuard(SETTINGS, tmp_path, warn=warnings.append, command=("/no/such/python",))
    guard.log({"loss": 1.0}, 1)
    guard.finish()

    assert "cannot be started" in warnings[0]


def test_the_client_logs_rows_and_says_where() -> None:
    wandb, said = RecordingWandb(), []

    run_client(client_lines({"step": 5, "values": {"loss": 1.0}}), wandb, said.append)

    assert [({"loss": 1.0, "global_step": 5}, 5)] == wandb.rows
    assert "tests/x1" == said[0]["run"]["run_path"]
    assert wandb.finished


@pytest.mark.parametrize("url", [None, "https://wandb.example/tests/runs/x1"], ids=["offline", "online"])
def test_the_client_tells_the_address_of_the_run_only_where_there_is_one(url: str | None) -> None:
    said: list[Any] = []

    run_client(client_lines(), RecordingWandb(url=url), said.append)

    assert [{"project": "tests", "entity": None, "run_id": "x1", "run_path": "tests/x1", "url": url}] == [
        one["run"] for one in said
    ]


def test_what_the_client_told_is_there_for_the_summary_after_the_end(tmp_path: Path) -> None:
    facts = {"project": "tests", "entity": "me", "run_id": "x1", "run_path": "me/tests/x1", "url": None}
    guard, _ = guard_with(f"import sys; print({json.dumps({'run': facts})!r}); sys.stdin.read()", tmp_path)

    guard.finish()

    assert {**facts, "mode": "offline"} == guard.told()


def test_a_client_that_never_began_a_run_leaves_nothing_to_tell(tmp_path: Path) -> None:
    guard, _ = guard_with(CRASHING, tmp_path)

    guard.finish()

    assert guard.told() is None


def test_a_row_that_is_older_than_the_newest_is_not_lost() -> None:
    """W&B drops it; an evaluation of the last checkpoint may be told after later points of the training."""
    wandb = RecordingWandb()
    rows = ({"step": 9, "values": {"loss": 1.0}}, {"step": 5, "values": {"eval/mean_return": 2.0}})

    run_client(client_lines(*rows), wandb, lambda _answer: None)

    assert ({"eval/mean_return": 2.0, "global_step": 5}, 9) == wandb.rows[-1]


def test_a_run_that_is_not_tracked_has_no_client(tmp_path: Path) -> None:
    said = io.StringIO()
    config = SimpleNamespace(track_wandb=False)

    guard = WandbGuard.of_run(config, TelemetryEmitter("r", sink=said), tmp_path)
    guard.log({"loss": 1.0}, 1)
    guard.finish()

    assert (False, None, "") == (guard.is_alive, guard.told(), said.getvalue())
    assert [] == list(tmp_path.iterdir())


def a_tracked_config(mode: str) -> Any:
    names = ("entity", "run_name", "group")
    settings = {f"wandb_{name}": None for name in names} | {"wandb_project": "tests", "wandb_mode": mode}
    return SimpleNamespace(run_id="r", track_wandb=True, notes="", wandb_tags=[], to_dict=dict, **settings)


@pytest.fixture
def no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home in which nobody has logged in."""
    for name in ("WANDB_API_KEY", "WANDB_BASE_URL", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_curves_that_cannot_be_sent_for_want_of_a_key_are_refused_before_the_run(no_key: Path) -> None:
    with pytest.raises(BadInput, match=r"--secret WANDB_API_KEY=NAME.* or set wandb_mode=offline"):
        WandbGuard.of_run(a_tracked_config("online"), TelemetryEmitter("r", sink=io.StringIO()), no_key)


def test_files_for_later_need_no_key(no_key: Path) -> None:
    guard = WandbGuard.of_run(a_tracked_config("offline"), TelemetryEmitter("r", sink=io.StringIO()), no_key)
    guard.finish()

    assert (no_key / "wandb").is_dir()


@pytest.mark.parametrize(
    ("variables", "logged_in_at", "found"),
    [
        ({"WANDB_API_KEY": "k"}, None, True),
        ({"WANDB_API_KEY": ""}, None, False),
        ({}, "api.wandb.ai", True),
        ({}, "github.com", False),
        ({"WANDB_BASE_URL": "https://wandb.example.org/x"}, "wandb.example.org", True),
        ({"WANDB_BASE_URL": "https://wandb.example.org/x"}, "api.wandb.ai", False),
    ],
)
def test_a_key_is_where_the_client_looks_for_it(
    no_key: Path, variables: dict[str, str], logged_in_at: str | None, found: bool
) -> None:
    if logged_in_at:
        (no_key / ".netrc").write_text(f"machine {logged_in_at}\n  login user\n  password k\n")
        (no_key / ".netrc").chmod(0o600)

    assert found is wandb_guard.has_key({"HOME": str(no_key), **variables})


def test_a_failing_client_says_why_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "s3cret")
    said: list[Any] = []

    run_client(client_lines(), RecordingWandb(ValueError("bad key s3cret")), said.append)

    assert [{"error": "ValueError: bad key ***"}] == said


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(BadInput, match="online, offline"):
        WandbSettings(project="p", mode="onlin")
