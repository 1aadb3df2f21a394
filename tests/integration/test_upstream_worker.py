"""A worker built as upstream's own are, which has never heard of us, is found, checked and run unchanged."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mosaic.agent.control.profile import WorkerProfile
from mosaic.events import Episode, Step, read_line
from mosaic.ids import WorkerName
from mosaic.model.fleet import Worker
from mosaic.testing import Outcome, Report, check_worker
from tests.fakes.agent import Bench, running

PROJECT = Path(__file__).parent / "upstream_shape"
#: Beside the package, what an installer would leave there.
ENTRY_POINT = "[mosaic.workers]\ntalker = talker_worker:get_worker_metadata\n"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What makes the worker visible to another Python."""
    site = tmp_path_factory.mktemp("site")
    described = site / "mosaic_talker_worker-0.1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: mosaic-talker-worker\nVersion: 0.1.0\n")
    (described / "entry_points.txt").write_text(ENTRY_POINT)
    return {"PYTHONPATH": f"{site}:{PROJECT}"}


@pytest.fixture(scope="module")
def report(environment: Mapping[str, str]) -> Report:
    return check_worker("talker", env=environment, timeout_s=60)


@pytest.mark.parametrize(
    "name",
    [
        *("discovery", "metadata", "capabilities", "config round trip", "direct config"),
        *("lifecycle order", "stdout hygiene", "manifest", "same seed, same values", "another seed, other values"),
    ],
)
def test_it_keeps_the_promises_that_upstream_makes(name: str, report: Report) -> None:
    check = report.check(name)

    assert Outcome.PASSED is check.outcome, check.sentence


def test_what_it_does_not_know_is_told_and_is_all_that_fails(report: Report) -> None:
    assert ("python", "-m", "talker_worker.cli") == report.launch
    assert Outcome.NOT_APPLICABLE is report.check("dry run").outcome
    beyond_upstream = {"nested config", "heartbeat cadence", "failure path", *(f"bad input: {kind}" for kind in STRICT)}
    assert {check.name for check in report.failures} <= beyond_upstream


#: What upstream's workers answer with exit code 1, or do not notice at all.
STRICT = ("missing file", "not JSON", "wrong type", "unknown field", "wrong nesting", "empty run_id", "negative steps")


@pytest.fixture
def bench(tmp_path: Path, environment: Mapping[str, str]) -> Iterator[Bench]:
    worker = WorkerProfile(
        Worker(WorkerName("script"), "0.1.0", versions={"talker": "0.1.0"}, launch=("-m", "talker_worker.cli")),
        sys.executable,
    )
    yield from running(
        Bench(tmp_path, worker=worker, environment={"MOSAIC_WORKER_ENV_PYTHONPATH": environment["PYTHONPATH"]})
    )


def test_an_agent_runs_it_and_hears_every_step_and_episode(bench: Bench) -> None:
    config: dict[str, Any] = {"num_episodes": 3, "max_steps": 4}

    bench.run(config=config, seed=7, environment={"MOSAIC_VAR_ROOT": str(bench.root)})
    bench.scheduler.wait_for("succeeded")
    bench.sink.wait_for(b'"attempt_ended"')

    heard = [read_line(line, run_id="run-1") for line in bench.sink.stream()]
    kinds = [getattr(reading, "event", "") for reading in heard]
    assert (1, 1) == (kinds.count("run_started"), kinds.count("run_completed"))
    steps = [(event.payload.episode_index, event.payload.step_index) for event in heard if isinstance(event, Step)]
    assert [(episode, step) for episode in range(3) for step in range(4)] == steps
    episodes = [(event.payload.episode_index, event.payload.steps) for event in heard if isinstance(event, Episode)]
    assert [(0, 4), (1, 4), (2, 4)] == episodes
