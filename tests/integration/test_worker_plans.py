"""A dry run of a submit also shows what the worker itself would execute, if it can be asked on this machine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.plan import RUN_DIRECTORY, plan_of
from mosaic.client import Resources, RunSpec
from mosaic.errors import BadInput, WorkerBroken
from tests.stack.environment import install_drill, install_sources

#: Answers a dry run in the mood that its config says.
_PLANNER = """
import os, sys, time
from dataclasses import asdict, dataclass
from mosaic.errors import BadInput
from mosaic.worker import WorkerCapabilities, WorkerMetadata, run_worker

@dataclass
class PlannerConfig:
    run_id: str
    seed: int | None = None
    mood: str = "well"

    def to_dict(self):
        return asdict(self)

    @classmethod
    def from_dict(cls, data):
        return cls(**data)

class PlannerRuntime:
    def __init__(self, config, emitter, *, dry_run=False):
        self.config, self.emitter = config, emitter

    def run(self):
        if self.config.mood == "refuse":
            raise BadInput("mood", ["cannot be trained with"])
        if self.config.mood == "crash":
            raise RuntimeError("no such library")
        if self.config.mood == "hang":
            time.sleep(600)
        told = {name: os.environ[name] for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "MOSAIC_RUN_DIR")}
        self.emitter.log(f"would run: train --seed {self.config.seed} --dir {told['MOSAIC_RUN_DIR']}")
        return {"status": "completed", **told}

def get_worker_metadata():
    return WorkerMetadata(*["planner"] * 8), WorkerCapabilities("planner", cpu_cores=3)

if __name__ == "__main__":
    sys.exit(run_worker(PlannerConfig, PlannerRuntime))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state directory with two workers installed."""
    sources = tmp_path_factory.mktemp("sources")
    package = sources / "planner_worker"
    package.mkdir()
    (package / "__init__.py").write_text(_PLANNER)
    (package / "__main__.py").write_text(_PLANNER)
    home = tmp_path_factory.mktemp("home")
    install_sources("planner", sources, home)
    install_drill(home)
    return home


def asked(worker: str = "planner", **fields: Any) -> RunSpec:
    return RunSpec(worker, **fields)


def test_a_worker_that_is_installed_says_what_it_would_execute(home: Path) -> None:
    plan = plan_of(asked(seed=7), home)

    assert plan is not None
    assert (f"would run: train --seed 7 --dir {RUN_DIRECTORY}",) == plan.says
    assert ("3", "", RUN_DIRECTORY) == tuple(
        plan.summary[name] for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "MOSAIC_RUN_DIR")
    )


def test_it_plans_for_what_the_run_would_be_given(home: Path) -> None:
    plan = plan_of(asked(resources=Resources(cpus=2, gpus=1)), home)

    assert plan is not None
    assert ("2", "0") == (plan.summary["OMP_NUM_THREADS"], plan.summary["CUDA_VISIBLE_DEVICES"])


def test_a_worker_that_is_not_here_is_not_asked(home: Path) -> None:
    assert plan_of(asked("elsewhere"), home) is None


def test_a_config_that_the_worker_refuses_is_bad_input_in_its_words(home: Path) -> None:
    with pytest.raises(BadInput, match="planner refuses such a run: mood: cannot be trained with"):
        plan_of(asked(config={"mood": "refuse"}), home)


def test_a_config_that_cannot_be_read_names_no_file_of_ours(home: Path) -> None:
    with pytest.raises(BadInput, match=f"{RUN_DIRECTORY}.*moood.*did you mean 'mood'"):
        plan_of(asked(config={"moood": "well"}), home)


def test_a_worker_that_fails_is_broken_and_says_why(home: Path) -> None:
    with pytest.raises(WorkerBroken, match="its dry run ended with exit code 1: no such library"):
        plan_of(asked(config={"mood": "crash"}), home)


def test_a_dry_run_that_does_not_end_is_ended(home: Path) -> None:
    began = time.monotonic()

    with pytest.raises(WorkerBroken, match="did not end within 2 s"):
        plan_of(asked(config={"mood": "hang"}), home, patience_s=2.0)

    assert time.monotonic() - began < 30.0


def test_a_worker_that_trains_instead_is_ended_and_has_no_plan(home: Path) -> None:
    plan = plan_of(asked("drill", config={"episodes": 100_000, "pause_ms": 50}), home)

    assert plan is not None
    assert ("it has no dry run, so what it would execute is not known",) == plan.says
