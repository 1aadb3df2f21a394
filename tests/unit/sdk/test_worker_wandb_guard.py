"""W&B can be missing, broken or stuck, and the training never notices."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import BadInput
from mosaic.worker.wandb_guard import WandbGuard, WandbSettings, run_client

SETTINGS = WandbSettings(project="tests", tags=("a",), config={"algo": "ppo"})
HANGING = "import time; time.sleep(60)"
CRASHING = "import sys; sys.exit(3)"
RECORDING = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())"


class RecordingWandb:
    """Stands for the client library."""

    entity, project, id = None, "tests", "x1"

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault
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
    assert [{"run_path": "tests/x1"}] == said
    assert wandb.finished


def test_a_failing_client_says_why_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "s3cret")
    said: list[Any] = []

    run_client(client_lines(), RecordingWandb(ValueError("bad key s3cret")), said.append)

    assert [{"error": "ValueError: bad key ***"}] == said


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(BadInput, match="online, offline"):
        WandbSettings(project="p", mode="onlin")
