"""The reference worker as the fleet starts it, and whether it learns."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib
from mosaic_reference.config import ReferenceConfig
from mosaic_reference.runtime import ReferenceRuntime

from mosaic.testing.conformance import check_worker
from mosaic.testing.recording import RecordingEmitter

PROJECT = Path(__file__).parents[2] / "worker-images" / "reference"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The project on the path with the entry point that its installation would write."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    described = tmp_path / "site" / f"mosaic_reference-{project['version']}.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    (entry,) = project["entry-points"]["mosaic.workers"].items()
    (described / "entry_points.txt").write_text(f"[mosaic.workers]\n{entry[0]} = {entry[1]}\n")
    return {**os.environ, "PYTHONPATH": f"{described.parent}{os.pathsep}{PROJECT}"}


def start(tmp_path: Path, environment: dict[str, str], fault: str) -> subprocess.Popen[bytes]:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"run_id": "r1", "total_steps": 10_000_000}))
    return subprocess.Popen(
        [sys.executable, "-m", "mosaic_reference", "--config", str(config)],
        env={
            **environment,
            "MOSAIC_RUN_DIR": str(tmp_path),
            "MOSAIC_HEARTBEAT_S": "0.2",
            "MOSAIC_REFERENCE_FAULT": fault,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
def test_it_keeps_every_promise_of_the_contract_and_resumes_exactly(environment: dict[str, str]) -> None:
    report = check_worker("reference", env=environment)

    assert [] == [check for check in report.checks if check.outcome.value != "passed"]
    assert any("grade A" in check.sentence for check in report.checks)


@pytest.mark.slow
def test_with_its_defaults_it_learns_to_balance_the_pole(tmp_path: Path) -> None:
    config = ReferenceConfig("r1", total_steps=40_000, eval_episodes=0)
    runtime = ReferenceRuntime(config, RecordingEmitter("r1"), environment={"MOSAIC_RUN_DIR": str(tmp_path)})

    summary = runtime.run()

    assert summary["metrics"]["episode_return_mean"] >= 150


@pytest.mark.parametrize(("fault", "status"), [("crash@50", 1), ("exit@50", 3), ("kill@50", -signal.SIGKILL)])
def test_a_fault_on_demand_ends_the_process_as_asked(
    tmp_path: Path, environment: dict[str, str], fault: str, status: int
) -> None:
    with start(tmp_path, environment, fault) as process:
        process.communicate(timeout=60)

    assert status == process.returncode


def test_a_hang_on_demand_is_silent_and_deaf(tmp_path: Path, environment: dict[str, str]) -> None:
    """Heartbeats are asked for five times a second, so a second without a line is silence."""
    with start(tmp_path, environment, "hang@50") as process:
        assert process.stdout is not None
        assert b"run_started" in process.stdout.readline()
        while select.select([process.stdout], [], [], 1.0)[0]:
            os.read(process.stdout.fileno(), 65536)
        process.send_signal(signal.SIGTERM)

        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1)

        process.kill()
