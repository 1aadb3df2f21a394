"""What every surface has to show of a run, computed from the formula of the toy environments and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from tests.workers.oracle.games.oracle_formula import AGENTS, evaluation_return, length, shares, training_return

#: The mean return of a run is over so many training episodes, the newest; that of its curve over so many.
HEADLINE, CURVE = 100, 20

TRAINING, AGENT, EVALUATION, EVALUATION_AGENT = "training", "agent", "evaluation", "evaluation_agent"


@dataclass(frozen=True)
class Plan:
    """How long a run trains and what it does meanwhile, all in steps."""

    total: int = 1024
    checkpoint_every: int = 256
    eval_every: int = 192
    eval_episodes: int = 3
    metrics_every: int = 64
    #: The first attempt is killed when it begins the training episode of this number.
    killed_in: int | None = None


@dataclass(frozen=True)
class Habits:
    """What a worker does in its own way, as its README says."""

    is_team: bool = False
    #: Evaluations and checkpoints are made when so many more steps are done; 0 = when an episode is.
    turn: int = 64
    #: The running mean is told with every episode, not every `Plan.metrics_every` steps.
    tells_mean_of_every_episode: bool = False
    #: A checkpoint holds the environment, too, in the middle of its episode.
    keeps_environment: bool = True
    #: At every checkpoint new episodes are begun, as they would be by an attempt that goes on from there.
    begins_anew: bool = False


@dataclass(frozen=True)
class Episode:
    """One episode as it is told."""

    kind: str
    attempt: int
    index: int
    episode_return: float
    length: int
    step: int
    agent: str = ""


@dataclass(frozen=True)
class Point:
    """One point of a curve as it is told."""

    name: str
    attempt: int
    step: int
    value: float


Told = Episode | Point


@dataclass
class _Worker:
    """Trains as a worker would: keeps what an attempt knows, and tells of it."""

    plan: Plan
    habits: Habits
    attempt: int = 1
    step: int = 0
    #: Training episodes of the run, and those of this environment.
    episodes: int = 0
    ended: int = 0
    #: Steps of the episode under way.
    under_way: int = 0
    recent: tuple[float, ...] = ()
    evaluations: int = 0
    evaluated_at: int = 0
    saved_at: int = 0
    metrics_at: int = 0
    told: list[Told] = field(default_factory=list)

    @property
    def is_killed(self) -> bool:
        """Whether this attempt ends here."""
        return self.attempt == 1 and self.under_way == 0 and self.ended == self.plan.killed_in

    def take_step(self) -> None:
        """Take one step, and at the end of a turn evaluate, save and measure."""
        self.step += 1
        self.under_way += 1
        is_over = self.under_way == length(self.ended)
        if is_over:
            self._end_episode()
        if is_over if self.habits.turn == 0 else self.step % self.habits.turn == 0:
            self._end_turn()

    def evaluate(self) -> None:
        """Play every evaluation seed once."""
        self.evaluated_at = self.step
        returns = [evaluation_return(place, self.evaluations, self.attempt) for place in range(self.plan.eval_episodes)]
        self.evaluations += 1
        for place, whole in enumerate(returns):
            self._tell_episode(EVALUATION, place, whole, length(place))
        self._tell("eval/mean_return", fmean(returns))

    def save(self) -> _Worker:
        """Return what an attempt that goes on from here knows."""
        self.saved_at = self.step
        if self.habits.begins_anew:
            self.under_way = 0
        keeps = self.habits.keeps_environment
        environment = {} if keeps else {"ended": 0, "under_way": 0}
        return replace(self, attempt=self.attempt + 1, evaluations=0, told=[], **environment)

    @property
    def is_save_due(self) -> bool:
        """Whether a checkpoint is to be written."""
        return self.step - self.saved_at >= self.plan.checkpoint_every

    def _end_episode(self) -> None:
        whole = training_return(self.ended, self.attempt)
        self.recent = (*self.recent, whole)[-CURVE:]
        self._tell_episode(TRAINING, self.episodes, whole, length(self.ended))
        self.ended, self.under_way, self.episodes = self.ended + 1, 0, self.episodes + 1
        if self.habits.tells_mean_of_every_episode:
            self._tell("episode_return_mean", fmean(self.recent))

    def _end_turn(self) -> None:
        plan = self.plan
        is_due = self.step - self.metrics_at >= plan.metrics_every or self.step >= plan.total
        if is_due and not self.habits.tells_mean_of_every_episode:
            self.metrics_at = self.step
            self._tell("episode_return_mean", fmean(self.recent))
        if plan.eval_every and self.step // plan.eval_every > self.evaluated_at // plan.eval_every:
            self.evaluate()

    def _tell_episode(self, kind: str, index: int, whole: float, steps: int) -> None:
        self.told.append(Episode(kind, self.attempt, index, whole, steps, self.step))
        if self.habits.is_team and kind == TRAINING:
            self.told += [
                Episode(AGENT, self.attempt, index, part, steps, self.step, agent)
                for agent, part in shares(whole).items()
            ]

    def _tell(self, name: str, value: float) -> None:
        self.told.append(Point(name, self.attempt, self.step, value))


def tell(plan: Plan, habits: Habits) -> tuple[list[Told], list[Told]]:
    """Return what counts of what a run tells, and what of it is lost, both in order."""
    worker = _Worker(plan, habits)
    counted: list[Told] = []
    lost: list[Told] = []
    resume: _Worker | None = None
    while worker.step < plan.total or not (habits.turn or worker.under_way == 0):
        if worker.is_killed:
            assert resume is not None, "killed before there was a checkpoint"
            lost, worker = worker.told, resume
        worker.take_step()
        if worker.is_save_due and (habits.turn or worker.under_way == 0):
            counted += worker.told
            worker.told = []
            resume = worker.save()
    if plan.eval_episodes:
        worker.evaluate()
    return counted + worker.told, lost


@dataclass(frozen=True)
class Expected:
    """The numbers of one run."""

    counted: Sequence[Told]
    lost: Sequence[Told]

    def episodes(self, kind: str = TRAINING, agent: str = "") -> list[Episode]:
        """Return the episodes of one kind that count."""
        found = (one for one in self.counted if isinstance(one, Episode))
        return [one for one in found if one.kind == kind and agent in ("", one.agent)]

    def curve(self, name: str) -> list[tuple[float, float]]:
        """Return steps and values of a curve."""
        return [(one.step, one.value) for one in self.counted if isinstance(one, Point) and one.name == name]

    @property
    def numbers(self) -> dict[str, Any]:
        """The table: every number that is shown somewhere, by one name for all surfaces."""
        return numbers_of(self.episodes(), self.episodes(EVALUATION))


def numbers_of(training: Sequence[Episode], evaluation: Sequence[Episode]) -> dict[str, Any]:
    """Return what *training* and *evaluation* episodes come to."""
    returns = [one.episode_return for one in training]
    best = max(training, key=lambda one: one.episode_return)
    newest = [one for one in evaluation if one.step == evaluation[-1].step]
    last_step = max(one.step for one in [*training, *evaluation])
    return {
        "episodes": len(training),
        "mean_return": fmean(returns[-HEADLINE:]),
        "last_return": returns[-1],
        "best_return": best.episode_return,
        "best_step": best.step,
        "total_reward": sum(returns),
        "recent_mean": fmean(returns[-CURVE:]),
        "last_step": last_step,
        "evaluation.count": len(evaluation),
        "evaluation.episodes": len(newest),
        "evaluation.mean_return": fmean(one.episode_return for one in newest) if newest else None,
        "evaluation.max_return": max((one.episode_return for one in newest), default=None),
        "evaluation.min_return": min((one.episode_return for one in newest), default=None),
        "evaluation.step": newest[-1].step if newest else None,
    }


def confusions(expected: Expected) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every way to mix things up that somebody has fallen into, and the numbers that it would show."""
    training, evaluation = expected.episodes(), expected.episodes(EVALUATION)
    shares_told = expected.episodes(AGENT)
    lost = [one for one in expected.lost if isinstance(one, Episode)]
    if evaluation:
        yield "evaluation counted as training", numbers_of([*training, *evaluation], evaluation)
    if shares_told:
        yield "agents counted as the team", numbers_of([*training, *shares_told], evaluation)
        for agent in AGENTS:
            yield f"{agent} taken for the team", numbers_of(expected.episodes(AGENT, agent), evaluation)
        yield "mean over agents", numbers_of(_changed(training, lambda whole: whole / len(AGENTS)), evaluation)
    if lost:
        told = sorted([*training, *(one for one in lost if one.kind == TRAINING)], key=lambda one: one.attempt)
        again = sorted([*evaluation, *(one for one in lost if one.kind == EVALUATION)], key=lambda one: one.attempt)
        yield "lost stretch counted", numbers_of(told, again)
        newest = ([one for one in kind if one.attempt > 1] for kind in (training, evaluation))
        yield "last attempt alone", numbers_of(*newest)
    yield "smoothed", numbers_of(smoothed(training), evaluation)


def _changed(episodes: Sequence[Episode], change: Callable[[float], float]) -> list[Episode]:
    return [replace(one, episode_return=change(one.episode_return)) for one in episodes]


def smoothed(episodes: Sequence[Episode]) -> list[Episode]:
    """Return *episodes* with the mean of the newest `CURVE` returns in the place of each."""
    returns = [one.episode_return for one in episodes]
    means = (fmean(returns[max(0, index - CURVE + 1) : index + 1]) for index in range(len(returns)))
    return [replace(one, episode_return=mean) for one, mean in zip(episodes, means, strict=True)]
