"""What the policy does to whole days: how fast they are simulated, and how fair and full they are.

``python -m bench.simulate`` plays a day of 100,000 runs on 1,000 nodes for its speed, then every
kind of generated trace against ours and FIFO for the figures, prints a table, and ends with one
JSON line. ``--small`` leaves the big day out.
"""

from __future__ import annotations

import gc
import json
import sys
import time

from mosaic_simulator.comparison import Result, Scenario, isolation
from mosaic_simulator.generators import TraceKind, TraceSize, generate
from mosaic_simulator.options import SimulationOptions

BIG_DAY = TraceSize(runs=100_000, nodes=1000)
BIG_DAY_ROUND_SECONDS = 30.0
SHIPPED = TraceSize()

ROW = "{:<14} {:>11} {:>11} {:>7} {:>8} {:>9} {:>12} {:>10} {:>8}"


def main() -> None:
    """Measure, print the table, and end with one JSON line."""
    figures: dict[str, object] = {} if "--small" in sys.argv else big_day()
    print(
        ROW.format(
            "trace", "utilisation", "of FIFO", "Jain", "p95 min", "FIFO p95", "preemptions", "steps lost", "starved"
        )
    )
    results = {kind: play(kind) for kind in TraceKind}
    gaps = {
        kind: 100 * (fifo.measures.utilisation - ours.measures.utilisation) for kind, (ours, fifo) in results.items()
    }
    fairness = [ours.measures.jain for ours, _ in results.values() if ours.measures.jain is not None]
    print(
        json.dumps(
            {
                **figures,
                "jain": round(min(fairness), 4),
                "greedy_wait_ratio": round(greedy_wait_ratio(results[TraceKind.GREEDY][0]), 3),
                "utilisation_gap_points": round(max(gaps.values()), 2),
                "gap_points": {kind.value: round(gap, 2) for kind, gap in gaps.items()},
                "steps_thrown_away": round(sum(ours.measures.steps_thrown_away for ours, _ in results.values())),
                "starvation": {kind.value: round(_starvation(ours), 2) for kind, (ours, _) in results.items()},
            }
        )
    )


def big_day() -> dict[str, object]:
    """Time one big day against our policy, reading and drawing left out."""
    scenario = Scenario(
        *generate(TraceKind.DIURNAL, BIG_DAY), options=SimulationOptions(round_seconds=BIG_DAY_ROUND_SECONDS)
    )
    # As the command does: a simulation makes no cycles, and looking for them costs a fifth of the time.
    gc.disable()
    begun, begun_cpu = time.perf_counter(), time.process_time()
    measures = scenario.play().measures
    gc.enable()
    figures: dict[str, object] = {
        "seconds": round(time.perf_counter() - begun, 1),
        "cpu_seconds": round(time.process_time() - begun_cpu, 1),
        "runs": measures.finished,
        "rounds": measures.rounds,
    }
    print(f"{BIG_DAY.runs:,} runs on {BIG_DAY.nodes:,} nodes: {figures['seconds']} s, {measures.rounds:,} rounds\n")
    return figures


def play(kind: TraceKind) -> tuple[Result, Result]:
    """Play one shipped trace against ours and FIFO, and print its row."""
    scenario = Scenario(*generate(kind, SHIPPED))
    ours, fifo = scenario.play(), scenario.play("fifo")
    measures = ours.measures
    print(
        ROW.format(
            kind.value,
            f"{100 * measures.utilisation:.1f} %",
            f"{100 * fifo.measures.utilisation:.1f} %",
            "–" if measures.jain is None else f"{measures.jain:.4f}",
            f"{measures.waits.p95 / 60:.0f}",
            f"{fifo.measures.waits.p95 / 60:.0f}",
            measures.preemptions,
            f"{measures.steps_thrown_away / 1e6:.0f} M",
            f"{_starvation(ours):.1f} x",
        ),
        flush=True,
    )
    return ours, fifo


def greedy_wait_ratio(ours: Result) -> float:
    """Return the worst p95 wait of any team beside the greedy one, over what it has alone on its quota."""
    scenario = Scenario(*generate(TraceKind.GREEDY, SHIPPED))
    greedy = {run.team for run in scenario.trace.runs if run.user == "greedy"}
    others = [team for team in scenario.trace.teams if team not in greedy]
    return max(each.p95_ratio for each in isolation(scenario, ours, others))


def _starvation(result: Result) -> float:
    return result.measures.starvation.ratio if result.measures.starvation else 0.0


if __name__ == "__main__":
    main()
