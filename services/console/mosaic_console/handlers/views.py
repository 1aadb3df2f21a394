"""What the pages show, gathered; each works while telemetry is away, and says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from mosaic.client import Attempt, Curve, Explanation, LogLine, Run, RunDetail, SeriesInfo, Summary
from mosaic.errors import MosaicError, NotFound, Unavailable
from mosaic.lifecycle import RunState, is_terminal
from mosaic.model.fleet import Agent, Fleet, Node
from mosaic.model.run import RunFilter
from mosaic.worker.spelling import setting_of
from mosaic_console.domain.wanted import LARGEST_PAGE
from mosaic_console.handlers.commands import Command, offered
from mosaic_console.handlers.differences import Setting, settings_of
from mosaic_console.handlers.timeline import Bar, bars_of
from mosaic_console.ports import Platform, RunPage

#: Curves on a page before "all of them" is asked for.
FIRST_CURVES = 8
_TABLE_ROWS = 12
_LOG_LINES = 200
#: What a curve is drawn over.
STEP = "step"
AXES = (STEP, "relative", "time")
#: Said in a curve's name, these make it worth seeing first.
_TELLING = ("return", "reward", "success", "loss")


@dataclass(frozen=True)
class Column:
    """A metric as a column of the table: its last, its highest or its lowest value."""

    metric: str
    which: str = "last"

    @classmethod
    def read(cls, text: str) -> Column:
        """Return the column that ``METRIC`` or ``METRIC:last|max|min`` names."""
        metric, colon, which = text.rpartition(":")
        return cls(metric, which) if colon and which in ("last", "max", "min") else cls(text)

    @property
    def text(self) -> str:
        """As it stands in an address."""
        return f"{self.metric}:{self.which}"

    def of(self, info: SeriesInfo) -> float:
        """Return what stands in the column."""
        return {"last": info.last_value, "max": info.max_value, "min": info.min_value}[self.which]


@dataclass(frozen=True)
class RunsView:
    """The page of runs."""

    page: RunPage
    numbers: Mapping[str, Summary]
    #: Run and column -> what stands there.
    cells: Mapping[tuple[str, str], float] = field(default_factory=dict)
    #: Why there are no numbers; nothing when there are.
    fault: str = ""


@dataclass(frozen=True)
class Drawn:
    """A curve with its table."""

    info: SeriesInfo
    table: Curve | None


@dataclass(frozen=True)
class Progress:
    """How far training has come."""

    step: float
    steps: float
    left: timedelta | None


@dataclass(frozen=True)
class RunView:
    """The page of one run."""

    run: Run
    detail: RunDetail
    numbers: Summary | None
    progress: Progress | None
    explanation: Explanation | None
    attempts: Sequence[tuple[Attempt, Sequence[Bar]]]
    settings: Sequence[Setting]
    #: Why the defaults are not told; nothing when they are.
    no_defaults: str
    curves: Sequence[Drawn]
    more_curves: int
    log: Sequence[LogLine]
    commands: Sequence[Command]
    fault: str = ""


@dataclass(frozen=True)
class Machine:
    """A node, its agents, and what runs there."""

    node: Node
    agents: Sequence[Agent]
    runs: Sequence[Run]


@dataclass(frozen=True)
class FleetView:
    """The page of machines."""

    fleet: Fleet
    machines: Sequence[Machine] = field(default=())


def see_runs(
    platform: Platform, wanted: RunFilter, *, after: str, size: int, columns: Sequence[Column] = ()
) -> RunsView:
    """Return a page of runs with their numbers."""
    page = platform.page(wanted, after=after, size=size)
    try:
        numbers = platform.summaries([run.run_id for run in page.runs])
        cells = [cell for run in page.runs for cell in _cells(platform, run.run_id, columns)] if columns else []
        return RunsView(page, numbers, dict(cells))
    except Unavailable as error:
        return RunsView(page, {}, fault=str(error))


def _cells(platform: Platform, run_id: str, columns: Sequence[Column]) -> Iterator[tuple[tuple[str, str], float]]:
    told = {info.name: info for info in reversed(platform.series(run_id))}
    for column in columns:
        if column.metric in told:
            yield (run_id, column.text), column.of(told[column.metric])


def see_run(platform: Platform, run_id: str, *, now: datetime, all_curves: bool = False, x: str = STEP) -> RunView:
    """Return everything about one run.

    Raises:
        RunNotFound: there is none.
    """
    detail = platform.run(run_id)
    run = detail.run
    schema, no_defaults = _schema(platform, run.spec.worker)
    numbers, curves, more, log, fault = _told(platform, run.run_id, all_curves=all_curves, x=x)
    bars = bars_of(run, detail.attempts, now=now)
    return RunView(
        run=run,
        detail=detail,
        numbers=numbers,
        progress=progress_of(run, numbers, schema),
        explanation=platform.explain(run.run_id) if run.state is RunState.QUEUED else None,
        attempts=list(zip(detail.attempts, bars, strict=True)),
        settings=settings_of(run.spec.config, schema),
        no_defaults=no_defaults,
        curves=curves,
        more_curves=more,
        log=log,
        commands=offered(run.state),
        fault=fault,
    )


def see_fleet(platform: Platform) -> FleetView:
    """Return the machines and what runs on each."""
    fleet = platform.fleet()
    held = frozenset(state for state in RunState if not is_terminal(state) and state is not RunState.QUEUED)
    runs = platform.page(RunFilter(states=held), size=LARGEST_PAGE).runs
    machines = [
        Machine(
            node,
            sorted((each for each in fleet.agents if each.node_id == node.node_id), key=lambda each: each.agent_id),
            [run for run in runs if run.node_id == node.node_id],
        )
        for node in sorted(fleet.nodes, key=lambda each: each.node_id)
    ]
    return FleetView(fleet, [machine for machine in machines if machine.agents])


def progress_of(run: Run, numbers: Summary | None, schema: Mapping[str, Any]) -> Progress | None:
    """Return how far *run* has come, if its worker has a length and it has told a step."""
    name = setting_of(schema, "steps") if schema else None
    steps = run.spec.config.get(name) if name and "episode" not in name else None
    if numbers is None or not isinstance(steps, (int, float)) or steps <= 0:
        return None
    speed, missing = numbers.steps_per_s, steps - numbers.last_step
    is_told = run.state is RunState.RUNNING and speed > 0 and missing > 0
    return Progress(numbers.last_step, float(steps), timedelta(seconds=missing / speed) if is_told else None)


def _schema(platform: Platform, worker: str) -> tuple[Mapping[str, Any], str]:
    try:
        return platform.worker(worker).config_schema, ""
    except NotFound as error:
        return {}, str(error)


def _told(
    platform: Platform, run_id: str, *, all_curves: bool, x: str
) -> tuple[Summary | None, list[Drawn], int, list[LogLine], str]:
    try:
        series = sorted(platform.series(run_id), key=_interest)
        shown = series if all_curves else series[:FIRST_CURVES]
        curves = [Drawn(info, _table(platform, run_id, info, x)) for info in shown]
        log = [line for lines in platform.logs(run_id, tail=_LOG_LINES) for line in lines]
        fault = platform.telemetry_fault()
        return platform.summaries([run_id]).get(run_id), curves, len(series) - len(shown), log, fault
    except Unavailable as error:
        return None, [], 0, [], str(error)


def _interest(info: SeriesInfo) -> tuple[int, str, str]:
    rank = next((place for place, word in enumerate(_TELLING) if word in info.name.lower()), len(_TELLING))
    return rank, info.name, info.agent


def _table(platform: Platform, run_id: str, info: SeriesInfo, x: str) -> Curve | None:
    try:
        return platform.curve(run_id, info.name, agent=info.agent, resolution=_TABLE_ROWS, x=x)
    except MosaicError:
        return None  # the drawing says what is wrong
