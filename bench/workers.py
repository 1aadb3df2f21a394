"""Training speed and start-up of the library workers against the bare libraries.

What is compared is what the worker's own ``--dry-run`` says it would execute, with the same seed. For the speed both
train at the same time on the same core, each with half of it, so that whatever slows the machine slows both; what
counts is how long each of them took for the same steps. Start-up is the time from the wish to the first
episode, which under the agent begins with the submit call, and is taken from many trainings of a moment's length by
turns, each compared with the bare ones before and after it. The median counts. The last line is one JSON object.
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
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

from bench.learning import install_current
from bench.platforms import running_platform
from mosaic.client import Mosaic
from mosaic.home import home_directory
from mosaic.installer.environments import find_environment
from mosaic.lifecycle import RunState

SEED = 1
#: Steps that take a third of a minute or so on half a core.
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

    started: float
    #: When episodes ended, and at which step.
    episodes: list[tuple[float, int]]

    @property
    def startup_s(self) -> float:
        """Time to the end of the first episode."""
        return self.episodes[0][0] - self.started

    def moment_of(self, step: float) -> float:
        """Return when *step*, which lies between those of the first and the last episode, was taken."""
        index = max(1, bisect_left(self.episodes, step, key=itemgetter(1)))
        (before, step_before), (after, step_after) = self.episodes[index - 1 : index + 1]
        return before + (after - before) * (step - step_before) / max(step_after - step_before, 1)

    def steps_between(self, begin: float, end: float) -> tuple[int, int]:
        """Return the first and the last step of an episode that ended in that time."""
        steps = [step for moment, step in self.episodes if begin <= moment <= end]
        return steps[0], steps[-1]


@dataclass(frozen=True)
class Race:
    """A bare training and one under the agent on one core at one time."""

    bare: Training
    under: Training

    @property
    def steps_per_s(self) -> tuple[float, float]:
        """Speed of the bare training and of the other one over the same steps, taken while both trained."""
        both = (self.bare, self.under)
        begin, end = max(one.episodes[0][0] for one in both), min(one.episodes[-1][0] for one in both)
        firsts, lasts = zip(*(one.steps_between(begin, end) for one in both), strict=True)
        # The first update pays for much that later ones find ready.
        first, last = max(*firsts, lasts[0] / 10), min(lasts)
        bare, under = ((last - first) / (one.moment_of(last) - one.moment_of(first)) for one in both)
        return bare, under

    @property
    def ratio(self) -> float:
        """Speed under the agent as a part of the bare one."""
        bare, under = self.steps_per_s
        return under / bare


@dataclass(frozen=True)
class Library:
    """What was found of one library: races, and short trainings, a bare one before and after each under the agent."""

    races: list[Race]
    bare_starts: list[float]
    starts: list[float]

    @property
    def startup_ms(self) -> float:
        """What the first episode comes later under the agent than in its bare neighbours."""
        neighbours = pairwise(self.bare_starts)
        return 1000 * median(
            one - (before + after) / 2 for one, (before, after) in zip(self.starts, neighbours, strict=True)
        )

    def to_dict(self) -> dict[str, float]:
        """Return the figures of this library."""
        return {
            "speed_ratio": round(median(race.ratio for race in self.races), 4),
            "startup_ms": round(self.startup_ms),
            "bare_steps_per_s_on_half_a_core": round(median(race.steps_per_s[0] for race in self.races)),
            "bare_startup_s": round(median(self.bare_starts), 2),
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
        return shlex.split(summary["plan"]["command"])
    plan = summary["plan"]
    told = plan["code"] if worker == "rllib" else json.dumps(plan)
    script = str(Path(__file__).with_name("bare.py"))
    # Without -P, modules beside the script would stand before Python's own.
    return [str(python), "-P", script, worker, told, str(config["total_steps"])]


def bare_training(command: list[str], core: int | None = None) -> Training:
    """Train without us, on *core* alone if one is named, and return what was seen."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "stderr").open("w+") as errors:
        # Some libraries leave their results in the home directory.
        chosen = {**os.environ, **SURROUNDINGS, "HOME": folder}
        started = time.time()
        # In a session of its own, as under the agent: Linux divides a core between sessions.
        child = subprocess.Popen(
            command, cwd=folder, env=chosen, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
        )
        keep_on(core, child.pid)
        assert child.stdout is not None
        episodes = [(time.time(), int(told[1])) for line in child.stdout if (told := _EPISODE.search(line))]
        if child.wait() != 0:
            errors.seek(0)
            raise RuntimeError(f"the bare library failed: {shlex.join(command)}\n{errors.read()[-2000:]}")
    return Training(started, episodes)


