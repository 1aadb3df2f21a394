"""``mosaic simulate``: the scheduler's policy on a trace, in event time, beside simpler policies.

Only what is typed is declared here: `mosaic --help` imports it, and must not wait for a simulator.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mosaic_simulator.generators import TraceKind, TraceSize

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


command = typer.Typer(cls=_PlayUnlessNamed, help=_HELP, no_args_is_help=True, rich_markup_mode=None)

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
    from mosaic_simulator import playing

    size = TraceSize(runs=runs, hours=hours, teams=teams, nodes=nodes, seed=seed)
    playing.play(playing.Asked(trace, fleet, policy, compare, alone, html, as_json, round_seconds, size))


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
    from mosaic_simulator import playing

    size = TraceSize(runs=runs, hours=hours, teams=teams, nodes=nodes, seed=seed)
    playing.write_generated(kind, size, out, fleet_out)
