"""``mosaic envs``: what can be trained on, and by whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.table import Table

from mosaic.cli import render
from mosaic.cli.options import AsJson, connect
from mosaic.errors import NotFound, Unavailable, WorkerNotFound, did_you_mean
from mosaic.worker.environments import Environment, Role, Space, catalog, families, find
from mosaic.worker.plain import plain
from mosaic.worker.suitability import why_unsuited

_NO_WORKER = "[dim]no worker is known: start the platform to see who can train on what[/]"


@dataclass(frozen=True)
class Worker:
    """What a worker of the fleet publishes about itself."""

    capabilities: Mapping[str, Any]
    schema: Mapping[str, Any]

    def why_not(self, env: Environment) -> str | None:
        """Return why it cannot train on *env*, or None when it can."""
        return why_unsuited(self.capabilities, self.schema, env)


def envs(
    name: Annotated[str, typer.Argument(help="Show everything about this one.")] = "",
    family: Annotated[str, typer.Option(help="Only this family.")] = "",
    worker: Annotated[str, typer.Option(help="Only what this worker can train on.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the environments of the catalog, and which workers of the fleet can train on them."""
    workers = _known_workers(needed=bool(worker))
    if name:
        _show(_found(name), workers, as_json=as_json)
        return
    found = chosen(workers, family=family, worker=worker)
    if as_json:
        render.document([_described(env, workers) for env in found])
        return
    for each in dict.fromkeys(env.family for env in found):
        render.out.print(family_table([env for env in found if env.family == each], workers))
        render.out.print()
    if not found:
        render.out.print(render.display(f"{worker} can train on none of them; `mosaic envs NAME` says why"))
        return
    render.out.print("[dim]`mosaic envs NAME` says more about one of them[/]")
    if not workers:
        render.out.print(_NO_WORKER)


def chosen(workers: Mapping[str, Worker], *, family: str = "", worker: str = "") -> list[Environment]:
    """Return the environments of *family* that *worker* can train on; an empty text means any.

    Raises:
        NotFound: there is no such family or worker.
    """
    if family and family not in families():
        known = families()
        raise NotFound(f"no family is called {family!r}{did_you_mean(family, known)} (known: {', '.join(known)})")
    if worker and worker not in workers:
        raise WorkerNotFound(worker, workers)
    asked = [env for env in catalog() if family in ("", env.family)]
    return [env for env in asked if not worker or workers[worker].why_not(env) is None]


def family_table(members: Sequence[Environment], workers: Mapping[str, Worker]) -> Table:
    """Return the environments of one family as rows that fit into 80 columns."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column(f"[not dim bold]{members[0].family}[/]", no_wrap=True)
    columns = {
        "agents": [str(env.agents) if env.agents > 1 else "" for env in members],
        "sees": [_alternatives(env.roles, "sees") for env in members],
        "does": [_alternatives(env.roles, "does") for env in members],
        "workers": [", ".join(_trainers(env, workers)) or ("none" if workers else "") for env in members],
    }
    # Where everybody acts alone, or no fleet answers, a column would be empty.
    filled = {title: cells for title, cells in columns.items() if any(cells)}
    for title in filled:
        table.add_column(title, justify="right" if title == "agents" else "left", no_wrap=title != "workers")
    for row in zip([env.env_id for env in members], *filled.values(), strict=True):
        table.add_row(*map(render.display, row))
    return table


def _alternatives(roles: Iterable[Role], what: str) -> str:
    """Return what agents see or do in few words: ``4 numbers``, or ``3/11 numbers`` where they differ."""
    spaces = list(dict.fromkeys(getattr(role, what) for role in roles))
    sizes = sorted({space.size for space in spaces}, key=lambda size: (len(size), size))
    return f"{'/'.join(sizes)}{_noun(spaces[0], what)}"


def _noun(space: Space, what: str) -> str:
    if space.choices:
        return " choices" if what == "does" else " states"
    return "" if len(space.shape) > 1 else " number" if space.size == "1" else " numbers"


def _found(name: str) -> Environment:
    env = find(name)
    if env is None:
        hint = did_you_mean(name, [known.env_id for known in catalog()])
        raise NotFound(f"the catalog has no environment {name!r}{hint}; a worker may know it all the same")
    return env


def _show(env: Environment, workers: Mapping[str, Worker], *, as_json: bool) -> None:
    if as_json:
        render.document(_described(env, workers))
        return
    render.out.print(f"[bold]{render.display(env.env_id)}[/]  {env.family}\n")
    render.out.print(render.display(env.about) + "\n")
    render.out.print(details(env, workers))
    if not workers:
        render.out.print(_NO_WORKER)


def details(env: Environment, workers: Mapping[str, Worker]) -> Table:
    """Return all that is known of *env* beside its paragraph, and which worker can train on it or why not."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for title, text in _facts(env):
        table.add_row(title, render.display(text))
    for name, worker in sorted(workers.items()):
        reason = worker.why_not(env)
        told = "[green]can train on it[/]" if reason is None else f"[yellow]cannot[/]: {render.display(reason)}"
        table.add_row(render.display(name), told)
    return table


def _facts(env: Environment) -> Iterable[tuple[str, str]]:
    if env.agents > 1:
        several = ", ".join(f"{role.agents} {role.name}" for role in env.roles)
        yield "agents", several if len(env.roles) > 1 else str(env.agents)
    for what in ("sees", "does"):
        told = {role.name: _in_words(getattr(role, what), what) for role in env.roles}
        differ = len(set(told.values())) > 1
        yield what, "\n".join(f"{name}: {text}" for name, text in told.items()) if differ else next(iter(told.values()))
    yield "episode", "has no limit" if env.max_steps is None else f"at most {env.max_steps:,} steps"
    if env.solved_at is not None:
        yield "solved at", f"a mean return of {env.solved_at:g}"
    yield "needs", env.needs or "Gymnasium alone"


def _in_words(space: Space, what: str) -> str:
    text = f"{space.size}{_noun(space, what)}"
    if space.beside:
        text += f" with {' and '.join(space.beside)}"
    elif space.is_picture:
        text += " (image)"
    return text + " from {:g} to {:g}".format(*space.range) if space.range else text


def _described(env: Environment, workers: Mapping[str, Worker]) -> dict[str, Any]:
    reasons = {name: worker.why_not(env) for name, worker in sorted(workers.items())}
    return {
        **plain(env),
        "agents": env.agents,
        "actions": env.actions,
        "observations": env.observations,
        "workers": [name for name, reason in reasons.items() if reason is None],
        "why_not": {name: reason for name, reason in reasons.items() if reason is not None},
    }


def _trainers(env: Environment, workers: Mapping[str, Worker]) -> list[str]:
    return [name for name, worker in sorted(workers.items()) if worker.why_not(env) is None]


def _known_workers(*, needed: bool) -> dict[str, Worker]:
    """Return what each worker of the fleet can do; the catalog is worth reading without a fleet, too.

    Raises:
        Unavailable: no platform answers, and the workers are *needed*.
    """
    try:
        with connect() as platform:
            workers = platform.fleet().workers
    except Unavailable:
        if needed:
            raise
        return {}
    return {worker.name: Worker(worker.capabilities, worker.config_schema) for worker in workers}
