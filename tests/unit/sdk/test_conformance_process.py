from __future__ import annotations

import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from mosaic.worker.trial.inspection import round_trip_faults
from mosaic.worker.trial.process import Finished, WorkerProcess

LEAVE_BEHIND = """
import subprocess, sys
print("left", subprocess.Popen(["sleep", "600"], start_new_session={detached}).pid, flush=True)
"""


def ended(script: str, tmp_path: Path, timeout_s: float = 30) -> Finished:
    with WorkerProcess([sys.executable, "-c", script], tmp_path / "run", os.environ) as process:
        return process.finish(timeout_s)


def is_alive(pid: int) -> bool:
    """Tell whether *pid* still does anything; the dead and unburied do not."""
    try:
        return "Z" != Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("detached", [True, False], ids=["in a session of its own", "in the worker's"])
def test_a_process_that_outlives_its_worker_is_named_and_ended_at_once(detached: bool, tmp_path: Path) -> None:
    started = time.monotonic()

    run = ended(LEAVE_BEHIND.format(detached=detached), tmp_path)

    left = int(run.stdout.lines[0].text.split()[1])
    assert (left,) == run.survivors
    assert not is_alive(left)
    assert time.monotonic() - started < 20


def test_somebody_who_cannot_be_found_does_not_keep_the_check_waiting(tmp_path: Path) -> None:
    script = """
import subprocess
subprocess.Popen(["sleep", "20"], start_new_session=True, env={})
print("done")
"""
    started = time.monotonic()

    run = ended(script, tmp_path)

    assert ["done"] == [line.text for line in run.stdout.lines]
    assert time.monotonic() - started < 15


def test_lines_are_read_whole_and_an_open_one_is_told(tmp_path: Path) -> None:
    run = ended("import sys; sys.stdout.write('one\\r\\ntwo\\n\\nrest'); sys.stderr.write('oh\\n')", tmp_path)

    read = [(line.text, line.is_complete) for line in run.stdout.lines]
    assert [("one", True), ("two", True), ("", True), ("rest", False)] == read
    assert ("oh\n", 0, ()) == (run.stderr, run.exit_code, run.survivors)


def test_a_worker_that_does_not_end_is_killed_with_all_it_started(tmp_path: Path) -> None:
    run = ended(LEAVE_BEHIND.format(detached=True) + "import time; time.sleep(600)", tmp_path, timeout_s=1)

    assert run.was_killed
    left = int(run.stdout.lines[0].text.split()[1])
    assert not is_alive(left)


def test_a_tuple_comes_back_from_json_as_what_it_was() -> None:
    @dataclass
    class Config:
        run_id: str
        layers: tuple[int, ...] = (64, 64)
        seed: int | None = None

        def to_dict(self) -> dict[str, Any]:
            return asdict(self)

        @classmethod
        def from_dict(cls, data: dict[str, Any]) -> Config:
            return cls(**{**data, "layers": tuple(data["layers"])})

    assert [] == round_trip_faults(Config, {"run_id": "R1", "layers": (32, 32), "seed": 1})
    assert [] == round_trip_faults(Config, {"run_id": "R1", "layers": [32, 32], "seed": 1})
