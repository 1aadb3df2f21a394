"""Training speed and start-up of the library workers against the bare libraries, taken in turns.

What is compared is what the worker's own ``--dry-run`` says it would execute, with the same seed. Speed is counted
between the first and the last episode of a training; start-up is the time from the wish to the first episode, which
under the agent begins with the submit call, and is taken from many trainings of a moment's length. Each training under
the agent is compared with the bare ones before and after it, and the median counts. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from bench.learning import install_current
from bench.platforms import running_platform
from mosaic.agent.environments import find_environment
from mosaic.client import Mosaic, Submission
from mosaic.hosting.settings import home_directory
from mosaic.lifecycle import RunState

SEED = 1
#: Steps that take a third of a minute or so; none of the workers saves a checkpoint midway.
STEPS = {"cleanrl": 40_000, "xuance": 48_000, "rllib": 12_000}
#: Enough for a few episodes.
FEW_STEPS = 1_000
#: What the agent would set for a lease of one core.
SURROUNDINGS = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONUNBUFFERED": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "SDL_VIDEODRIVER": "dummy",
}
#: How a bare library says that an episode has ended, and at which step.
_EPISODE = re.compile(r"(?:episode |global_step=)(\d+)")


@dataclass(frozen=True)
class Training:
    """One training as seen from outside."""

    startup_s: float
    steps_per_s: float


@dataclass
class Comparison:
    """The trainings of one library: a bare one, then by turns one under the agent and a bare one."""

    bare: list[Training] = field(default_factory=list)
    under: list[Training] = field(default_factory=list)

    @property
    def speed_ratio(self) -> float:
        """Speed under the agent as a part of that of its bare neighbours."""
        neighbours = pairwise(one.steps_per_s for one in self.bare)
        return median(
            2 * one.steps_per_s / (before + after) for one, (before, after) in zip(self.under, neighbours, strict=True)
        )

    @property
    def startup_ms(self) -> float:
        """What the first episode comes later under the agent than in its bare neighbours."""
        neighbours = pairwise(one.startup_s for one in self.bare)
        return 1000 * median(
            one.startup_s - (before + after) / 2 for one, (before, after) in zip(self.under, neighbours, strict=True)
        )


@dataclass(frozen=True)
class Library:
    """What was found of one library."""

    long: Comparison
    short: Comparison

    def to_dict(self) -> dict[str, float]:
        """Return the figures of this library."""
        return {
            "speed_ratio": round(self.long.speed_ratio, 4),
            "startup_ms": round(self.short.startup_ms),
            "bare_steps_per_s": round(median(one.steps_per_s for one in self.long.bare)),
            "bare_startup_s": round(median(one.startup_s for one in self.short.bare), 2),
        }


def bare_command(worker: str, python: Path, config: Mapping[str, Any]) -> list[str]:
    """Return the command that trains *config* without us, as the worker itself describes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps({**config, "run_id": "bare", "seed": SEED}))
        command = [str(python), "-m", f"mosaic_{worker}", "--config", str(path), "--dry-run", "--emit-summary"]
        chosen = {**os.environ, **SURROUNDINGS}
        done = subprocess.run(command, cwd=folder, env=chosen, stdout=subprocess.PIPE, text=True, check=True)
    summary = json.loads(done.stdout.splitlines()[-1])["summary"]
    if worker == "cleanrl":
        return shlex.split(summary["command"])
    plan = summary["plan"]
    told = plan if isinstance(plan, str) else json.dumps(plan)
    script = str(Path(__file__).with_name("bare.py"))
    # Without -P, modules beside the script would stand before Python's own.
    return [str(python), "-P", script, worker, told, str(config["total_steps"])]


def bare_training(command: list[str]) -> Training:
    """Train without us and return what was seen."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "stderr").open("w+") as errors:
        # Some libraries leave their results in the home directory.
        chosen = {**os.environ, **SURROUNDINGS, "HOME": folder}
        started = time.time()
        child = subprocess.Popen(command, cwd=folder, env=chosen, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert child.stdout is not None
        episodes = [(time.time(), int(told[1])) for line in child.stdout if (told := _EPISODE.search(line))]
        if child.wait() != 0:
            errors.seek(0)
            raise RuntimeError(f"the bare library failed: {shlex.join(command)}\n{errors.read()[-2000:]}")
    return training_of(started, episodes)


def training_under_agent(fleet: Mosaic, worker: str, config: Mapping[str, Any]) -> Training:
    """Train on the platform and return what the worker stamped on its episodes."""
    started = time.time()
    (run,) = fleet.submit(Submission(worker, config, seed=SEED))
    done = fleet.wait(run.run_id)
    if done.state is not RunState.SUCCEEDED:
        raise RuntimeError(f"{worker} {done.state.value}: {done.reason}")
    fleet.manifest(run.run_id, within_s=60.0)
    return training_of(started, list(_episodes(fleet, run.run_id)))


def _episodes(fleet: Mosaic, run_id: str) -> Iterator[tuple[float, int]]:
    for event in fleet.events(run_id, kinds=["episode"]):
        told = json.loads(event.line)
        yield told["timestamp"], told["payload"]["step"]


def training_of(started: float, episodes: list[tuple[float, int]]) -> Training:
    """Return the figures of a training that was *started* then and finished *episodes* at times and steps."""
    (first_at, first_step), (last_at, last_step) = episodes[0], episodes[-1]
    return Training(first_at - started, (last_step - first_step) / (last_at - first_at))


def compare(fleet: Mosaic, worker: str, python: Path, *, rounds: int, steps: int) -> Comparison:
    """Train by turns; the first training under the agent only warms the disk."""
    config = {"algo": "ppo", "env_id": "CartPole-v1", "total_steps": steps, "eval_episodes": 0}
    command = bare_command(worker, python, config)
    training_under_agent(fleet, worker, config)
    found = Comparison(bare=[bare_training(command)])
    for _ in range(rounds):
        found.under.append(training_under_agent(fleet, worker, config))
        found.bare.append(bare_training(command))
        under, bare = found.under[-1], found.bare[-1]
        print(
            f"{worker:8} under the agent {under.steps_per_s:7.0f} steps/s, first episode after {under.startup_s:6.2f} s"
            f"   bare {bare.steps_per_s:7.0f} steps/s, {bare.startup_s:6.2f} s",
            flush=True,
        )
    return found


def figures(found: Mapping[str, Library]) -> dict[str, Any]:
    """Return the worst of all libraries, then each."""
    each = {worker: one.to_dict() for worker, one in found.items()}
    return {
        "speed_ratio": min(one["speed_ratio"] for one in each.values()),
        "startup_ms": max(one["startup_ms"] for one in each.values()),
        **each,
    }


def main() -> None:
    """Compare the libraries that were asked for, all three unless told otherwise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", nargs="+", choices=sorted(STEPS), default=list(STEPS))
    parser.add_argument("--rounds", type=int, default=3, help="trainings under the agent for the speed")
    parser.add_argument("--starts", type=int, default=9, help="trainings under the agent for the start-up")
    asked = parser.parse_args()
    home = home_directory(os.environ) / "bench"
    install_current(asked.workers, home)
    found = {}
    with running_platform(home) as fleet:
        for worker in asked.workers:
            python = find_environment(worker, home).python
            found[worker] = Library(
                long=compare(fleet, worker, python, rounds=asked.rounds, steps=STEPS[worker]),
                short=compare(fleet, worker, python, rounds=asked.starts, steps=FEW_STEPS),
            )
    print(json.dumps(figures(found)))


if __name__ == "__main__":
    main()
