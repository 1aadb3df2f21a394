"""How fast the emitter writes metric lines to a pipe, and how that compares with a bare write.

The child process emits; the parent drains the pipe. The bare child writes the same bytes in the same
blocks with the same flush after each, and does nothing else. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from statistics import median

from mosaic.worker.emitter import TelemetryEmitter
from mosaic.worker.lines import BLOCK_BYTES


def emit(lines: int) -> tuple[float, float]:
    """Emit *lines* metric lines to stdout and return the seconds that took: by the wall and of the CPU."""
    emitter = TelemetryEmitter("01JD0000000000000000000000")
    started, cpu_started = time.perf_counter(), time.process_time()
    for step in range(lines):
        emitter.metric("losses/value_loss", step * 0.001, step)
    emitter.flush()
    return time.perf_counter() - started, time.process_time() - cpu_started


def write_bare(lines: int) -> tuple[float, float]:
    """Write as many bytes as `emit` does, in the same blocks, and return what it returns."""
    line = (
        '{"event":"metric","payload":{"name":"losses/value_loss","step":%d,"value":%r},'
        '"run_id":"01JD0000000000000000000000","timestamp":%r}\n'
    )
    whole = [line % (step, step * 0.001, time.time()) for step in range(lines)]
    blocks = _in_blocks(whole)
    started, cpu_started = time.perf_counter(), time.process_time()
    for block in blocks:
        sys.stdout.write(block)
        sys.stdout.flush()
    return time.perf_counter() - started, time.process_time() - cpu_started


def _in_blocks(lines: list[str]) -> list[str]:
    blocks: list[str] = []
    block: list[str] = []
    size = 0
    for line in lines:
        if size + len(line) > BLOCK_BYTES:
            blocks.append("".join(block))
            block, size = [], 0
        block.append(line)
        size += len(line)
    return [*blocks, "".join(block)]


@dataclass(frozen=True)
class Timing:
    """What one child needed."""

    wall_s: float
    cpu_s: float  #: what it would have needed on an idle machine, about


def measure(role: str, lines: int) -> Timing:
    """Run a child in *role*, drain what it writes, and return what it needed."""
    command = [sys.executable, __file__, "--role", role, "--lines", str(lines)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        arrived = 0
        while chunk := os.read(child.stdout.fileno(), 1 << 20):
            arrived += chunk.count(b"\n")
        assert arrived == lines, f"{lines} lines were written, {arrived} arrived"
        return Timing(*json.loads(child.stderr.read()))


def compare(lines: int, rounds: int) -> dict[str, float]:
    """Measure both roles in turn and return the medians."""
    pairs = [(measure("emit", lines), measure("bare", lines)) for _ in range(rounds)]
    return {
        "lines_per_s": round(median(lines / emitter.wall_s for emitter, _ in pairs)),
        "best_lines_per_s": round(max(lines / emitter.wall_s for emitter, _ in pairs)),
        "lines_per_cpu_s": round(median(lines / emitter.cpu_s for emitter, _ in pairs)),
        "bare_lines_per_s": round(median(lines / bare.wall_s for _, bare in pairs)),
        "ratio_to_bare_write": round(median(bare.wall_s / emitter.wall_s for emitter, bare in pairs), 4),
        "lines": lines,
        "rounds": rounds,
    }


def main() -> None:
    """Compare, or be the child that is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--role", choices=("compare", "emit", "bare"), default="compare")
    options = parser.parse_args()
    if options.role == "compare":
        result = compare(options.lines, options.rounds)
        print(f"emitter {result['lines_per_s']:,} lines/s, bare write {result['bare_lines_per_s']:,} lines/s")
        print(json.dumps(result))
    else:
        seconds = emit(options.lines) if options.role == "emit" else write_bare(options.lines)
        sys.stderr.write(json.dumps(seconds))


if __name__ == "__main__":
    main()
