"""Arms of runs, each with its interquartile mean, its interval, its curve, and who is missing from them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mosaic.client import Run
from mosaic.comparison import scores
from mosaic.comparison.arms import Arm, Group, find, grouped, missing_seeds
from mosaic.comparison.facts import Facts, facts_of
from mosaic.comparison.members import Member, member, replaced, why_left_out
from mosaic.comparison.scores import MEASURES, Told
from mosaic.comparison.settings import DEFAULT, Settings, shown
from mosaic.comparison.source import Source
from mosaic.errors import BadInput, did_you_mean
from mosaic.lifecycle import RunState
from mosaic.statistics import Band, align, band, bootstrap, performance_profile, probability_of_improvement
from mosaic.statistics.scores import Floats

_CURVE_POINTS = 200
_PROFILE_POINTS = 101
#: Below this many seeds an interval is told to be rough: a percentile bootstrap of so few is too narrow.
_FEW = 5
_SHOWN = 3
#: Runs of at least this part of the longest one are meant to be as long.
_SAME_LENGTH = 0.95


@dataclass(frozen=True, slots=True)
class Comparison:
    """What several groups of settings came to, side by side."""

    #: ``final``, ``evaluation``, ``best`` or ``auc``, and what that is.
    of: str
    definition: str
    #: The step up to which runs were judged; None = to their end.
    at: float | None
    #: Of the steps.
    unit: str
    env: str
    #: ``training``, or ``agents`` where the returns are of single agents.
    returns_of: str
    baseline: str
    arms: tuple[Arm, ...]
    #: Who is missing from the numbers, and what else should be known of them, in sentences.
    notes: tuple[str, ...]


def compare(
    platform: Source,
    runs: Collection[Run],
    *,
    by: Sequence[str] = (),
    of: str = "final",
    at: float | None = None,
    baseline: str = "",
    between: tuple[float, float] = (-math.inf, math.inf),
) -> Comparison:
    """Compare *runs*, grouped into arms.

    Args:
        platform: where they are.
        runs: which ones; the order of the arms is that of their first runs.
        by: settings whose values make an arm; nothing = all of them but the seed.
        of: what is compared, one of `MEASURES`.
        at: judge every run at this step, instead of those that succeeded at their end.
        baseline: what arms are compared with: the label of one, ``SETTING=VALUE`` or one of its runs; else the first.
        between: the steps that the learning curves show.

    Raises:
        BadInput: there is nothing to compare, or the runs' returns are of different things; it says which.
    """
    if of not in MEASURES:
        raise BadInput("--of", [f"{of!r} is not known{did_you_mean(of, MEASURES)} ({', '.join(MEASURES)})"])
    if not runs:
        raise BadInput("compare", ["no run was named"])
    facts = list({run.run_id: facts_of(run) for run in runs}.values())
    settings = Settings(platform, facts)
    settings.check(by)
    told = _read(platform, facts, evaluations=of == "evaluation" and at is not None)
    env, unit, returns_of = _one_thing(facts, settings, told)
    groups = grouped(facts, settings, by)
    first = find(groups, baseline)
    members = _members(groups, told, of, at)
    arms = _arms(groups, first, members, told, settings, between)
    definition = f"{MEASURES[of]}{'' if at is None else f' up to step {at:,.0f}'}"
    return Comparison(of, definition, at, unit, env, returns_of, groups[first].label, tuple(arms), tuple(_notes(arms)))


def _read(platform: Source, runs: Sequence[Facts], *, evaluations: bool) -> dict[str, Told]:
    summaries = platform.summaries([run.run_id for run in runs])
    return {
        run.run_id: scores.read(platform, run.run_id, summaries.get(run.run_id), evaluations=evaluations)
        for run in runs
    }


def _one_thing(runs: Sequence[Facts], settings: Settings, told: Mapping[str, Told]) -> tuple[str, str, str]:
    """Return the environment, the unit of steps and whose returns they are.

    Raises:
        BadInput: the runs differ in one of them; it says who has what.
    """
    envs = {run.run_id: shown(settings.value(run, "env")) for run in runs}
    kinds = (
        (
            {run: env for run, env in envs.items() if env != DEFAULT},
            "they play {}",
            "compare one at a time: --env NAME",
        ),
        ({run: one.returns_of for run, one in told.items()}, "their returns are of {}", "those are different sums"),
        ({run: one.unit for run, one in told.items()}, "their steps are {}", "those are different axes"),
    )
    found, faults = [], []
    for values, sentence, advice in kinds:
        who: dict[str, list[str]] = {}
        for run_id, value in values.items():
            if value:
                who.setdefault(_WORDS.get(value, value), []).append(run_id[-8:])
        if len(who) > 1:
            having = " and ".join(f"{value} ({_listed(ids)})" for value, ids in who.items())
            faults.append(f"runs of different things are not compared: {sentence.format(having)}; {advice}")
        found.append(next(filter(None, values.values()), ""))
    if faults:
        raise BadInput("compare", faults)
    env, returns_of, unit = found
    return env, unit, returns_of


_WORDS = {
    "training": "the run as a whole (its only agent, or the sum over its team)",
    "agents": "single agents",
    "env_steps": "steps in the environment",
    "episodes": "episodes (no step was told)",
}


def _members(groups: Sequence[Group], told: Mapping[str, Told], of: str, at: float | None) -> dict[str, Member]:
    runs = [run for group in groups for run in group.runs]
    instead = {old: new for group in groups for old, new in replaced(group.runs).items()}
    left_out = {run.run_id: why_left_out(run, told[run.run_id], at, instead) for run in runs}
    counting = [run.run_id for run in runs if not left_out[run.run_id]]
    found = dict(zip(counting, _scored([told[run_id] for run_id in counting], of, at), strict=True))
    return {
        run.run_id: member(run, told[run.run_id], found.get(run.run_id), left_out[run.run_id], of, instead)
        for run in runs
    }


def _scored(told: Sequence[Told], of: str, at: float | None) -> list[float | None]:
    if of != "auc":
        return [scores.score(one, of, at) for one in told]
    try:
        return scores.areas(told, at)
    except ValueError as error:
        raise BadInput("compare", [f"the curves have no steps in common: {error}; use --of final"]) from None


def _arms(
    groups: Sequence[Group],
    first: int,
    members: Mapping[str, Member],
    told: Mapping[str, Told],
    settings: Settings,
    between: tuple[float, float],
) -> list[Arm]:
    of_each = [tuple(members[run.run_id] for run in group.runs) for group in groups]
    values = [[one.score for one in own if one.score is not None] for own in of_each]
    in_curve = [[one for one in own if one.in_curve] for own in of_each]
    grid = _grid([one for own in in_curve for one in own if one.reached], told, between)
    aligned = [align([told[one.run_id].curve() for one in own] or [([], [])], grid) for own in in_curve]
    levels = _levels(values)
    missing = missing_seeds(groups)
    return [
        Arm(
            label=group.label,
            settings=group.settings,
            members=of_each[place],
            missing_seeds=missing[place],
            mixes=tuple(settings.differing(group.runs)),
            score=bootstrap(values[place]),
            better=None if place == first else probability_of_improvement(values[place], values[first]),
            curve=band(aligned[place]),
            traces=aligned[place].values,
            profile=performance_profile(values[place], levels),
        )
        for place, group in enumerate(groups)
    ]


def _levels(values: Sequence[Sequence[float]]) -> Floats:
    """Return even thresholds from the lowest score of all to the highest."""
    scored = [score for own in values for score in own]
    return np.linspace(min(scored), max(scored), _PROFILE_POINTS) if scored else np.zeros(1)


def _grid(members: Sequence[Member], told: Mapping[str, Told], between: tuple[float, float]) -> Floats:
    """Return even steps from the first episode of all to where they end, within *between*.

    Runs of one length end within an episode of each other, as each finishes its own. The curve of those whose last
    episode was the longest would be that of the best ones alone, so the steps end where the first of them does.
    """
    begins = [told[one.run_id].steps[0] for one in members if len(told[one.run_id].steps)]
    if not begins:
        return np.empty(0)
    longest = max(one.reached or 0.0 for one in members)
    whole = [one.reached for one in members if one.reached and one.state is RunState.SUCCEEDED]
    end = min((reached for reached in whole if reached >= _SAME_LENGTH * longest), default=longest)
    begin, end = max(min(begins), between[0]), min(end, between[1])
    return np.linspace(begin, max(begin, end), _CURVE_POINTS)


def _notes(arms: Sequence[Arm]) -> list[str]:
    notes = []
    for arm in arms:
        alike: dict[str, list[str]] = {}
        for one in arm.members:
            if one.note:
                note = f"counts, though {one.note}" if one.score is not None else f"left out: {one.note}"
                alike.setdefault(note, []).append(f"seed {one.seed} ({one.run_id[-8:]})")
        notes += [f"{arm.label}: {', '.join(who)} {note}" for note, who in alike.items()]
        if arm.missing_seeds:
            notes.append(f"{arm.label}: no run with seed {', '.join(map(str, arm.missing_seeds))}, which others have")
        if arm.mixes:
            notes.append(f"{arm.label}: its runs differ in {', '.join(arm.mixes)} as well, not in their seed alone")
        notes += [f"{arm.label}: {about}" for about in (_about_interval(arm), _about_curve(arm.curve)) if about]
    return notes


def _about_interval(arm: Arm) -> str:
    if arm.score.note:
        return arm.score.note
    return f"only {arm.score.n} seeds: its interval is rough, and likely too narrow" if arm.score.n < _FEW else ""


def _about_curve(curve: Band) -> str:
    """Say where runs of the curve end before others of the same arm do."""
    known = np.flatnonzero(curve.n)
    if not len(known):
        return ""
    n = curve.n[: known[-1] + 1]
    last = int(np.flatnonzero(n == n.max())[-1])
    if last == known[-1]:
        return ""
    return f"its curve is of {n.max()} runs to step {curve.steps[last]:,.0f} and of fewer after, at last {n[-1]}"


def _listed(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return f"{'run' if len(ids) == 1 else 'runs'} {', '.join(ids[:_SHOWN])}{more}"
