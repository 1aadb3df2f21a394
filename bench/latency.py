"""From the submit call to the worker's first line, above what a bare ``Popen`` of the same child takes.

Both ends are stamped on the same clock: the call before it is sent, the line by the worker itself. The bare
child is measured in between, so that all three see the same machine. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from statistics import median

from bench.platforms import (
    TINY,
    embedded,
    first_line_after_popen,
    first_line_after_submit,
    percentile,
    stack,
)
from mosaic.client import Mosaic
from tests.stack.environment import install_drill


def measure(fleet: Mosaic, python: Path, config: Path, rounds: int) -> tuple[list[float], list[float]]:
    """Return the bare and the submitted latencies in milliseconds, taken in turns."""
    bare, submitted = [], []
    for number in range(rounds + 2):
        popen = first_line_after_popen(python, config) * 1000
        run = first_line_after_submit(fleet) * 1000
        # The first two rounds warm up imports, caches and connections.
        if number >= 2:
            bare.append(popen)
            submitted.append(run)
    return bare, submitted


def show(title: str, bare: list[float], submitted: list[float]) -> float:
    """Print one row and return how far the median lies above the bare child's."""
    over = median(submitted) - median(bare)
    print(
        f"{title:9} p50 {median(submitted):7.1f} ms  p99 {percentile(submitted, 99):7.1f} ms  "
        f"bare p50 {median(bare):7.1f} ms  over {over:6.1f} ms"
    )
    return over


def main() -> None:
    """Measure both sizes and print the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        python = install_drill(Path(folder))
        config = Path(folder) / "config.json"
        config.write_text(json.dumps({**TINY, "run_id": "bare", "seed": 1}))
        with embedded() as fleet:
            bare, small = measure(fleet, python, config, rounds)
        embedded_over = show("embedded", bare, small)
        with stack() as running:
            bare_again, big = measure(running.mosaic, python, config, rounds)
        stack_over = show("stack", bare_again, big)
    result = {
        "embedded_over_popen_p50_ms": round(embedded_over, 1),
        "stack_over_popen_p50_ms": round(stack_over, 1),
        "stack_p99_ms": round(percentile(big, 99), 1),
        "bare_p50_ms": round(median(bare_again), 1),
        "rounds": rounds,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
