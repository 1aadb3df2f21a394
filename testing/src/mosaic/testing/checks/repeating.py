"""The same run comes out the same, and an interrupted one goes on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import fmean, pstdev

from mosaic.testing.evidence import Evidence
from mosaic.testing.report import Verdict, failed, not_applicable, passed
from mosaic.worker.trial.transcript import Point, first_difference

#: What "equal in distribution" is taken to mean after a short run; it stands in every verdict that it decided.
RULE_OF_GRADE_B = (
    "grade B asks of every series that its mean after the checkpoint is that of the uninterrupted run, "
    "give or take 3 times the sum of both standard deviations plus half of that mean"
)

_EPISODE_INDEX = re.compile(r"^episode \S+ ")


def same_seed(evidence: Evidence) -> Verdict:
    """Two runs with one seed give the same values, to the bit."""
    if (reason := _unjudgeable(evidence)) is not None:
        return not_applicable(reason)
    first, second = evidence.short_run.stdout.points(), evidence.repeated_run.stdout.points()
    difference = first_difference(first, second)
    if difference is not None:
        return failed(f"seed {evidence.config['seed']} gave two different runs; {difference}")
    return passed(f"{len(first)} values equal to the bit")


def another_seed(evidence: Evidence) -> Verdict:
    """Another seed gives another run."""
    if (reason := _unjudgeable(evidence)) is not None:
        return not_applicable(reason)
    if first_difference(evidence.short_run.stdout.points(), evidence.other_seed_run.stdout.points()) is None:
        return failed("another seed gave the same values: the seed is not used (set it to null if nothing is random)")
    return passed("another seed gives other values")


def resume(evidence: Evidence) -> Verdict:
    """A run goes on from its checkpoint; the grade says how exactly, and is no worse than the one declared.

    A: bit-identical to the run that was never interrupted. B: it goes on, equal in distribution, see
    `RULE_OF_GRADE_B`. C: it starts again.
    """
    declared = evidence.subject.capabilities.get("resume_grade")
    if "resume_from" not in evidence.subject.methods:
        return _unproven(declared, "grade C: it offers no resume_from, so a lost run starts again")
    if not evidence.short_run.stdout.points():
        return _unproven(declared, "it prints no metric or episode, so a continuation cannot be compared")
    midpoint = evidence.midpoint
    if midpoint is None:
        return failed("its short run saved no checkpoint before its end: let get_check_config() save one midway")
    run = evidence.resumed_run
    if run.exit_code != 0:
        return failed(f"resuming from {midpoint.path.name} ended with exit code {run.exit_code}: {run.last_words()}")
    return graded(evidence.short_run.stdout.points(), midpoint.points_before, run.stdout.points(), declared=declared)


def graded(whole: Sequence[Point], before: int, resumed: Sequence[Point], *, declared: str | None = None) -> Verdict:
    """Compare a *resumed* run with the *whole* one that had printed *before* values at the checkpoint."""
    expected = whole[before:]
    difference = first_difference(expected, resumed)
    if difference is None:
        return _proven("A", declared, f"{len(expected)} values after the checkpoint are bit-identical")
    if _starts_again(whole, before, resumed):
        return failed("grade C: it offers resume_from, but its values begin at the start again")
    if not resumed:
        return failed("grade C: it goes on, but unlike the uninterrupted run: it prints no values any more")
    strange = [fault for name in sorted(set(map(_series, expected))) if (fault := _unlike(name, expected, resumed))]
    if not strange:
        return _proven("B", declared, f"it goes on with similar values; {difference}; {RULE_OF_GRADE_B}")
    return failed(f"it goes on, but unlike the uninterrupted run: {'; '.join(strange)}; {RULE_OF_GRADE_B}")


def _proven(grade: str, declared: str | None, seen: str) -> Verdict:
    if declared is None:
        return passed(f"grade {grade}: {seen}; declare resume_grade={grade!r}, or its runs are never preempted")
    # A is better than B, and so it stands in the alphabet.
    if declared < grade:
        return failed(f"grade {grade}, but resume_grade={declared!r} is declared: declare {grade!r}; {seen}")
    return passed(f"grade {grade}: {seen}")


def _unproven(declared: str | None, why: str) -> Verdict:
    """A grade that nothing shows is a fault: runs would be preempted on the strength of it."""
    if declared in ("A", "B"):
        return failed(f"resume_grade={declared!r} is declared, but nothing proves it; {why}")
    return not_applicable(why)


def _starts_again(whole: Sequence[Point], before: int, resumed: Sequence[Point]) -> bool:
    places_before = [point[:2] for point in whole[:before]]
    return bool(resumed) and resumed[0][:2] in places_before and len(resumed) >= len(whole)


def _unlike(name: str, expected: Sequence[Point], resumed: Sequence[Point]) -> str:
    """Say how the series *name* breaks `RULE_OF_GRADE_B`, nothing if it keeps it."""
    ours, theirs = _numbers(expected, name), _numbers(resumed, name)
    if not ours:
        return ""
    if not theirs:
        return f"series {name!r} has {len(ours)} values in the uninterrupted run and none after the checkpoint"
    allowed = 3 * (pstdev(ours) + pstdev(theirs)) + 0.5 * abs(fmean(ours))
    if abs(fmean(ours) - fmean(theirs)) <= allowed:
        return ""
    return (
        f"series {name!r} has a mean of {fmean(theirs):.6g} after the checkpoint and of {fmean(ours):.6g} in the "
        f"uninterrupted run, where {allowed:.6g} between them are allowed"
    )


def _numbers(points: Sequence[Point], name: str) -> list[float]:
    return [float(point[2]) for point in points if _series(point) == name and isinstance(point[2], (int, float))]


def _series(point: Point) -> str:
    """Return what *point* is one value of: all episodes of a run are one series, however they are numbered."""
    return _EPISODE_INDEX.sub("episode ", point[0])


def _unjudgeable(evidence: Evidence) -> str | None:
    if not isinstance(evidence.config.get("seed"), int):
        return "its config sets no seed, so nothing is promised"
    if not evidence.short_run.stdout.points():
        return "it prints no metric or episode lines to compare"
    return None
