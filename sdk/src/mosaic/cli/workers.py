"""``mosaic workers``: write, install, list and show the plug-ins of this machine, and what the test kit adds."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from mosaic.cli.options import connect
from mosaic.cli.render import display, document, out
from mosaic.cli.scaffold.project import create_project, package_of
from mosaic.cli.settings import algorithms_of, settings_table
from mosaic.errors import NotFound, Unavailable, WorkerBroken, WorkerNotFound, did_you_mean
from mosaic.home import home_directory
from mosaic.installer.environments import (
    Environment,
    install,
    installed_environments,
    probe_environment,
    remove,
)
from mosaic.installer.recipes import find_recipe
from mosaic.worker.branches import hyper_parameters
from mosaic.worker.probe import ProbedWorker, probe
from mosaic.worker.spelling import as_published

app = typer.Typer(no_args_is_help=True, help="Write, check, install, list and show workers.")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]


@app.command("new")
def new_worker(
    name: Annotated[str, typer.Argument(help="Name of the worker, e.g. my-lib.")],
    parent: Annotated[Path, typer.Option("--dir", help="Where to make the project directory.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write a small worker project that passes every check as it comes."""
    project = create_project(name, parent)
    if as_json:
        document({"worker": name, "path": project})
        return
    out.print(f"[green]✓[/] {display(project)} is written. Next:")
    out.print(f"    pip install -e {display(project)}")
    out.print(f"    mosaic workers check {display(name)}")
    out.print(f"then put your library into {package_of(name)}/runtime.py")


@app.command("list")
def list_workers(as_json: AsJson = False) -> None:
    """List the workers of this environment and of every installed one, the broken ones with the reason."""
    homes = [None, *installed_environments(_home())]
    rows = [row for home in homes for row in _rows(home)]
    if as_json:
        document(rows)
    else:
        _print_rows(rows)


@app.command("show")
def show_worker(
    name: Annotated[str, typer.Argument(help="Worker, as `mosaic workers list` or `mosaic fleet` names it.")],
    algo: Annotated[str, typer.Option(help="Show the hyper-parameters of this algorithm instead.")] = "",
    as_json: AsJson = False,
) -> None:
    """Show which settings a worker takes, or the hyper-parameters of one of its algorithms.

    With `--json`, the JSON Schema of its config, or that of each hyper-parameter.
    """
    schema = _schema_in_fleet(name) or _schema_here(name)
    if algo:
        _show_algorithm(name, schema, algo, as_json=as_json)
        return
    if as_json:
        document(schema)
        return
    out.print(settings_table(schema))
    out.print(
        f"\n[dim]Set them with `mosaic submit {display(name)} --set NAME=VALUE`, or in a file with --config.[/]",
        soft_wrap=True,
    )
    known = algorithms_of(schema)
    if known:
        hint = f"`mosaic workers show {display(name)} --algo {display(known[0])}` lists the hyper-parameters of one"
        out.print(f"[dim]Algorithms: {display(', '.join(known))}; {hint}.[/]", soft_wrap=True)