def training_under_agent(fleet: Mosaic, worker: str, config: Mapping[str, Any], core: int | None = None) -> Training:
    """Train on the platform and return what the worker stamped on its episodes."""
    started = time.time()
    (run,) = fleet.submit(worker, config, seed=SEED)
    if core is not None:
        (introduction,) = fleet.events(run.run_id, kinds=["attempt_started"], follow=True, limit=1)
        keep_on(core, json.loads(introduction.line)["payload"]["pid"])
    done = fleet.wait(run.run_id)
    if done.state is not RunState.SUCCEEDED:
        raise RuntimeError(f"{worker} {done.state.value}: {done.reason}")
    fleet.manifest(run.run_id, within_s=60.0)
    return Training(started, list(_episodes(fleet, run.run_id)))


def _episodes(fleet: Mosaic, run_id: str) -> Iterator[tuple[float, int]]:
    for event in fleet.events(run_id, kinds=["episode"]):
        told = json.loads(event.line)
        yield told["timestamp"], told["payload"]["step"]


def keep_on(core: int | None, pid: int) -> None:
    """Keep a process that has just begun, and whatever it starts, on *core*."""
    if core is not None:
        os.sched_setaffinity(pid, {core})


def race(fleet: Mosaic, worker: str, command: list[str], config: Mapping[str, Any]) -> Race:
    """Train bare and under the agent on one core; the platform has the others."""
    core = max(os.sched_getaffinity(0))
    with ThreadPoolExecutor(1) as beside:
        bare = beside.submit(bare_training, command, core)
        under = training_under_agent(fleet, worker, config, core)
    return Race(bare.result(), under)


def compare(fleet: Mosaic, worker: str, python: Path, *, races: int, starts: int) -> Library:
    """Race, then start by turns; the first training under the agent only warms the disk."""
    # Bare libraries save nothing, so the workers must not either before the end.
    config = {"algo": "ppo", "env_id": "CartPole-v1", "eval_episodes": 0, "checkpoint_every": 1_000_000}
    short, long = config | {"total_steps": FEW_STEPS}, config | {"total_steps": STEPS[worker]}
    training_under_agent(fleet, worker, short)
    found = Library([], [], [])
    long_command, short_command = (bare_command(worker, python, chosen) for chosen in (long, short))
    for _ in range(races):
        found.races.append(race(fleet, worker, long_command, long))
        bare, under = found.races[-1].steps_per_s
        print(f"{worker:8} under the agent {under:7.0f} steps/s   bare beside it {bare:7.0f} steps/s", flush=True)
    found.bare_starts.append(bare_training(short_command).startup_s)
    for _ in range(starts):
        found.starts.append(training_under_agent(fleet, worker, short).startup_s)
        found.bare_starts.append(bare_training(short_command).startup_s)
        under, bare = found.starts[-1], found.bare_starts[-1]
        print(f"{worker:8} first episode under the agent after {under:6.2f} s   bare {bare:6.2f} s", flush=True)
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
    parser.add_argument("--races", type=int, default=5, help="trainings under the agent for the speed")
    parser.add_argument("--starts", type=int, default=15, help="trainings under the agent for the start-up")
    asked = parser.parse_args()
    home = home_directory(os.environ) / "bench"
    install_current(asked.workers, home)
    found = {}
    with running_platform(home) as fleet:
        for worker in asked.workers:
            python = find_environment(worker, home).python
            found[worker] = compare(fleet, worker, python, races=asked.races, starts=asked.starts)
    print(json.dumps(figures(found)))


if __name__ == "__main__":
    main()
