"""Verbs about machines and teams."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from google.protobuf.json_format import MessageToDict
from rich.table import Table

from mosaic.cli import render
from mosaic.cli.options import AsJson, connect
from mosaic.errors import BadInput
from mosaic.wire.v1 import registry_pb2, scheduler_pb2


def fleet(as_json: AsJson = False) -> None:
    """Show the machines, their agents and the workers they run."""
    with connect() as platform:
        found = platform.fleet()
    if as_json:
        shown = _plain(found)
        for agent in shown.get("agents", []):
            agent.pop("session_digest", None)
        render.document(shown)
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("node", "cpus", "memory", "GPUs", "agent", "worker", "slots", "state"):
        table.add_column(title)
    nodes = {node.node_id: node for node in found.nodes}
    for agent in sorted(found.agents, key=lambda agent: (agent.node_id, agent.agent_id)):
        node = nodes.get(agent.node_id, registry_pb2.Node(node_id=agent.node_id))
        worker = f"{agent.worker} {agent.worker_version}".strip()
        table.add_row(
            agent.node_id,
            str(node.cpus),
            f"{node.memory_mb / 1024:.1f} GiB",
            str(len(node.gpus)),
            agent.agent_id,
            worker,
            str(agent.slots),
            _standing(node, agent),
        )
    if found.agents:
        render.out.print(table)
    else:
        render.out.print("no agent has announced itself; `mosaic up` starts one for each installed worker")


def drain(
    name: Annotated[str, typer.Argument(help="Node or agent.")],
    undo: Annotated[bool, typer.Option("--undo", help="Take it back into planning.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start nothing new on a node or an agent; what runs there goes on."""
    with connect() as platform:
        found = platform.fleet()
        if name in {node.node_id for node in found.nodes}:
            platform.drain(node_id=name, draining=not undo)
        elif name in {agent.agent_id for agent in found.agents}:
            platform.drain(agent_id=name, draining=not undo)
        else:
            raise BadInput("drain", [f"no node or agent is called {name!r}; `mosaic fleet` lists them"])
    if as_json:
        render.document({"name": name, "draining": not undo})
    else:
        render.out.print(f"{name} takes {'new runs again' if undo else 'no new runs'}")


def teams(
    name: Annotated[str, typer.Argument(help="Team to set up or change; without it, all are listed.")] = "",
    weight: Annotated[float, typer.Option(help="A team of weight 2 is due twice as much.")] = 1.0,
    gpus: Annotated[int, typer.Option(help="Guaranteed GPUs; 0 = nothing bounds it.")] = 0,
    cpus: Annotated[float, typer.Option(help="Guaranteed CPUs; 0 = nothing bounds it.")] = 0.0,
    lend: Annotated[int, typer.Option(help="Idle GPUs others may use; -1 = all.")] = -1,
    borrow: Annotated[int, typer.Option(help="GPUs it may borrow; -1 = any.")] = -1,
    max_running: Annotated[int, typer.Option(help="Runs at the same time; 0 = any.")] = 0,
    max_queued: Annotated[int, typer.Option(help="Runs waiting; 0 = any.")] = 0,
    as_json: AsJson = False,
) -> None:
    """List teams, or set one up: its weight, its guaranteed share, what it lends and borrows."""
    with connect() as platform:
        if name:
            terms = scheduler_pb2.Team(
                name=name,
                weight=weight,
                quota=scheduler_pb2.Resources(gpus=gpus, cpus=cpus),
                lending_limit_gpus=lend,
                borrowing_limit_gpus=borrow,
                max_running=max_running,
                max_queued=max_queued,
            )
            platform.set_team(terms)
        known = platform.teams()
    if as_json:
        render.document([_plain(team) for team in known])
        return
    for team in known:
        quota = f"{team.quota.gpus} GPUs" if team.quota.gpus else "no bound"
        render.out.print(f"[bold]{team.name}[/]  weight {team.weight:g}  guaranteed {quota}")
    if not known:
        render.out.print("no team is set up; everybody works in team default")


def _standing(node: registry_pb2.Node, agent: registry_pb2.Agent) -> str:
    if not agent.alive:
        return "[red]silent[/]"
    return "[yellow]draining[/]" if agent.draining or node.draining else "[green]ready[/]"


def _plain(message: Any) -> dict[str, Any]:
    shown: dict[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
    return shown
