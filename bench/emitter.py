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
from statistics import median

from mosaic.worker.emitter import TelemetryEmitter
from mosaic.worker.lines import BLOCK_BYTES


def emit(lines: int) -> float:
    """Emit *lines* metric lines to stdout and return how long that took, in seconds."""
    emitter = TelemetryEmitter("01JD0000000000000000000000")
    started = time.perf_counter()
    for step in range(lines):
        emitter.metric("losses/value_loss", step * 0.001, step)
    emitter.flush()
    return time.perf_counter() - started


def write_bare(lines: int) -> float:
    """Write as many bytes as `emit` does, in the same blocks, and return how long that took."""
    line = (
        '{"event":"metric","payload":{"name":"losses/value_loss","step":%d,"value":%r},'
        '"run_id":"01JD0000000000000000000000","timestamp":%r}\n'
    )
    whole = [line % (step, step * 0.001, time.time()) for step in range(lines)]
    blocks = _in_blocks(whole)
    started = time.perf_counter()
    for block in blocks:
        sys.stdout.write(block)
        sys.stdout.flush()
    return time.perf_counter() - started


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


def measure(role: str, lines: int) -> tuple[float, int]:
    """Run a child in *role* and return its seconds and how many lines arrived."""
    command = [sys.executable, __file__, "--role", role, "--lines", str(lines)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        arrived = 0
        while chunk := os.read(child.stdout.fileno(), 1 << 20):
            arrived += chunk.count(b"\n")
        return float(child.stderr.read()), arrived


def main() -> None:
    """Measure both roles in turn and print the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--role", choices=("compare", "emit", "bare"), default="compare")
    options = parser.parse_args()
    if options.role != "compare":
        seconds = emit(options.lines) if options.role == "emit" else write_bare(options.lines)
        sys.stderr.write(repr(seconds))
        return
    rounds = [(measure("emit", options.lines), measure("bare", options.lines)) for _ in range(options.rounds)]
    assert all(arrived == options.lines for pair in rounds for _, arrived in pair), "lines were lost"
    emitted = [options.lines / seconds for (seconds, _), _ in rounds]
    bare = [options.lines / seconds for _, (seconds, _) in rounds]
    print(f"emitter {median(emitted):,.0f} lines/s, bare write {median(bare):,.0f} lines/s")
    result = {
        "lines_per_s": round(median(emitted)),
        "best_lines_per_s": round(max(emitted)),
        "bare_lines_per_s": round(median(bare)),
        "ratio_to_bare_write": round(median(e / b for e, b in zip(emitted, bare, strict=True)), 4),
        "lines": options.lines,
        "rounds": options.rounds,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
