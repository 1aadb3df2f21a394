"""Every benchmark, one after the other, and their results in one table."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

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
    "memory": {"max_service_mb": ("<=", 120)},
    "overhead": {"speed_ratio": (">=", 0.98)},
}


def run(name: str) -> dict[str, Any]:
    """Run one benchmark and return the object of its last line."""
    done = subprocess.run([sys.executable, "-m", f"bench.{name}"], stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def main() -> None:
    """Run those named on the command line, or all."""
    chosen = sys.argv[1:] or [name for name in TARGETS if Path(__file__).with_name(f"{name}.py").exists()]
    print(f"{'benchmark':12} {'figure':28} {'measured':>12}   target")
    missed = 0
    for name in chosen:
        began = time.monotonic()
        result = run(name)
        for field, (direction, target) in TARGETS[name].items():
            measured = result[field]
            holds = measured >= target if direction == ">=" else measured <= target
            missed += not holds
            print(f"{name:12} {field:28} {measured:12,.6g}   {direction} {target:,g}{'' if holds else '   MISSED'}")
        print(f"{'':12} {time.monotonic() - began:.0f} s", flush=True)
    print(f"{missed} missed")


if __name__ == "__main__":
    main()