@app.command("install")
def install_worker(
    name: Annotated[str, typer.Argument(help="Image of this checkout, project directory, or mosaic-… distribution.")],
    from_index: Annotated[
        bool, typer.Option("--from-index", help="NAME is a distribution of the package index, whatever it is called.")
    ] = False,
    label: Annotated[str | None, typer.Option("--name", help="Name of the environment.")] = None,
    upgrade: Annotated[bool, typer.Option("--upgrade", help="Make it anew if it exists.")] = False,
    editable: Annotated[
        bool, typer.Option("--editable", "-e", help="Import the project directory itself, not a copy of it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make the environment of a worker: a venv of its own, from its lock where it has one."""
    recipe = find_recipe(name, start=Path(), label=label, from_index=from_index, editable=editable)
    with _narrated(f"installing {recipe.name}") as progress:
        environment = install(recipe, _home(), upgrade=upgrade, progress=progress)
    if as_json:
        document(environment)
        return
    out.print(
        f"[green]✓[/] {display(environment.name)}: Python {environment.python_version}, "
        f"{environment.size_mb:.0f} MB in {display(environment.path)}",
    )


@app.command("remove")
def remove_worker(
    name: Annotated[str, typer.Argument(help="Name of the environment.")], as_json: AsJson = False
) -> None:
    """Delete the environment of a worker."""
    remove(name, _home())
    if as_json:
        document({"name": name, "removed": True})
    else:
        out.print(f"[green]✓[/] {display(name)} is removed")


def _show_algorithm(name: str, schema: Mapping[str, Any], algo: str, *, as_json: bool) -> None:
    known = algorithms_of(schema)
    chosen = str(as_published(schema, {"algo": algo})["algo"])
    if chosen not in known:
        listing = ", ".join(known) or "none that it tells"
        raise NotFound(f"worker {name} has no algorithm {algo!r}{did_you_mean(algo, known)} (known: {listing})")
    parameters = hyper_parameters(schema, chosen)
    if as_json:
        document(parameters)
    elif not parameters:
        told = f"{chosen} has no hyper-parameters of its own; `mosaic workers show {name}` lists its settings"
        out.print(display(told), soft_wrap=True)
    else:
        out.print(settings_table({"properties": parameters}))
        example = f"mosaic submit {name} --algo {chosen} --set algo_params.{next(iter(parameters))}=VALUE"
        out.print(f"\n[dim]Set them with `{display(example)}`.[/]", soft_wrap=True)


def _schema_in_fleet(name: str) -> Mapping[str, Any] | None:
    """Return what the worker of that name published, or None if no platform runs or none knows it."""
    try:
        with connect() as platform:
            return platform.worker(name).config_schema
    except (Unavailable, NotFound):
        return None


def _schema_here(name: str) -> Mapping[str, Any]:
    reports = [probe(sys.executable), *map(probe_environment, installed_environments(_home()))]
    found = {worker.worker_id: worker for report in reports for worker in report.workers}
    if name not in found:
        raise WorkerNotFound(name, found)
    if not found[name].is_usable:
        raise WorkerBroken(name, "; ".join(found[name].faults))
    return found[name].config_schema


@contextmanager
def _narrated(title: str) -> Iterator[Callable[[str], None]]:
    """Show the newest line of some work beside a spinner, or every line where there is no terminal."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda line: console.print(line, markup=False, soft_wrap=True)
        return
    with console.status(display(title)) as status:
        yield lambda line: status.update(f"{display(title)} [dim]{display(line.strip()[:100])}[/]")


def _rows(environment: Environment | None) -> list[dict[str, Any]]:
    """Return one row per worker of *environment*; None stands for the one this command runs in."""
    report = probe(sys.executable) if environment is None else probe_environment(environment)
    home = {
        "environment": environment.name if environment else "this one",
        "python": report.versions.get("python", environment.python_version if environment else ""),
        "size_mb": environment.size_mb if environment else None,
    }
    rows = [{**home, **_told_by(worker)} for worker in report.workers]
    if report.faults or (environment is not None and not rows):
        reason = "; ".join(report.faults) or "no worker is registered in it"
        rows.append({**home, "worker": "", "version": "", "library": "", "is_usable": False, "reason": reason})
    return rows


def _told_by(worker: ProbedWorker) -> dict[str, Any]:
    library = worker.metadata.get("upstream_library") or ""
    installed = worker.versions.get(library, "not installed") if library else ""
    return {
        "worker": worker.worker_id,
        "version": worker.metadata.get("version", ""),
        "library": f"{library} {installed}".strip(),
        "is_usable": worker.is_usable,
        "reason": "; ".join(worker.faults),
    }


def _print_rows(rows: list[dict[str, Any]]) -> None:
    if not rows:
        out.print("no worker is installed; `mosaic workers install NAME` makes an environment for one")
        return
    table = Table("worker", "version", "library", "python", "environment", "MB", "state")
    for row in rows:
        state = "[green]ok[/]" if row["is_usable"] else f"[red]broken[/]: {display(row['reason'])}"
        size = "" if row["size_mb"] is None else f"{row['size_mb']:.0f}"
        cells = (row[key] for key in ("worker", "version", "library", "python", "environment"))
        table.add_row(*(display(cell) for cell in cells), size, state)
    out.print(table)


def _home() -> Path:
    return home_directory(os.environ)


for _verb in entry_points(group="mosaic.commands.workers"):
    app.command(_verb.name)(_verb.load())
