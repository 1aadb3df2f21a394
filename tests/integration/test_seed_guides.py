"""The workers of the two guides, typed in as a reader would, are discovered and run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mosaic.testing import Outcome, Report, check_worker

GUIDES = Path(__file__).parent / "seed_guides"

#: Where each worker of the guides is, and its entry point.
WORKERS = {
    "minimal_template": "myworker",
    "step_by_step": "myworker",
    "migrated/cleanrl": "cleanrl",
    "migrated/barlog": "barlog",
    "migrated/xuance": "xuance",
}

#: What a worker without a training loop cannot show; everything else must pass.
MAY_NOT_APPLY = {
    "heartbeat cadence",
    "failure path",
    "stop on SIGTERM",
    "same seed, same values",
    "another seed, other values",
    "resume",
    "bad input: negative steps",
}


def installed(project: str, scratch: Path) -> Mapping[str, str]:
    """Install a guide's project with pip and return the environment variables that make it visible."""
    source, site = scratch / "project", scratch / "site"
    shutil.copytree(GUIDES / project, source)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(site), str(source)], check=True)
    return {"PYTHONPATH": str(site)}


@pytest.fixture(scope="module")
def report_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Report]:
    made: dict[str, Report] = {}

    def report(project: str) -> Report:
        if project not in made:
            env = installed(project, tmp_path_factory.mktemp("guide"))
            made[project] = check_worker(WORKERS[project], env=env, timeout_s=60)
        return made[project]

    return report


@pytest.mark.parametrize("project", list(WORKERS))
def test_a_worker_of_the_guides_is_discovered(project: str, report_of: Callable[[str], Report]) -> None:
    report = report_of(project)

    assert WORKERS[project] == report.worker
    assert Outcome.PASSED is report.check("discovery").outcome


@pytest.mark.parametrize("project", list(WORKERS))
def test_a_worker_of_the_guides_runs_and_keeps_every_promise(project: str, report_of: Callable[[str], Report]) -> None:
    report = report_of(project)

    assert report.failures == ()
    open_questions = {check.name for check in report.checks if check.outcome is Outcome.NOT_APPLICABLE}
    assert open_questions <= MAY_NOT_APPLY


@pytest.mark.parametrize("project", list(WORKERS))
def test_the_report_says_that_a_driver_stood_in_for_main(project: str, report_of: Callable[[str], Report]) -> None:
    assert "generated driver" in " ".join(report_of(project).notes)


def test_the_runtime_of_the_step_by_step_guide_tells_its_own_story(tmp_path: Path) -> None:
    env = installed("step_by_step", tmp_path)
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"run_id": "guide", "seed": 7}))
    command = [sys.executable, "-m", "mosaic.worker.driver", "my_worker", "--config", str(config)]

    ran = subprocess.run(command, cwd=tmp_path, env=dict(env), capture_output=True, text=True, check=True)

    events = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [event["event"] for event in events] == ["run_started", "heartbeat", "run_completed"]
    assert events[-1]["payload"]["result"] == {"final_reward": 100.0, "episodes": 50}
    assert (tmp_path / "guide_analytics.json").is_file()
