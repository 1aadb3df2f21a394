"""Idle memory of each service: resident, after it has served a run. The last line is one JSON object.

The baseline is a bare Python process that has imported gRPC, SQLAlchemy and psycopg, which no service can do without.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.platforms import TINY, stack
from tests.stack.environment import WORKER
from tests.stack.stack import SERVICES

_BARE = "import grpc, sqlalchemy, psycopg, sys; sys.stdin.read()"


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"process {pid} has no memory to speak of")


def bare_mb() -> float:
    """Return the resident memory of the libraries alone."""
    with subprocess.Popen([sys.executable, "-c", _BARE + "  # idle"], stdin=subprocess.PIPE) as process:
        try:
            process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            return resident_mb(process.pid)
        finally:
            process.kill()
    raise AssertionError("the bare process ended by itself")


def main() -> None:
    """Start everything, run one run, look."""
    bare = bare_mb()
    with stack() as running:
        (run,) = running.mosaic.submit(WORKER, TINY, seed=1)
        running.mosaic.wait(run.run_id)
        found = {name: resident_mb(running.parts[name].pid) for name in (*SERVICES, *running.agent_names)}
    print(f"{'bare libraries':15} {bare:6.1f} MB")
    for name, megabytes in found.items():
        print(f"{name:15} {megabytes:6.1f} MB  {megabytes / bare:.2f} x bare")
    largest = max(found[name] for name in SERVICES)
    print(json.dumps({"max_service_mb": round(largest, 1), "ratio_to_bare": round(largest / bare, 2)}))


if __name__ == "__main__":
    main()
