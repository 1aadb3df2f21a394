"""All libraries at once on one machine, each in its own environment, under one scheduler."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from mosaic.client import Mosaic, Resources
from mosaic.lifecycle import RunState
from tests.stack.embedded import Machine
from tests.stack.runs import wait_for_end, wait_for_manifest, wait_for_state
from tests.stack.waiting import until
from tests.workers.conftest import InstalledWorker
from tests.workers.linked import machine_with

pytestmark = pytest.mark.slow

#: Settings with which each library plays for long, saves often, and learns in the process of the run.
CONFIGS: Mapping[str, dict[str, Any]] = {
    "cleanrl": {"checkpoint_every": 1_000},
    "xuance": {"checkpoint_every": 1_000},
    "sb3": {"checkpoint_every": 1_000, "algo_params": {"n_steps": 256}},
    "rllib": {"checkpoint_every": 1_000, "num_env_runners": 0, "algo_params": {"train_batch_size_per_learner": 500}},
}
#: Four of these fit on two cores; each is still one core for the libraries' threads.
SHARE = Resources(cpus=0.5)
#: Ray alone takes ten seconds to start on a quiet machine.
PATIENCE_S = 180.0

#: Says at the very end how many threads torch has used, also where a library leaves without goodbye.
_TELL_THREADS = """
import atexit
import os
import sys

leave = os._exit


@atexit.register
def tell():
    if "torch" in sys.modules:
        print(f"torch had {sys.modules['torch'].get_num_threads()} threads", file=sys.stderr, flush=True)


def tell_and_leave(code):
    tell()
    leave(code)


os._exit = tell_and_leave
"""


@pytest.fixture(scope="module")
def machine(
    installed_worker: Callable[[str], InstalledWorker], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    """A machine with all libraries, on which the platform is up."""
    telling = tmp_path_factory.mktemp("telling")
    (telling / "sitecustomize.py").write_text(_TELL_THREADS)
    workers = [installed_worker(name) for name in CONFIGS]
    machine = machine_with(workers, tmp_path_factory.mktemp("together"), visible=telling)
    machine.up()
    yield machine
    machine.platform.stop()


@pytest.fixture(scope="module")
def runs(machine: Machine) -> dict[str, str]:
    """The id of one run of each library; all are playing at the same time."""
    with machine.connect() as mosaic:
        started = {name: _submit(mosaic, name) for name in CONFIGS}
        for run_id in started.values():
            _wait_for_episodes(mosaic, run_id, attempt=1)
        assert [RunState.RUNNING] * len(CONFIGS) == [mosaic.run(run_id).run.state for run_id in started.values()]
    return started


def _submit(mosaic: Mosaic, name: str) -> str:
    config = {"algo": "ppo", "env_id": "CartPole-v1", "total_steps": 10_000_000, **CONFIGS[name]}
    (run,) = mosaic.submit(name, config, seed=1, resources=SHARE)
    return run.run_id


def test_curves_of_all_libraries_share_one_picture(machine: Machine, runs: dict[str, str]) -> None:
    drawn = machine.type("metrics", *runs.values())
    told = machine.type("metrics", *runs.values(), "--json", "--name", "episode_return")

    assert 0 == drawn.exit_code, drawn.errors
    assert all(run_id[-8:] in drawn.output for run_id in runs.values())
    assert {"env_steps"} == {curves["episode_return"][2] for curves in told.document.values()}


def test_all_libraries_call_what_ppo_measures_by_the_same_names(machine: Machine, runs: dict[str, str]) -> None:
    common = {"loss/policy", "loss/value", "entropy", "learning_rate", "episode_return_mean", "steps_per_s"}
    some = {"loss/total", "approx_kl", "clip_fraction", "explained_variance", "episode_return", "episode_length"}
    with machine.connect() as mosaic:
        until(
            lambda: all(common <= _metrics(mosaic, run_id) for run_id in runs.values()),
            what="the losses of all",
            seconds=PATIENCE_S,
        )
        told = {name: _metrics(mosaic, run_id) for name, run_id in runs.items()}

    others = {name: {one for one in told[name] - common - some if not one.startswith(f"{name}/")} for name in told}
    assert {name: set() for name in told} == others


def test_runs_of_a_killed_platform_go_on_from_their_checkpoints(machine: Machine, runs: dict[str, str]) -> None:
    with machine.connect() as mosaic:
        for run_id in runs.values():
            _wait_for_checkpoint(mosaic, run_id)

    machine.platform.kill()
    machine.up()

    with machine.connect() as mosaic:
        for run_id in runs.values():
            _wait_for_episodes(mosaic, run_id, attempt=2)
            first, second = mosaic.run(run_id).attempts
            assert "agent restarted" in first.reason
            assert second.resumed_from.startswith("checkpoints/")


def test_every_library_stops_within_the_grace_and_was_as_wide_as_its_lease(
    machine: Machine, runs: dict[str, str]
) -> None:
    with machine.connect() as mosaic:
        for run_id in runs.values():
            wait_for_state(mosaic, run_id, RunState.RUNNING)
            mosaic.cancel(run_id)
        states = {name: wait_for_end(mosaic, run_id).run.state for name, run_id in runs.items()}
        threads = {name: _threads(mosaic, run_id) for name, run_id in runs.items()}

    assert dict.fromkeys(CONFIGS, RunState.CANCELLED) == states
    assert {name: {"1"} for name in CONFIGS} == threads


def test_every_library_had_its_own_versions(machine: Machine, runs: dict[str, str]) -> None:
    with machine.connect() as mosaic:
        versions = {name: wait_for_manifest(mosaic, run_id).content["versions"] for name, run_id in runs.items()}

    assert len(CONFIGS) == len({told["gymnasium"] for told in versions.values()})


def _wait_for_episodes(mosaic: Mosaic, run_id: str, *, attempt: int) -> None:
    until(lambda: len(mosaic.episodes(run_id, attempt=attempt)) >= 5, what="episodes", seconds=PATIENCE_S)


def _wait_for_checkpoint(mosaic: Mosaic, run_id: str) -> None:
    until(
        lambda: list(mosaic.events(run_id, kinds=["checkpoint_saved"], limit=1)),
        what=f"a checkpoint of {run_id}",
        seconds=PATIENCE_S,
    )


def _metrics(mosaic: Mosaic, run_id: str) -> set[str]:
    return {series.name for series in mosaic.series(run_id)}


def _threads(mosaic: Mosaic, run_id: str) -> set[str]:
    text = "\n".join(line.text for line in mosaic.logs(run_id, follow=True))
    return set(re.findall(r"torch had (\d+) threads", text))
