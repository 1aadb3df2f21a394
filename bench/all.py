"""Every benchmark, one after the other, and their results in one table; ends with 1 when a target was missed.

Those that need the libraries (gigabytes) are left out until ``make bench-workers`` has installed them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mosaic.home import home_directory
from mosaic.installer.environments import installed_environments

#: What each benchmark is held to: field, direction and figure.
TARGETS: dict[str, dict[str, tuple[str, float]]] = {
    "emitter": {"lines_per_s": (">=", 200_000)},
    "plan": {"cold_ms": ("<=", 250), "incremental_ms": ("<=", 25), "rss_mb": ("<=", 500)},
    "simulate": {
        "seconds": ("<=", 180),
        "jain": (">=", 0.97),
        "greedy_wait_ratio": ("<=", 1.2),
        "utilisation_gap_points": ("<=", 3),
    },
    "telemetry": {"events_per_s": (">=", 120_000), "ratio_to_bare": (">=", 0.4)},
    "latency": {
        "embedded_over_popen_p50_ms": ("<=", 40),
        "stack_over_popen_p50_ms": ("<=", 60),
        "stack_p99_ms": ("<=", 250),
    },
    "queue": {"runs_per_s": (">=", 50)},
    "chart": {"chart_ms": ("<=", 100)},
    "cli": {
        "help_cpu_s": ("<=", 0.25),
        "version_cpu_s": ("<=", 0.25),
        "completion_cpu_s": ("<=", 0.25),
        "slowest_verb_cpu_s": ("<=", 0.4),
    },
    "api": {
        "get_run_p50_ms": ("<=", 5),
        "list_runs_p50_ms": ("<=", 20),
        "submit_per_s": (">=", 200),
        "live_viewers": (">=", 200),
        "console_mb": ("<=", 150),
    },
    "memory": {"max_service_mb": ("<=", 120)},
    "overhead": {"speed_ratio": (">=", 0.98)},
    "workers": {"speed_ratio": (">=", 0.98), "startup_ms": ("<=", 300)},
}
#: What must be installed for a benchmark, where that takes long.
NEEDS = {"workers": {"cleanrl", "xuance", "rllib"}}


def run(name: str) -> dict[str, Any]:
    """Run one benchmark and return the object of its last line."""
    done = subprocess.run([sys.executable, "-m", f"bench.{name}"], stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def missing_for(name: str) -> list[str]:
    """Return the libraries that a benchmark needs and that are not installed."""
    installed = {one.name for one in installed_environments(home_directory(os.environ) / "bench")}
    return sorted(NEEDS.get(name, set()) - installed)


def main() -> int:
    """Run those named on the command line, or all; return 1 when a target was missed."""
    chosen = sys.argv[1:] or [name for name in TARGETS if Path(__file__).with_name(f"{name}.py").exists()]
    print(f"{'benchmark':12} {'figure':28} {'measured':>12}   target")
    missed = 0
    for name in chosen:
        if not sys.argv[1:] and (missing := missing_for(name)):
            print(f"{name:12} not measured: `make bench-{name}` installs {', '.join(missing)} first")
            continue
        began = time.monotonic()
        result = run(name)
        for field, (direction, target) in TARGETS[name].items():
            measured = result[field]
            holds = measured >= target if direction == ">=" else measured <= target
            missed += not holds
            print(f"{name:12} {field:28} {measured:12,.6g}   {direction} {target:,g}{'' if holds else '   MISSED'}")
        print(f"{'':12} {time.monotonic() - began:.0f} s", flush=True)
    print(f"{missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
