"""What the libraries learn on this platform with their own defaults, against what they are known for.

Every run goes the way of ``mosaic submit WORKER --algo ... --env ... --steps ...`` on an embedded platform, one
after the other. The score is the mean return of the last 20 episodes of the training; the time is that between
start and end of the run. The last line is one JSON object; the exit code is 1 when a target was missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.platforms import running_platform
from mosaic.client import Mosaic
from mosaic.client.spelling import spell
from mosaic.home import home_directory
from mosaic.installer.environments import install, installed_environments
from mosaic.installer.recipes import Recipe, find_recipe
from mosaic.lifecycle import RunState

RECENT = 20


@dataclass(frozen=True)
class Task:
    """One thing to learn with one library."""

    worker: str
    algo: str
    env_id: str
    total_steps: int
    #: What the mean return of the last episodes should reach.
    target: float
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What is learned, for people."""
        preset = f" ({self.settings['preset']})" if "preset" in self.settings else ""
        return f"{self.algo} {self.env_id}{preset}"


CARTPOLE = {name: Task(name, "ppo", "CartPole-v1", 100_000, 400.0) for name in ("cleanrl", "xuance", "rllib", "sb3")}
#: CleanRL's own settings are meant for half a million steps; its worker takes others for short runs unless told not to.
OWN_SETTINGS = {"cleanrl": Task("cleanrl", "ppo", "CartPole-v1", 500_000, 400.0, {"preset": "none"})}
#: RLlib's own actor learns at 3e-5 and waits for 1,500 steps; these are the rates of RLlib's example for this task.
SHORT_SAC = {"actor_lr": 2e-4, "critic_lr": 8e-4, "alpha_lr": 9e-4, "num_steps_sampled_before_learning_starts": 256}
#: Pendulum pays about -1200 to a random policy. XuanCe's policies can use only half of its torque, which makes -242
#: the best there is; so XuanCe balances two poles instead, which take -1 to 1 and pay 9,350 or so to those who never
#: drop them, about 50 to a random policy.
CONTINUOUS = {
    "cleanrl": Task("cleanrl", "sac", "Pendulum-v1", 8_000, -300.0, {"algo_params": {"learning_starts": 1_000}}),
    "xuance": Task("xuance", "sac", "InvertedDoublePendulum-v5", 80_000, 9_000.0),
    "sb3": Task("sb3", "sac", "Pendulum-v1", 8_000, -300.0),
    "rllib": Task("rllib", "sac", "Pendulum-v1", 10_000, -300.0, {"algo_params": SHORT_SAC}),
}
#: XuanCe's own settings explore for 2.5 million steps and update once in 25 rounds; its README says more.
SHORT_VDN = {"decay_step_greedy": 10_000, "training_frequency": 4}
#: Three agents of simple_spread that act at random get about -84.
TEAM = {
    "xuance": Task("xuance", "vdn", "simple_spread_v3", 30_000, -75.0, {"algo_params": SHORT_VDN}),
    "rllib": Task("rllib", "ppo", "mpe/simple_spread_v3", 80_000, -75.0),
}
TASKS = {"cartpole": CARTPOLE, "continuous": CONTINUOUS, "team": TEAM, "own": OWN_SETTINGS}
#: One result per library and paradigm it offers; the others only compare settings.
USUAL = ("cartpole", "continuous", "team")


@dataclass(frozen=True)
class Score:
    """What one run came to."""

    worker: str
    task: str
    seed: int
    first_return: float
    last_return: float
    target: float
    seconds: float

    @property
    def line(self) -> str:
        """The score for people."""
        verdict = "" if self.last_return >= self.target else "   MISSED"
        return (
            f"{self.worker:8} {self.task:34} seed {self.seed}   {self.first_return:8.1f} -> {self.last_return:8.1f}"
            f"   target {self.target:g}   {self.seconds:6.0f} s{verdict}"
        )


def install_current(names: Sequence[str], home: Path) -> None:
    """Make the environments that *home* does not hold yet, or holds as they were before this checkout."""
    installed = {environment.name: environment for environment in installed_environments(home)}
    for name in names:
        recipe = find_recipe(name, start=Path.cwd())
        known = installed.get(name)
        if known is None or datetime.fromisoformat(known.installed_at).timestamp() < _newest(recipe):
            print(f"installing {name} (minutes the first time)", flush=True)
            install(recipe, home, upgrade=known is not None)


def _newest(recipe: Recipe) -> float:
    places = (Path(recipe.source), *(Path(one) / "src" for one in recipe.ours))
    return max(path.stat().st_mtime for place in places for path in place.rglob("*.py"))


def learn(fleet: Mosaic, task: Task, seed: int) -> Score:
    """Train once and return the score.

    Raises:
        RuntimeError: the run did not succeed.
    """
    asked = spell(fleet, task.worker, {"env": task.env_id, "algo": task.algo, "steps": task.total_steps})
    (submitted,) = fleet.submit(task.worker, {**task.settings, **asked}, seed=seed)
    run = fleet.wait(submitted.run_id)
    if run.state is not RunState.SUCCEEDED or run.started_at is None or run.ended_at is None:
        raise RuntimeError(f"{task.worker} with seed {seed} {run.state.value}: {run.reason}")
    fleet.manifest(run.run_id, within_s=60.0)
    returns = [one.episode_return for one in fleet.episodes(run.run_id)]
    return Score(
        worker=task.worker,
        task=task.label,
        seed=seed,
        first_return=fmean(returns[:RECENT]),
        last_return=fmean(returns[-RECENT:]),
        target=task.target,
        seconds=(run.ended_at - run.started_at).total_seconds(),
    )


def scores(asked: argparse.Namespace, home: Path) -> Iterator[Score]:
    """Yield one score after the other."""
    chosen = [TASKS[kind][name] for kind in asked.tasks for name in asked.workers if name in TASKS[kind]]
    tasks = [replace(task, total_steps=asked.steps or task.total_steps) for task in chosen]
    install_current(asked.workers, home)
    with running_platform(home) as fleet:
        for task in tasks:
            for seed in asked.seeds:
                yield learn(fleet, task, seed)


def figures(done: Sequence[Score]) -> dict[str, float]:
    """Return the lowest score and the longest time of each task, and how many runs missed their target."""
    result: dict[str, float] = {"missed": sum(score.last_return < score.target for score in done)}
    for score in done:
        name = f"{score.worker} {score.task}"
        result[f"{name} return"] = round(min(score.last_return, result.get(f"{name} return", score.last_return)), 1)
        result[f"{name} s"] = round(max(score.seconds, result.get(f"{name} s", 0.0)), 1)
    return result


def main() -> int:
    """Run what was asked for, one task per library and paradigm unless told otherwise; return 1 if one was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", nargs="+", choices=sorted(CARTPOLE), default=list(CARTPOLE))
    parser.add_argument("--tasks", nargs="+", choices=sorted(TASKS), default=list(USUAL))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=0, help="another length for every task")
    asked = parser.parse_args()
    done = []
    for score in scores(asked, home_directory(os.environ) / "bench"):
        print(score.line, flush=True)
        done.append(score)
    found = figures(done)
    print(json.dumps(found))
    return 1 if found["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
