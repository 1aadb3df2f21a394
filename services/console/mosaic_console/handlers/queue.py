"""What waits and what needs somebody: the home page and the queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mosaic.client import Explanation, Run, Summary, Team
from mosaic.errors import MosaicError, Unavailable
from mosaic.lifecycle import RunState, is_terminal
from mosaic.model.run import RunFilter
from mosaic_console.domain.wanted import LARGEST_PAGE
from mosaic_console.handlers.views import Progress, progress_of
from mosaic_console.ports import Platform

_OPEN = frozenset(state for state in RunState if not is_terminal(state))
_BAD = frozenset({RunState.FAILED})
_RECENT = timedelta(days=7)
#: Waiting runs of which the scheduler is asked when they may start.
_MOST_EXPLAINED = 50
_FEW = 20


@dataclass(frozen=True)
class Waiting:
    """A run in the queue, and what the scheduler says of it."""

    run: Run
    told: Explanation | None


@dataclass(frozen=True)
class HomeView:
    """What needs me."""

    active: Sequence[tuple[Run, Summary | None, Progress | None]]
    waiting: Sequence[Waiting]
    failed: Sequence[Run]
    done: Sequence[Run]
    fault: str = ""


@dataclass(frozen=True)
class Use:
    """What a team uses of what it may."""

    team: str
    runs: int
    queued: int
    cpus: float
    gpus: float
    quota: float | None
    borrowing: float | None

    @property
    def borrowed(self) -> float:
        """GPUs beyond its quota."""
        return max(0.0, self.gpus - self.quota) if self.quota is not None else 0.0

    @property
    def scale(self) -> float:
        """What the whole bar stands for."""
        return max(self.gpus, (self.quota or 0.0) + (self.borrowing or 0.0), 1.0)


@dataclass(frozen=True)
class QueueView:
    """Everything that waits, first in line first, and who uses what."""

    waiting: Sequence[Waiting]
    more: int
    uses: Sequence[Use]


def see_home(platform: Platform, user: str, *, now: datetime) -> HomeView:
    """Return the runs of *user* that are under way, wait, or failed a short time ago."""
    mine = platform.page(RunFilter(states=_OPEN, user=user), size=LARGEST_PAGE).runs
    waiting = [run for run in mine if run.state is RunState.QUEUED]
    active = [run for run in mine if run.state is not RunState.QUEUED]
    failed = platform.page(RunFilter(states=_BAD, user=user), size=_FEW).runs
    done = platform.page(RunFilter(states=frozenset({RunState.SUCCEEDED}), user=user), size=5).runs
    numbers, fault = _numbers(platform, active)
    schemas = _schemas(platform)
    return HomeView(
        [
            (run, numbers.get(run.run_id), progress_of(run, numbers.get(run.run_id), schemas.get(run.spec.worker, {})))
            for run in active
        ],
        _explained(platform, waiting[::-1][:_FEW]),
        [run for run in failed if run.ended_at is None or now - run.ended_at < _RECENT],
        done,
        fault,
    )


def see_queue(platform: Platform) -> QueueView:
    """Return what waits, and what each team uses."""
    found = platform.page(RunFilter(states=_OPEN), size=LARGEST_PAGE).runs
    queued = [run for run in found if run.state is RunState.QUEUED][::-1]
    waiting = _explained(platform, queued[:_MOST_EXPLAINED])
    order = sorted(waiting, key=lambda one: one.told.queue_position if one.told else len(queued))
    return QueueView(order, len(queued) - len(waiting), _uses(platform.teams(), found))


def _explained(platform: Platform, runs: Sequence[Run]) -> list[Waiting]:
    found: list[Waiting] = []
    for run in runs:
        try:
            found.append(Waiting(run, platform.explain(run.run_id)))
        except MosaicError:
            found.append(Waiting(run, None))  # it has begun meanwhile; the next look shows it so
    return found


def _uses(teams: Sequence[Team], runs: Sequence[Run]) -> list[Use]:
    known = {str(team.name): team for team in teams}
    names = sorted({*known, *(str(run.spec.team) for run in runs)})
    return [_use(name, known.get(name), [run for run in runs if run.spec.team == name]) for name in names]


def _use(name: str, team: Team | None, runs: Sequence[Run]) -> Use:
    held = [run for run in runs if run.state is not RunState.QUEUED]
    return Use(
        name,
        len(held),
        len(runs) - len(held),
        sum(run.spec.resources.cpus for run in held),
        sum(run.spec.resources.gpus + run.spec.resources.gpu_fraction for run in held),
        team.quota.gpus if team else None,
        team.borrowing_limit_gpus if team else None,
    )


def _numbers(platform: Platform, runs: Sequence[Run]) -> tuple[Mapping[str, Summary], str]:
    try:
        return platform.summaries([run.run_id for run in runs]) if runs else {}, ""
    except Unavailable as error:
        return {}, str(error)


def _schemas(platform: Platform) -> Mapping[str, Mapping[str, object]]:
    return {str(worker.name): worker.config_schema for worker in platform.fleet().workers}
