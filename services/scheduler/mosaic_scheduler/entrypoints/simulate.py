"""``mosaic simulate``: the scheduler's policy on a trace, in event time, beside simpler policies."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from mosaic.errors import BadInput, did_you_mean
from mosaic_scheduler.adapters.fleet_files import read_fleet, write_fleet
from mosaic_scheduler.adapters.policy_files import read_policy
from mosaic_scheduler.adapters.simulation_page import render_page
from mosaic_scheduler.adapters.simulation_rows import (
    ISOLATION_HEADINGS,
    POLICY_HEADINGS,
    TEAM_HEADINGS,
    as_data,
    policy_row,
    team_rows,
)
from mosaic_scheduler.adapters.trace_files import read_trace, write_trace
from mosaic_scheduler.domain.simulation.baselines import BASELINES
from mosaic_scheduler.domain.simulation.comparison import OURS, Isolation, Result, Scenario, isolation
from mosaic_scheduler.domain.simulation.fleet import Fleet
from mosaic_scheduler.domain.simulation.generators import TraceKind, TraceSize, generate
from mosaic_scheduler.domain.simulation.options import SimulationOptions
from mosaic_scheduler.domain.simulation.trace import Trace
from mosaic_scheduler.domain.snapshot import PolicySettings

_T = TypeVar("_T")
_S = TypeVar("_S")

_PLAY = "play"
_SIZE = TraceSize()
_HELP = """Play a trace of runs against the scheduling policy, in event time.

`mosaic simulate TRACE.jsonl --fleet FLEET.yaml` prints use, waits, shares and waste.
`mosaic simulate steady` makes its trace and fleet itself; `generate` writes them to files.
"""


class _PlayUnlessNamed(TyperGroup):
    """A group whose first word may be a trace: whatever names no command is played."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command in front where it was left out."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [_PLAY, *args]
        return super().parse_args(ctx, args)


command = typer.Typer(cls=_PlayUnlessNamed, help=_HELP, no_args_is_help=True, rich_markup_mode="markdown")

_Runs = Annotated[int, typer.Option(min=1, help="Runs of a generated trace.")]
_Hours = Annotated[float, typer.Option(min=0.1, help="Span over which they are submitted.")]
_Teams = Annotated[int, typer.Option(min=2, help="Teams with equal quotas.")]
_Nodes = Annotated[int, typer.Option(min=1, help="Nodes of eight GPUs; the load is scaled to them.")]
_Seed = Annotated[int, typer.Option(help="Equal seeds give equal traces, and so equal results.")]


