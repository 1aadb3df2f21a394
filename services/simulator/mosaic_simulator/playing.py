"""A trace played against the scheduler's policy and simpler ones, and what is printed about it."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from mosaic.errors import BadInput, did_you_mean
from mosaic_scheduler.domain.snapshot import PolicySettings
from mosaic_simulator.baselines import BASELINES
from mosaic_simulator.comparison import OURS, Isolation, Result, Scenario, isolation
from mosaic_simulator.files.fleet import read_fleet, write_fleet
from mosaic_simulator.files.policy import read_policy
from mosaic_simulator.files.trace import read_trace, write_trace
from mosaic_simulator.fleet import Fleet
from mosaic_simulator.generators import TraceKind, TraceSize, generate
from mosaic_simulator.options import SimulationOptions
from mosaic_simulator.report.page import render_page
from mosaic_simulator.report.rows import (
    ISOLATION_HEADINGS,
    POLICY_HEADINGS,
    TEAM_HEADINGS,
    as_data,
    policy_row,
    team_rows,
)
from mosaic_simulator.trace import Trace

_T = TypeVar("_T")
_S = TypeVar("_S")


@dataclass(frozen=True)
class Asked:
    """What ``mosaic simulate`` was asked for; `TraceSize` is that of a trace which is generated."""

    trace: str
    fleet: Path | None
    policy: Path | None
    compare: str
    alone: bool
    html: Path | None
    as_json: bool
    round_seconds: float
    size: TraceSize


def play(asked: Asked) -> None:
    """Play the trace and print what became of it.

    Raises:
        BadInput: lists the faults of everything that was given.
    """
    inputs = _Inputs()
    baselines = inputs.take(lambda: _named_baselines(asked.compare), ())
    policy, fleet = asked.policy, asked.fleet
    settings = inputs.take(lambda: read_policy(policy), None) if policy else PolicySettings()
    machines = inputs.take(lambda: read_fleet(fleet), None) if fleet else None
    traced = inputs.take(lambda: _traced(asked.trace, fleet, machines, asked.size), None)
    inputs.raise_if_faulty()
    assert traced is not None
    assert settings is not None
    scenario = Scenario(*traced, settings, SimulationOptions(round_seconds=asked.round_seconds))
    played = _play(scenario, baselines, alone=asked.alone)
    if asked.as_json:
        Console().print_json(json.dumps(_document(asked.trace, played)))
    else:
        _print_tables(played)
    if asked.html:
        page = render_page(Path(asked.trace).name, scenario.fleet, played.results, played.isolations)
        _write_page(asked.html, page)


def write_generated(kind: TraceKind, size: TraceSize, out: Path, fleet_out: Path | None) -> None:
    """Write a trace of that kind and, if asked, the fleet it is scaled to."""
    trace, fleet = generate(kind, size)
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
