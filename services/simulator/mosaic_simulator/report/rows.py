"""The tables of a simulation, in words and numbers for people, and as plain data for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mosaic_simulator.comparison import Isolation
from mosaic_simulator.measures import Measures, Waits

POLICY_HEADINGS = (
    "policy",
    "utilisation",
    "goodput",
    "Jain index",
    "wait p50",
    "wait p95",
    "longest",
    "starvation",
    "preemptions",
    "steps thrown away",
    "finished",
)
TEAM_HEADINGS = ("team", "runs", "wait p50", "wait p95", "wait p99", "longest")
ISOLATION_HEADINGS = ("alone, wait p95", "ratio")


def policy_row(measures: Measures) -> tuple[str, ...]:
    """Return one policy as the cells under `POLICY_HEADINGS`."""
    waits, starvation = measures.waits, measures.starvation
    return (
        measures.policy,
        percent(measures.utilisation),
        percent(measures.goodput),
        "–" if measures.jain is None else f"{measures.jain:.4f}",
        duration(waits.p50),
        duration(waits.p95),
        duration(waits.longest),
        "–" if starvation is None else f"{starvation.ratio:.1f} ×",
        f"{measures.preemptions:,}",
        count(measures.steps_thrown_away),
        f"{measures.finished:,} of {waits.runs:,}",
    )


def team_rows(measures: Measures, isolations: Sequence[Isolation]) -> list[tuple[str, ...]]:
    """Return each team as the cells under `TEAM_HEADINGS`, and `ISOLATION_HEADINGS` where they are known."""
    alone = {each.team: (duration(each.alone.p95), f"{each.p95_ratio:.2f} ×") for each in isolations}
    return [
        (team, f"{waits.runs:,}", *_wait_cells(waits), *alone.get(team, ()))
        for team, waits in measures.team_waits.items()
    ]


def as_data(measures: Measures, isolations: Sequence[Isolation] = ()) -> dict[str, Any]:
    """Return everything measured as plain data; spans are in seconds."""
    starvation = measures.starvation
    return {
        "policy": measures.policy,
        "utilisation": round(measures.utilisation, 5),
        "goodput": round(measures.goodput, 5),
        "jain": _rounded(measures.jain),
        "jain_worst": _rounded(measures.jain_worst),
        "waits": _waits_data(measures.waits),
        "teams": {team: _waits_data(waits) for team, waits in measures.team_waits.items()},
        "starvation": None if starvation is None else round(starvation.ratio, 3),
        "starved_run": None if starvation is None else starvation.run_id,
        "preemptions": measures.preemptions,
        "steps_thrown_away": round(measures.steps_thrown_away),
        "gpu_hours_lost_to_preemption": round(measures.gpu_hours_preempted, 2),
        "gpu_hours_lost_to_failures": round(measures.gpu_hours_failed, 2),
        "finished": measures.finished,
        "over_time_limit": measures.over_time_limit,
        "never_started": measures.never_started,
        "rounds": measures.rounds,
        "p95_ratio_to_alone": {each.team: round(each.p95_ratio, 3) for each in isolations},
    }


def percent(part: float) -> str:
    """Return *part* of one as a percentage."""
    return f"{100 * part:.1f} %"


def count(number: float) -> str:
    """Return a large number short: 12 k, 3.4 M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.0f}"


def duration(seconds: float) -> str:
    """Return a span as a person says it: 45 s, 12 min, 3 h 20, 2 d 4 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d}" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def _wait_cells(waits: Waits) -> tuple[str, ...]:
    return tuple(duration(wait) for wait in (waits.p50, waits.p95, waits.p99, waits.longest))


def _waits_data(waits: Waits) -> dict[str, float]:
    return {
        "runs": waits.runs,
        "p50": round(waits.p50, 1),
        "p95": round(waits.p95, 1),
        "p99": round(waits.p99, 1),
        "longest": round(waits.longest, 1),
    }


def _rounded(index: float | None) -> float | None:
    return None if index is None else round(index, 5)