@command.command(_PLAY)
def play(
    trace: Annotated[str, typer.Argument(help="A trace file, or a kind of trace to generate.")],
    fleet: Annotated[Path | None, typer.Option(help="The fleet: nodes and teams, in YAML.")] = None,
    policy: Annotated[Path | None, typer.Option(help="Settings of the policy, in YAML.")] = None,
    compare: Annotated[str, typer.Option(help="Baselines: FIFO, priority, round-robin, or none.")] = "FIFO",
    alone: Annotated[bool, typer.Option("--alone", help="Also play each team alone on its quota.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a page with plots to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
    round_seconds: Annotated[float, typer.Option(min=0.1, help="Event time between two rounds.")] = 10.0,
    runs: _Runs = _SIZE.runs,
    hours: _Hours = _SIZE.hours,
    teams: _Teams = _SIZE.teams,
    nodes: _Nodes = _SIZE.nodes,
    seed: _Seed = _SIZE.seed,
) -> None:
    """Play TRACE and print what became of it; the word `play` may be left out."""
    inputs = _Inputs()
    baselines = inputs.take(lambda: _named_baselines(compare), ())
    settings = inputs.take(lambda: read_policy(policy), None) if policy else PolicySettings()
    machines = inputs.take(lambda: read_fleet(fleet), None) if fleet else None
    size = TraceSize(runs=runs, hours=hours, teams=teams, nodes=nodes, seed=seed)
    traced = inputs.take(lambda: _traced(trace, fleet, machines, size), None)
    inputs.raise_if_faulty()
    assert traced is not None
    assert settings is not None
    scenario = Scenario(*traced, settings, SimulationOptions(round_seconds=round_seconds))
    played = _play(scenario, baselines, alone=alone)
    if as_json:
        Console().print_json(json.dumps(_document(trace, played)))
    else:
        _print_tables(played)
    if html:
        _write_page(html, render_page(Path(trace).name, scenario.fleet, played.results, played.isolations))


@command.command("generate")
def generate_trace(
    kind: Annotated[TraceKind, typer.Argument(help="The shape of the load.")],
    out: Annotated[Path, typer.Option(help="Write the trace to this file, as JSON lines.")],
    fleet_out: Annotated[Path | None, typer.Option(help="Write the fleet it is scaled to, as YAML.")] = None,
    runs: _Runs = _SIZE.runs,
    hours: _Hours = _SIZE.hours,
    teams: _Teams = _SIZE.teams,
    nodes: _Nodes = _SIZE.nodes,
    seed: _Seed = _SIZE.seed,
) -> None:
    """Write a trace of a known shape, and the fleet it is scaled to."""
    trace, fleet = generate(kind, TraceSize(runs=runs, hours=hours, teams=teams, nodes=nodes, seed=seed))
    write_trace(out, trace)
    written = [str(out)]
    if fleet_out:
        write_fleet(fleet_out, fleet)
        written.append(str(fleet_out))
    Console().print(f"{len(trace.runs):,} runs for {fleet.gpu_count:,} GPUs: {', '.join(written)}", highlight=False)


@dataclass(frozen=True)
class _Played:
    results: tuple[Result, ...]
    isolations: tuple[Isolation, ...]
    seconds: float


class _Inputs:
    """Reads one input after another and reports the faults of all of them at once."""

    def __init__(self) -> None:
        self._refusals: list[BadInput] = []

    def take(self, read: Callable[[], _T], stand_in: _S) -> _T | _S:
        """Return what *read* reads, or *stand_in* when it cannot be used."""
        try:
            return read()
        except BadInput as refusal:
            self._refusals.append(refusal)
            return stand_in

    def raise_if_faulty(self) -> None:
        """End here if any input could not be used."""
        if len(self._refusals) == 1:
            raise self._refusals[0]
        if self._refusals:
            faults = [f"{each.source}: {fault}" for each in self._refusals for fault in each.faults]
            raise BadInput("simulate", faults)


def _traced(trace: str, fleet: Path | None, machines: Fleet | None, size: TraceSize) -> tuple[Trace, Fleet]:
    """Read the trace, or generate it and its fleet when *trace* is a kind and no file."""
    kinds = [kind.value for kind in TraceKind]
    if trace in kinds and not Path(trace).exists():
        generated, its_fleet = generate(TraceKind(trace), size)
        return generated, machines or its_fleet
    if not Path(trace).exists():
        raise BadInput(trace, [f"there is no such file, and no such kind of trace{did_you_mean(trace, kinds)}"])
    if fleet is None:
        raise BadInput("--fleet", [f"{trace} needs a fleet to be played on; `generate --fleet-out` writes one"])
    read = read_trace(Path(trace), machines)
    return read, machines or Fleet((), ())


def _named_baselines(text: str) -> tuple[str, ...]:
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    if names == ["none"]:
        return ()
    unknown = [name for name in names if name not in BASELINES]
    if unknown:
        known = ", ".join(BASELINES)
        raise BadInput(
            "--compare", [f"there is no {name!r}{did_you_mean(name, BASELINES)} (known: {known})" for name in unknown]
        )
    return tuple(dict.fromkeys(names))


def _play(scenario: Scenario, baselines: Sequence[str], *, alone: bool) -> _Played:
    begun = time.perf_counter()
    results = []
    for name in (OURS, *baselines):
        with _busy(f"playing {len(scenario.trace.runs):,} runs against {name}"):
            results.append(scenario.play(name))
    seconds = time.perf_counter() - begun
    isolations: tuple[Isolation, ...] = ()
    if alone:
        with _busy("playing each team alone on its quota"):
            isolations = isolation(scenario, results[0], scenario.trace.teams)
    return _Played(tuple(results), isolations, seconds)


@contextmanager
def _busy(doing: str) -> Iterator[None]:
    # A simulation makes millions of values and no cycles: collecting them costs a fifth of the time.
    gc.disable()
    try:
        with Console(stderr=True).status(doing):
            yield
    finally:
        gc.enable()


def _document(trace: str, played: _Played) -> dict[str, object]:
    ours, *others = played.results
    return {
        "trace": trace,
        "seconds": round(played.seconds, 3),
        "policies": [
            as_data(ours.measures, played.isolations),
            *(as_data(other.measures) for other in others),
        ],
    }


def _write_page(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise BadInput("--html", [f"{path} cannot be written: {error.strerror}"]) from error
    Console(stderr=True, highlight=False).print(f"plots: {path}")


def _print_tables(played: _Played) -> None:
    console = Console(highlight=False)
    measures = played.results[0].measures
    rows = zip(POLICY_HEADINGS, *(policy_row(result.measures) for result in played.results), strict=True)
    names, *figures = rows
    console.print(_table("Policies", names, figures))
    headings = (*TEAM_HEADINGS, *(ISOLATION_HEADINGS if played.isolations else ()))
    console.print(_table(f"Waits by team: {measures.policy}", headings, team_rows(measures, played.isolations)))
    console.print(f"{sum(result.recording.rounds for result in played.results):,} rounds in {played.seconds:.1f} s")


def _table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="left" if index == 0 else "right")
    for row in rows:
        table.add_row(*row)
    return table
