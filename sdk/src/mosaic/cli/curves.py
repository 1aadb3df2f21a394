"""The curves that `mosaic metrics` shows, read as they are, and drawn with what was done to them said."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from mosaic.cli import render
from mosaic.cli.plot import Line, plot
from mosaic.client import Mosaic, Run
from mosaic.errors import NotFound, did_you_mean

#: The curve that is made from the episodes of training, whatever metrics a worker sends.
EPISODES = "episode_return"
#: Curves shown when none is named and no run has told of episodes: the first that the runs have.
_FAVOURITES = (EPISODES, "charts/episodic_return", "return", "total_reward")
#: Single returns hide the trend: a picture shows the mean of so many.
_SMOOTHED_OVER = 20
_RESOLUTION = 400


@dataclass(frozen=True, slots=True)
class Points:
    """A curve: steps, values and the unit of the steps, in this order."""

    xs: list[float] = field(default_factory=list)
    ys: list[float] = field(default_factory=list)
    unit: str = ""
    #: Of how many points each value is the mean.
    mean_of: int = 1
    is_of_agents: bool = False

    def smoothed(self, window: int) -> Points:
        """Return the mean over the last *window* values at each step; what is no finite number is left out of it."""
        last: deque[float] = deque(maxlen=window)
        means = []
        for value in self.ys:
            last.append(value)
            finite = [one for one in last if math.isfinite(one)]
            means.append(sum(finite) / len(finite) if finite else math.nan)
        return Points(self.xs, means, self.unit, window, self.is_of_agents)


@dataclass(frozen=True)
class Curves:
    """What was asked for: which curves of which runs, and of which attempt (0 = what counts of each)."""

    platform: Mosaic
    runs: Sequence[Run]
    names: Sequence[str] = ()
    attempt: int = 0
    #: Each attempt by itself, with what a later one trained again.
    all_attempts: bool = False

    def known(self, run: Run) -> set[str]:
        """Return the names of what *run* has."""
        return {info.name for info in self.platform.series(run.run_id, attempt=self.attempt)}

    def document(self, *, may_come: bool = False) -> dict[str, dict[str, tuple[list[float], list[float], str]]]:
        """Return every point of each curve under its run and its name.

        Raises:
            NotFound: a run has no such curve; one that *may_come* is without points meanwhile.
        """
        told: dict[str, dict[str, tuple[list[float], list[float], str]]] = {}
        for run in self.runs:
            told[run.run_id] = {}
            for name in self._chosen():
                for attempt in self._attempts(run):
                    points = self._points(run, name, attempt, resolution=0, may_come=may_come)
                    title = f"{name} (attempt {attempt})" if self.all_attempts else name
                    told[run.run_id][title] = (points.xs, points.ys, points.unit)
        return told

    def picture(self, *, may_come: bool = False) -> str:
        """Return the curves drawn as rich markup.

        Raises:
            NotFound: a run has no such curve; one that *may_come* is drawn without points meanwhile.
        """
        return "\n\n".join(self._drawn(name, may_come=may_come) for name in self._chosen())

    def _chosen(self) -> Sequence[str]:
        if self.names:
            return self.names
        numbers = self.platform.summaries([run.run_id for run in self.runs])
        if any(summary.episodes for summary in numbers.values()):
            return [EPISODES]
        known = set().union(*(self.known(run) for run in self.runs))
        return [next((name for name in _FAVOURITES if name in known), EPISODES)]

    def _attempts(self, run: Run) -> Sequence[int]:
        return range(1, self.platform.run(run.run_id).run.attempt + 1) if self.all_attempts else [self.attempt]

    def _drawn(self, name: str, *, may_come: bool) -> str:
        lines, read = [], []
        for run in self.runs:
            for attempt in self._attempts(run):
                points = self._points(run, name, attempt, resolution=_RESOLUTION, may_come=may_come)
                points = points.smoothed(_SMOOTHED_OVER) if name == EPISODES and points.mean_of == 1 else points
                read.append(points)
                lines.append(Line(self._label(run, name, attempt), points.xs, points.ys))
        width = max(40, min(100, render.out.width - 16))
        unit = next((points.unit for points in read if points.unit), "")
        return plot(lines, width=width, title=_title(name, read), unit=unit.replace("_", " "))

    def _label(self, run: Run, name: str, attempt: int) -> str:
        label = label_of(run) if len(self.runs) > 1 else name
        return f"{label} attempt {attempt}" if self.all_attempts else label

    def _points(self, run: Run, name: str, attempt: int, *, resolution: int, may_come: bool) -> Points:
        run_id = run.run_id
        episodes = self._episodes(run_id, attempt) if name == EPISODES else None
        if episodes is not None:
            return episodes
        known = {info.name for info in self.platform.series(run_id, attempt=attempt)}
        if name in known:
            curve = self.platform.curve(run_id, name, attempt=attempt, resolution=resolution)
            mean_of = math.ceil(max(curve.counts, default=1))
            return Points(list(curve.steps), list(curve.means), curve.unit, mean_of)
        if may_come or self.all_attempts or name == EPISODES:
            return Points()
        hint = did_you_mean(name, known | {EPISODES})
        raise NotFound(f"run {run_id} has no curve {name!r}{hint} (`mosaic metrics {run_id} --list`)")

    def _episodes(self, run_id: str, attempt: int) -> Points | None:
        """Return the returns of training; None if none was told."""
        episodes = self.platform.episodes(run_id, attempt=attempt)
        if not episodes:
            return None
        has_steps = any(math.isfinite(episode.step) for episode in episodes)
        xs = [episode.step if has_steps else float(episode.index) for episode in episodes]
        ys = [episode.episode_return for episode in episodes]
        is_of_agents = len({episode.agent for episode in episodes}) > 1
        return Points(xs, ys, "env_steps" if has_steps else "episodes", is_of_agents=is_of_agents)


def label_of(run: Run) -> str:
    """Return what tells *run* from others in a legend: its name or worker, its seed and the end of its id."""
    seed = "" if run.spec.seed is None else f" seed {run.spec.seed}"
    return f"{run.spec.name or run.spec.worker}{seed} {render.short_id(run.run_id)}"


def _title(name: str, read: Sequence[Points]) -> str:
    """Return *name* with what was done to the values."""
    mean_of = max((points.mean_of for points in read), default=1)
    of_agents = " of single agents" if any(points.is_of_agents for points in read) else ""
    return f"{name}{of_agents}, mean of {mean_of}" if mean_of > 1 else f"{name}{of_agents}"
