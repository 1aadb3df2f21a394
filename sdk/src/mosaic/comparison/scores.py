"""What a run came to, and how it got there; `docs/reference/numbers.md` says what each number is of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mosaic.client import Episode, Summary
from mosaic.comparison.source import Source
from mosaic.statistics import align
from mosaic.statistics.scores import Floats

#: Episodes behind a mean return, as everywhere.
NEWEST = 100
_STEPS_OF_AN_AREA = 200

#: What `--of` takes, and what it is.
MEASURES: Mapping[str, str] = {
    "final": f"mean return of the newest {NEWEST} training episodes",
    "evaluation": "mean return of the newest evaluation",
    "best": "highest return of a training episode",
    "auc": f"mean over steps of the learning curve (mean return of the newest {NEWEST} training episodes)",
}


@dataclass(frozen=True, slots=True)
class Told:
    """What one run told of its training."""

    steps: Floats
    returns: Floats
    #: Of the steps: ``env_steps``, or ``episodes`` where no episode told its step; empty without episodes.
    unit: str
    #: How far it got, in that unit.
    reached: float
    summary: Summary | None
    evaluations: Sequence[Episode] = ()

    @property
    def returns_of(self) -> str:
        """``training``, ``agents``, or nothing if no episode was told."""
        return self.summary.returns_of if self.summary is not None and len(self.returns) else ""

    def curve(self) -> tuple[Floats, Floats]:
        """Return the mean return at every episode, and at the end, up to which the last one holds."""
        if not len(self.steps):
            return self.steps, self.returns
        means = rolling_mean(self.returns, NEWEST)
        return np.append(self.steps, self.reached), np.append(means, means[-1])


def read(platform: Source, run_id: str, summary: Summary | None, *, evaluations: bool) -> Told:
    """Return what the run told, as far as it counts."""
    if summary is None:
        return Told(np.empty(0), np.empty(0), "", math.nan, None)
    episodes = platform.episodes(run_id)
    has_steps = any(math.isfinite(episode.step) for episode in episodes)
    unit = ("env_steps" if has_steps else "episodes") if episodes else ""
    steps = np.array([episode.step if has_steps else float(episode.index) for episode in episodes])
    ends = [summary.last_step] if unit != "episodes" else []
    reached = max([end for end in (*ends, *steps) if math.isfinite(end)], default=math.nan)
    returns = np.array([episode.episode_return for episode in episodes])
    judged = platform.episodes(run_id, kind="evaluation") if evaluations else ()
    return Told(steps, returns, unit, reached, summary, judged)


def rolling_mean(values: Floats, window: int) -> Floats:
    """Return at each value the mean of the last *window* of them; what is no finite number is left out of it."""
    is_finite = np.isfinite(values)
    total, count = np.cumsum(np.where(is_finite, values, 0.0)), np.cumsum(is_finite, dtype=np.float64)
    total[window:], count[window:] = total[window:] - total[:-window], count[window:] - count[:-window]
    return np.asarray(np.divide(total, count, out=np.full(len(values), np.nan), where=count > 0))


def score(told: Told, of: str, at: float | None) -> float | None:
    """Return the measure *of* a run, up to step *at* if one is given; None if it told nothing of it."""
    reader = _AT_A_STEP[of] if at is not None else _AT_THE_END[of]
    return reader(told, at)


def areas(told: Sequence[Told], at: float | None) -> list[float | None]:
    """Return the mean over steps of each curve, over the stretch that all of them have, up to *at*; None without one.

    Raises:
        ValueError: they have none in common.
    """
    curves = [one.curve() for one in told]
    known = [steps[np.isfinite(values)] for steps, values in curves]
    bounds = [(steps[0], steps[-1]) for steps in known if len(steps)]
    if not bounds:
        return [math.nan if len(one.returns) else None for one in told]
    begin, end = max(first for first, _ in bounds), min(last for _, last in bounds)
    end = end if at is None else min(end, at)
    if end < begin:
        raise ValueError(f"the last begins at step {begin:,.0f}, after step {end:,.0f}")
    means = align(curves, np.linspace(begin, end, _STEPS_OF_AN_AREA)).values.mean(axis=1)
    return [float(mean) if len(one.returns) else None for one, mean in zip(told, means, strict=True)]


def _final_at(told: Told, at: float) -> float | None:
    until = told.returns[told.steps <= at]
    return float(rolling_mean(until, NEWEST)[-1]) if len(until) else None


def _best_at(told: Told, at: float) -> float | None:
    until = told.returns[(told.steps <= at) & np.isfinite(told.returns)]
    return float(until.max()) if len(until) else None


def _evaluation_at(told: Told, at: float) -> float | None:
    until = [episode for episode in told.evaluations if episode.step <= at]
    newest = max((episode.step for episode in until), default=math.nan)
    returns = [episode.episode_return for episode in until if episode.step == newest]
    return sum(returns) / len(returns) if returns else None


def _final(told: Told, _: Any) -> float | None:
    return told.summary.mean_return if told.summary else None


def _best(told: Told, _: Any) -> float | None:
    return told.summary.best_return if told.summary else None


def _evaluation(told: Told, _: Any) -> float | None:
    judged = told.summary.evaluation if told.summary else None
    return judged.mean_return if judged else None


_Reader = Callable[[Told, Any], "float | None"]
_AT_A_STEP: Mapping[str, _Reader] = {"final": _final_at, "best": _best_at, "evaluation": _evaluation_at}
_AT_THE_END: Mapping[str, _Reader] = {"final": _final, "best": _best, "evaluation": _evaluation}
