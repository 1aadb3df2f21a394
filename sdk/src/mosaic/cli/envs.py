"""``mosaic envs``: what can be trained on, and by whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.table import Table

from mosaic.cli import render
from mosaic.cli.options import AsJson, connect
from mosaic.errors import NotFound, Unavailable, did_you_mean
from mosaic.worker.environments import Environment, catalog, find, why_not
from mosaic.worker.plain import plain
from mosaic.worker.suitability import why_absent


@dataclass(frozen=True)
class Worker:
    """What a worker of the fleet publishes about itself."""

    capabilities: Mapping[str, Any]
    schema: Mapping[str, Any]

    def why_not(self, env: Environment) -> str | None:
        """Return why it cannot train on *env*, or None when it can."""
        return why_not(env, self.capabilities) or why_absent(self.schema, env.env_id) or self._unlisted(env)

    def _unlisted(self, env: Environment) -> str | None:
        listed = self.schema.get("properties", {}).get("env_id", {}).get("enum")
        return None if listed is None or env.env_id in listed else "it is not among the environments of this worker"


def envs(
    name: Annotated[str, typer.Argument(help="Show everything about this one.")] = "",
    family: Annotated[str, typer.Option(help="Only this family.")] = "",
    worker: Annotated[str, typer.Option(help="Only what this worker can train on.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the environments of the catalog, and which workers of the fleet can train on them."""
    workers = _known_workers()
    if name:
        _show(name, workers, as_json)
        return
    found = [
        env for env in catalog() if family in ("", env.family) and (not worker or worker in _trainers(env, workers))
    ]
    if as_json:
        render.document([_described(env, workers) for env in found])
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("environment", "family", "agents", "spaces", "workers"):
        table.add_column(title, overflow="fold", no_wrap=title == "environment")
    for env in found:
        spaces = f"{env.observations} → {env.actions}"
        cells = (env.env_id, env.family, env.agents, spaces, ", ".join(_trainers(env, workers)))
        table.add_row(*map(render.shown, cells))
    render.out.print(table)
    render.out.print("[dim]`mosaic envs NAME` says more about one of them[/]")
    if not workers:
        render.out.print("[dim]no worker is known: start the platform to see who can train on what[/]")


def _show(name: str, workers: Mapping[str, Worker], as_json: bool) -> None:
    env = find(name)
    if env is None:
        hint = did_you_mean(name, [known.env_id for known in catalog()])
        raise NotFound(f"the catalog has no environment {name!r}{hint}; a worker may know it all the same")
    if as_json:
        render.document(_described(env, workers))
        return
    render.out.print(f"[bold]{env.env_id}[/]  {env.family}, {env.agents} agent{'s' if env.agents > 1 else ''}")
    render.out.print(render.shown(f"{env.about}\n{env.actions} actions, {env.observations} observations"))
    if env.needs:
        render.out.print(render.shown(f"needs {env.needs}"))
    for worker_name, worker in sorted(workers.items()):
        reason = worker.why_not(env)
        render.out.print(render.shown(f"  {worker_name}: {'can train on it' if reason is None else reason}"))


def _described(env: Environment, workers: Mapping[str, Worker]) -> dict[str, Any]:
    return {**plain(env), "workers": _trainers(env, workers)}


def _trainers(env: Environment, workers: Mapping[str, Worker]) -> list[str]:
    return [name for name, worker in sorted(workers.items()) if worker.why_not(env) is None]


def _known_workers() -> dict[str, Worker]:
    """Return what each worker of the fleet can do; the catalog is worth reading without a fleet, too."""
    try:
        with connect() as platform:
            workers = platform.fleet().workers
    except Unavailable:
        return {}
    return {worker.name: Worker(worker.capabilities, worker.config_schema) for worker in workers}
