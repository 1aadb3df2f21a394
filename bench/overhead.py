"""Training speed under the agent against the bare script: the same child, the same seed, taken in turns.

The child is the reference worker on CartPole; its speed is its own steps divided by the time between its first and
its last line. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path
from statistics import median

from bench.platforms import running_platform
from mosaic.client import Mosaic
from mosaic.installer.environments import find_environment, install
from mosaic.installer.recipes import find_recipe

WORKER = "reference"


def environment(home: Path) -> Path:
    """Install the worker of this checkout into *home* and return its interpreter."""
    install(find_recipe(WORKER, start=Path.cwd()), home)
    return find_environment(WORKER, home).python


def bare_speed(python: Path, config: dict[str, object]) -> float:
    """Run the worker by hand and return its steps per second."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps({**config, "run_id": "bare", "seed": 1}))
        chosen = {**os.environ, "MOSAIC_RUN_DIR": folder, "OMP_NUM_THREADS": "1", "MOSAIC_HEARTBEAT_S": "10"}
        command = [str(python), "-m", "mosaic_reference", "--config", str(path)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=chosen)
    stamps = [json.loads(line)["timestamp"] for line in done.stdout.splitlines() if line.startswith(b"{")]
    return float(str(config["total_steps"])) / (max(stamps) - min(stamps))


def agent_speed(fleet: Mosaic, config: dict[str, object]) -> float:
    """Run it on the platform and return its steps per second by the same stamps."""
    (run,) = fleet.submit(WORKER, config, seed=1)
    fleet.wait(run.run_id)
    kinds = ["run_started", "run_completed"]
    stamps = [json.loads(event.line)["timestamp"] for event in fleet.events(run.run_id, kinds=kinds, follow=True)]
    return float(str(config["total_steps"])) / (max(stamps) - min(stamps))


def main() -> None:
    """Take turns, and compare each run under the agent with the bare ones before and after it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=120_000)
    asked = parser.parse_args()
    config: dict[str, object] = {"env_id": "CartPole-v1", "total_steps": asked.steps}
    with tempfile.TemporaryDirectory() as home:
        python = environment(Path(home))
        with running_platform(Path(home)) as fleet:
            bare, under = [bare_speed(python, config)], []
            for _ in range(asked.rounds):
                under.append(agent_speed(fleet, config))
                bare.append(bare_speed(python, config))
                print(f"under the agent {under[-1]:9.0f} steps/s   bare {bare[-1]:9.0f} steps/s", flush=True)
    ratios = [one * 2 / (before + after) for one, (before, after) in zip(under, pairwise(bare), strict=True)]
    print("ratio " + " ".join(f"{ratio:.3f}" for ratio in ratios))
    print(json.dumps({"speed_ratio": round(median(ratios), 4), "bare_steps_per_s": round(median(bare))}))


if __name__ == "__main__":
    main()
