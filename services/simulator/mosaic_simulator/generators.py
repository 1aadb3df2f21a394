"""Traces with a known shape: what a policy must be good at, made from a seed.

Every kind is scaled so that its runs ask for a fixed multiple of what the fleet can give
(`LOAD`), whatever the number of runs, nodes and hours: a generated trace is saturated, or is
not, at every size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from random import Random
from types import MappingProxyType

from mosaic.ids import RunId, TeamName, UserName, WorkerName
from mosaic.model.resources import Resources
from mosaic.model.run import Priority
from mosaic_scheduler.domain.run import ResumeGrade
from mosaic_simulator.fleet import Fleet, even_fleet
from mosaic_simulator.trace import NodeChange, NodeEvent, Trace, TracedRun, in_order


class TraceKind(str, Enum):
    """The shapes of load a trace can be generated with."""

    STEADY = "steady"  #: equal teams, all asking for more than there is, all day
    BURSTS = "bursts"  #: sweeps: one person submits dozens of equal runs at once
    GREEDY = "greedy"  #: one user floods the queue; the other teams ask for what their quota holds
    GANGS = "gangs"  #: runs of four and eight GPUs among small ones
    DIURNAL = "diurnal"  #: two continents: half the teams sleep while the others work
    NODE_FAILURES = "node-failures"  #: nodes fail, drain and come back


#: GPU time asked for, as a multiple of what the fleet has from the first to the last submission.
LOAD: Mapping[TraceKind, float] = MappingProxyType(
    {
        TraceKind.STEADY: 1.3,
        TraceKind.BURSTS: 0.9,
        TraceKind.GREEDY: 1.7,
        TraceKind.GANGS: 1.1,
        TraceKind.DIURNAL: 0.95,
        TraceKind.NODE_FAILURES: 1.0,
    }
)


@dataclass(frozen=True, slots=True)
class TraceSize:
    """How big a generated trace is, and the seed it is drawn from."""

    runs: int = 2000
    hours: float = 24.0
    teams: int = 4
    nodes: int = 20
    seed: int = 1

    @property
    def seconds(self) -> float:
        """The span over which runs are submitted."""
        return self.hours * 3600


@dataclass(frozen=True, slots=True)
class _Library:
    """How the runs of one worker behave when they are interrupted."""

    worker: str
    resume_grade: ResumeGrade
    checkpoint_seconds: float | None
    steps_per_second: float


_LIBRARIES = (
    _Library("cleanrl", ResumeGrade.EXACT, 300.0, 2400.0),
    _Library("xuance", ResumeGrade.EQUIVALENT, 600.0, 1800.0),
    _Library("rllib", ResumeGrade.EXACT, 300.0, 6000.0),
    _Library("llm-agents", ResumeGrade.RESTARTS, None, 12.0),
)
_LIBRARY_ODDS = (40, 25, 25, 10)

_TEAM_NAMES = ("vision", "robotics", "language", "games", "control", "planning", "safety", "theory")
_USERS_PER_TEAM = 4
_GREEDY_USER = "greedy"
#: What the teams beside the greedy one ask for, as a multiple of their own quota.
_MODEST_LOAD = 0.95

#: GPUs of a run and how many runs in a hundred ask for that many.
_SMALL_MIX: Mapping[float, int] = MappingProxyType({0.25: 12, 0.5: 13, 1: 55, 2: 13, 4: 7})
_GANG_MIX: Mapping[float, int] = MappingProxyType({0.5: 15, 1: 45, 2: 15, 4: 13, 8: 12})
_PRIORITY_MIX: Mapping[Priority, int] = MappingProxyType(
    {Priority.LOW: 10, Priority.NORMAL: 80, Priority.HIGH: 8, Priority.URGENT: 2}
)

#: Work of a run before scaling: median of an hour, a tenth below twenty minutes, a tenth above three hours.
_WORK_SIGMA = 0.85
_SHORTEST_SECONDS = 60.0
_LONGEST_MEDIANS = 8.0
_ROUND_LIMIT_HOURS = (1, 2, 4, 8, 12, 24, 48, 72)


def generate(kind: TraceKind, size: TraceSize) -> tuple[Trace, Fleet]:
    """Return a trace of *kind* and the fleet it was scaled to; equal sizes give equal traces."""
    random = Random(f"{kind.value}/{size.seed}")
    fleet = even_fleet(size.nodes, team_names(size.teams), [library.worker for library in _LIBRARIES])
    runs = _GENERATORS[kind](random, size, fleet)
    return in_order(runs, _node_events(kind, random, size, fleet)), fleet


def team_names(count: int) -> tuple[TeamName, ...]:
    """Return *count* names for teams: words first, numbers when the words are used up."""
    numbered = (f"team-{number:02d}" for number in range(len(_TEAM_NAMES) + 1, count + 1))
    return tuple(TeamName(name) for name in (*_TEAM_NAMES[:count], *numbered))


def _steady(random: Random, size: TraceSize, fleet: Fleet, *, kind: TraceKind = TraceKind.STEADY) -> list[TracedRun]:
    mix = _GANG_MIX if kind is TraceKind.GANGS else _SMALL_MIX
    runs = [_run(random, index, _someone(random, size), _moment(random, size), mix) for index in range(size.runs)]
    return _scaled(runs, LOAD[kind] * _gpu_seconds(fleet, size))


def _gangs(random: Random, size: TraceSize, fleet: Fleet) -> list[TracedRun]:
    return _steady(random, size, fleet, kind=TraceKind.GANGS)


def _node_failures(random: Random, size: TraceSize, fleet: Fleet) -> list[TracedRun]:
    return _steady(random, size, fleet, kind=TraceKind.NODE_FAILURES)


def _bursts(random: Random, size: TraceSize, fleet: Fleet) -> list[TracedRun]:
    runs: list[TracedRun] = []
    while len(runs) < size.runs:
        first = _run(random, len(runs), _someone(random, size), _moment(random, size), _SMALL_MIX)
        sweep = range(len(runs), min(len(runs) + random.randint(20, 80), size.runs))
        runs.extend([_like(first, random, index) for index in sweep])
    return _scaled(runs, LOAD[TraceKind.BURSTS] * _gpu_seconds(fleet, size))


def _greedy(random: Random, size: TraceSize, fleet: Fleet) -> list[TracedRun]:
    """Three fifths of the runs are modest; the rest come from one user within the first tenth of the day."""
    greedy_team, *others = team_names(size.teams)
    modest_count = size.runs * 3 // 5
    modest = [
        _run(random, index, _someone_of(random, random.choice(others)), _moment(random, size), _SMALL_MIX)
        for index in range(modest_count)
    ]
    flood = [
        _run(random, index, (greedy_team, UserName(_GREEDY_USER)), _moment(random, size) / 10, _SMALL_MIX)
        for index in range(modest_count, size.runs)
    ]
    capacity = _gpu_seconds(fleet, size)
    modest_share = _MODEST_LOAD * len(others) / size.teams
    return [
        *_scaled(modest, modest_share * capacity),
        *_scaled(flood, (LOAD[TraceKind.GREEDY] - modest_share) * capacity),
    ]


def _diurnal(random: Random, size: TraceSize, fleet: Fleet) -> list[TracedRun]:
    names = team_names(size.teams)
    runs = []
    for index in range(size.runs):
        owner = _someone(random, size)
        is_elsewhere = names.index(owner[0]) % 2 == 1
        at = _waking_moment(random, size, shift_hours=8.0 if is_elsewhere else 0.0)
        runs.append(_run(random, index, owner, at, _SMALL_MIX))
    return _scaled(runs, LOAD[TraceKind.DIURNAL] * _gpu_seconds(fleet, size))


_GENERATORS: Mapping[TraceKind, Callable[[Random, TraceSize, Fleet], list[TracedRun]]] = MappingProxyType(
    {
        TraceKind.STEADY: _steady,
        TraceKind.BURSTS: _bursts,
        TraceKind.GREEDY: _greedy,
        TraceKind.GANGS: _gangs,
        TraceKind.DIURNAL: _diurnal,
        TraceKind.NODE_FAILURES: _node_failures,
    }
)

_Owner = tuple[TeamName, UserName]


def _someone(random: Random, size: TraceSize) -> _Owner:
    return _someone_of(random, random.choice(team_names(size.teams)))


def _someone_of(random: Random, team: TeamName) -> _Owner:
    return team, UserName(f"{team}-{random.randint(1, _USERS_PER_TEAM)}")


def _moment(random: Random, size: TraceSize) -> float:
    return round(random.uniform(0, size.seconds), 1)


def _waking_moment(random: Random, size: TraceSize, *, shift_hours: float) -> float:
    """Draw a moment whose odds follow the working day: ten times as many at noon as at midnight."""
    while True:
        at = _moment(random, size)
        hour = (at / 3600 + shift_hours) % 24
        if random.random() < 0.55 - 0.45 * math.cos(2 * math.pi * hour / 24):
            return at


def _run(random: Random, index: int, owner: _Owner, at: float, mix: Mapping[float, int]) -> TracedRun:
    library = random.choices(_LIBRARIES, _LIBRARY_ODDS)[0] if owner[1] == _GREEDY_USER else _habit(owner)
    gpus = random.choices(list(mix), list(mix.values()))[0]
    priority = random.choices(list(_PRIORITY_MIX), list(_PRIORITY_MIX.values()))[0]
    return TracedRun(
        run_id=RunId(f"run-{index:06d}"),
        team=owner[0],
        user=owner[1],
        worker=WorkerName(library.worker),
        at=at,
        work_seconds=_work(random),
        resources=_needs(gpus),
        priority=priority,
        max_wall_seconds=_wall_factor(random),
        checkpoint_seconds=library.checkpoint_seconds,
        resume_grade=library.resume_grade,
        steps_per_second=library.steps_per_second,
    )


@lru_cache(maxsize=1024)
def _habit(owner: _Owner) -> _Library:
    """Return the library a user works with: people have one, and keep to it. Only the greedy use all."""
    return Random(f"{owner[0]}/{owner[1]}").choices(_LIBRARIES, _LIBRARY_ODDS)[0]


def _like(first: TracedRun, random: Random, index: int) -> TracedRun:
    """Return another seed of *first*: the same in all but its id and, a little, its length."""
    work = first.work_seconds * random.uniform(0.9, 1.1)
    return replace(first, run_id=RunId(f"run-{index:06d}"), work_seconds=work)


def _work(random: Random) -> float:
    return min(random.lognormvariate(0.0, _WORK_SIGMA), _LONGEST_MEDIANS)


def _wall_factor(random: Random) -> float | None:
    """Three in five owners set a limit, as a multiple of what the run needs: generous, as people are."""
    return random.uniform(1.3, 3.0) if random.random() < 0.6 else None


def _needs(gpus: float) -> Resources:
    cpus = max(1, round(4 * gpus))
    memory_mb = 4096 * cpus
    if gpus < 1:
        return Resources(cpus=cpus, memory_mb=memory_mb, gpu_fraction=gpus)
    return Resources(cpus=cpus, memory_mb=memory_mb, gpus=int(gpus))


def _gpu_seconds(fleet: Fleet, size: TraceSize) -> float:
    return fleet.gpu_count * size.seconds


def _scaled(runs: Sequence[TracedRun], gpu_seconds: float) -> list[TracedRun]:
    """Stretch the work of *runs* until they ask for *gpu_seconds* together."""
    asked = sum(run.work_seconds * run.gpus for run in runs)
    factor = gpu_seconds / asked if asked else 0.0
    return [_stretched(run, factor) for run in runs]


def _stretched(run: TracedRun, stretch: float) -> TracedRun:
    work = round(max(run.work_seconds * stretch, _SHORTEST_SECONDS), 1)
    factor = run.max_wall_seconds
    return replace(run, work_seconds=work, max_wall_seconds=None if factor is None else _round_limit(work * factor))


def _round_limit(seconds: float) -> float:
    """Return the limit a person would write: a round number of hours that holds *seconds*."""
    hours = seconds / 3600 + 0.25
    return 3600.0 * next((limit for limit in _ROUND_LIMIT_HOURS if limit >= hours), math.ceil(hours))


def _node_events(kind: TraceKind, random: Random, size: TraceSize, fleet: Fleet) -> list[NodeEvent]:
    return list(_troubles(random, size, fleet)) if kind is TraceKind.NODE_FAILURES else []


def _troubles(random: Random, size: TraceSize, fleet: Fleet) -> Iterator[NodeEvent]:
    """Half the nodes fail once a day for an hour or so; a tenth is drained for service."""
    for node in fleet.nodes:
        troubles = [(NodeChange.FAILS, 0.5), (NodeChange.DRAINS, 0.1)]
        change, odds = random.choice(troubles) if random.random() < 0.2 else troubles[0]
        if random.random() < odds * size.hours / 24:
            at = _moment(random, size)
            yield NodeEvent(at, node.node_id, change)
            yield NodeEvent(round(at + random.uniform(1800, 7200), 1), node.node_id, NodeChange.RETURNS)
