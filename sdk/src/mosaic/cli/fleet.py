"""Verbs about machines and teams."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any

import typer

from mosaic.cli import render
from mosaic.cli.options import AsJson, connect, read_span
from mosaic.cli.render import display
from mosaic.client import Agent, Fleet, Node, Team, Worker
from mosaic.errors import NotFound, did_you_mean


def fleet(as_json: AsJson = False) -> None:
    """Show the machines, their agents and the workers they run."""
    with connect() as platform:
        found = platform.fleet()
    if as_json:
        render.document(found)
        return
    if not found.agents:
        render.out.print("no agent has announced itself; `mosaic up` starts one for each installed worker")
        return
    # Ids come last in their lines and are never folded: they are long, and typed again.
    for line in _fleet_lines(found):
        render.out.print(line, soft_wrap=True)


def _fleet_lines(found: Fleet) -> Iterator[str]:
    """Yield each node, and under it its agents in columns."""
    workers = {agent.agent_id: f"{agent.worker} {agent.worker_version}".strip() for agent in found.agents}
    widest = max(map(len, workers.values()))
    schemas = {worker.name: worker for worker in found.workers}
    for node in sorted(found.nodes, key=lambda node: node.node_id):
        agents = sorted((one for one in found.agents if one.node_id == node.node_id), key=lambda one: one.agent_id)
        if agents:
            has = f"{node.cpus} CPUs, {node.memory_mb / 1024:.1f} GiB, {len(node.gpus)} GPUs"
            yield f"[bold]{display(node.node_id)}[/]  {has}"
        for agent in agents:
            worker = display(workers[agent.agent_id].ljust(widest))
            slots = f"{agent.slots:3} {'slot ' if agent.slots == 1 else 'slots'}"
            yield f"  {_standing(node, agent)}  {slots}  {worker}  {display(agent.agent_id)}"
            yield from _conflict(agent, schemas.get(agent.worker))


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
            known = [node.node_id for node in found.nodes] + [agent.agent_id for agent in found.agents]
            raise NotFound(f"no node or agent is called {name!r}{did_you_mean(name, known)}; `mosaic fleet` lists them")
    if as_json:
        render.document({"name": name, "draining": not undo})
    else:
        render.out.print(f"{display(name)} takes {'new runs again' if undo else 'no new runs'}")


def teams(
    name: Annotated[str, typer.Argument(help="Team to set up or change; without it, all are listed.")] = "",
    weight: Annotated[float | None, typer.Option(help="A team of weight 2 is due twice as much.")] = None,
    gpus: Annotated[int | None, typer.Option(help="Guaranteed GPUs; 0 = nothing bounds it.")] = None,
    cpus: Annotated[float | None, typer.Option(help="Guaranteed CPUs; 0 = nothing bounds it.")] = None,
    memory_mb: Annotated[int | None, typer.Option(help="Guaranteed memory; 0 = nothing bounds it.")] = None,
    lend: Annotated[int | None, typer.Option(help="Idle GPUs others may use; -1 = all.")] = None,
    borrow: Annotated[int | None, typer.Option(help="GPUs it may borrow; -1 = any.")] = None,
    max_running: Annotated[int | None, typer.Option(help="Runs at the same time; 0 = any.")] = None,
    max_queued: Annotated[int | None, typer.Option(help="Runs waiting; 0 = any.")] = None,
    max_running_per_user: Annotated[int | None, typer.Option(help="Runs of one user; 0 = any.")] = None,
    max_queued_per_user: Annotated[int | None, typer.Option(help="Waiting runs of one user; 0 = any.")] = None,
    max_gpus_per_user: Annotated[float | None, typer.Option(help="GPUs of one user; 0 = any.")] = None,
    max_wall: Annotated[str | None, typer.Option(help="Longest an attempt may take, e.g. 12h; 0 = any.")] = None,
    as_json: AsJson = False,
) -> None:
    """List teams, or set one up: its weight, its guaranteed share, what it lends and borrows, its caps.

    Of a team that exists only what is given changes.
    """
    with connect() as platform:
        if name:
            bounded = {
                "gpus": gpus,
                "cpus": cpus,
                "memory_mb": memory_mb,
                "max_running": max_running,
                "max_queued": max_queued,
                "max_running_per_user": max_running_per_user,
                "max_queued_per_user": max_queued_per_user,
                "max_gpus_per_user": max_gpus_per_user,
                "max_wall": None if max_wall is None else timedelta(seconds=read_span("--max-wall", max_wall)),
            }
            loans = {"lending_limit_gpus": lend, "borrowing_limit_gpus": borrow}
            terms: dict[str, Any] = {term: value or None for term, value in bounded.items() if value is not None}
            terms |= {term: None if value == -1 else value for term, value in loans.items() if value is not None}
            platform.set_team(name, **terms, **({} if weight is None else {"weight": weight}))
        known = platform.teams()
    if as_json:
        render.document(known)
        return
    for team in known:
        render.out.print(f"[bold]{display(team.name)}[/]  weight {team.weight:g}  {', '.join(_terms(team))}")
    if not known:
        render.out.print("no team is set up; everybody works in team default")


def _terms(team: Team) -> Iterator[str]:
    """Say what bounds *team*; what does not is left out."""
    guaranteed = ((team.quota.gpus, "GPUs"), (team.quota.cpus, "CPUs"), (team.quota.memory_mb, "MB"))
    shares = [f"{amount:g} {unit}" for amount, unit in guaranteed if amount is not None]
    yield f"guaranteed {' and '.join(shares)}" if shares else "no bound"
    if team.lending_limit_gpus is not None:
        yield f"lends at most {team.lending_limit_gpus:g} GPUs"
    if team.borrowing_limit_gpus is not None:
        yield f"borrows at most {team.borrowing_limit_gpus:g} GPUs"
    caps = (
        (team.max_running, "running"),
        (team.max_queued, "waiting"),
        (team.max_running_per_user, "running per user"),
        (team.max_queued_per_user, "waiting per user"),
        (team.max_gpus_per_user, "GPUs per user"),
    )
    yield from (f"at most {cap:g} {what}" for cap, what in caps if cap)
    if team.max_wall:
        yield f"at most {team.max_wall.total_seconds():g} s per attempt"


def _conflict(agent: Agent, worker: Worker | None) -> Iterator[str]:
    if worker is None or not worker.digest or agent.worker_digest in ("", worker.digest):
        return
    counts = f"{display(worker.name)} {display(worker.version)} of others counts"
    yield f"    [yellow]in conflict[/]: its settings differ; {counts} until they are gone or drained"


def _standing(node: Node, agent: Agent) -> str:
    if not agent.alive:
        return "[red]silent  [/]"
    return "[yellow]draining[/]" if agent.draining or node.draining else "[green]ready   [/]"
