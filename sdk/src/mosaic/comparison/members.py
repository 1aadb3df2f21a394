"""Which runs of an arm count, and why the others do not: nobody is dropped in silence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mosaic.comparison.facts import Facts
from mosaic.comparison.scores import Told
from mosaic.lifecycle import RunState


@dataclass(frozen=True, slots=True)
class Member:
    """One run of an arm: what it came to, or why that does not count."""

    run_id: str
    seed: int | None
    state: RunState
    #: None where it does not count.
    score: float | None
    #: How far it got.
    reached: float | None
    #: Why it does not count, or what is special about one that does; else empty.
    note: str = ""
    #: False for one whose seed was run again: that run stands for both, also in the curve.
    in_curve: bool = True


def replaced(runs: Sequence[Facts]) -> dict[str, str]:
    """Return which of the runs of one arm another one stands for, each with that one.

    A run steps back for the one that continues it. Of several with the same settings and the same seed, such as a
    failed one and its retry, the newest that succeeded stands for all, else the newest.
    """
    found = {run.continues: run.run_id for run in runs if run.continues}
    best: dict[tuple[str, int], Facts] = {}
    for run in sorted(runs, key=lambda run: (run.state is RunState.SUCCEEDED, run.run_id)):
        if run.seed is not None and run.run_id not in found:
            best[run.config_digest, run.seed] = run
    for run in runs:
        stands = best.get((run.config_digest, run.seed)) if run.seed is not None else None
        if stands is not None and stands.run_id != run.run_id:
            found.setdefault(run.run_id, stands.run_id)
    known = {run.run_id for run in runs}
    return {old: new for old, new in found.items() if old in known}


def why_left_out(run: Facts, told: Told, at: float | None, instead: Mapping[str, str]) -> str:
    """Return why *run* cannot count, whatever it scored; nothing if it can."""
    if run.run_id in instead:
        return f"{run.state.value}; run {_short(instead[run.run_id])} stands for it"
    if at is not None:
        # What it was worth at that step is known, however it ended later.
        has_arrived = told.reached >= at
        return "" if has_arrived else f"{_standing(run)}; it got {_far(told)}, not to step {at:,.0f}"
    return "" if run.state is RunState.SUCCEEDED else f"{_standing(run)}; it got {_far(told)}"


def why_no_score(score: float | None, of: str) -> str:
    """Return why a run that may count has no score to count; nothing if it has."""
    if score is None:
        return f"it told no {'evaluation' if of == 'evaluation' else 'training episode'} that could count"
    return "" if math.isfinite(score) else "its returns are no finite numbers"


def member(run: Facts, told: Told, score: float | None, left_out: str, of: str, instead: Mapping[str, str]) -> Member:
    """Return *run* with its *score*, or with the reason why it has none."""
    note = left_out or why_no_score(score, of)
    reached = told.reached if math.isfinite(told.reached) else None
    is_counted = not note
    if is_counted and run.state is not RunState.SUCCEEDED:
        note = f"{_standing(run)}: it had got to that step"
    kept = score if is_counted else None
    return Member(run.run_id, run.seed, run.state, kept, reached, note, in_curve=run.run_id not in instead)


def _standing(run: Facts) -> str:
    if not run.has_ended:
        return f"not ended ({run.state.value})"
    is_explained = run.state is RunState.FAILED and run.reason
    return f"{run.state.value}: {run.reason}" if is_explained else run.state.value


def _far(told: Told) -> str:
    return f"to step {told.reached:,.0f}" if told.reached > 0 else "nowhere"


def _short(run_id: str) -> str:
    return run_id[-8:]
