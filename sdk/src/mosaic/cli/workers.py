"""``mosaic workers``: write, check, install and list the plug-ins of this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from mosaic.agent.environments import (
    Environment,
    install,
    installed_environments,
    probe_environment,
    remove,
)
from mosaic.agent.recipes import find_recipe
from mosaic.cli.options import connect
from mosaic.cli.render import document, out, shown
from mosaic.cli.scaffold.project import create_project, package_of
from mosaic.cli.settings import settings_table
from mosaic.errors import NotFound, Unavailable, WorkerBroken, WorkerNotFound
from mosaic.hosting.settings import home_directory
from mosaic.testing.conformance import CHECKS, check_worker
from mosaic.testing.report import Check, Outcome, Report
from mosaic.worker.config import read_config_data
from mosaic.worker.discovery import installed_entry_points
from mosaic.worker.probe import ProbedWorker, probe

app = typer.Typer(no_args_is_help=True, help="Write, check, install, list and show workers.")

_MARKS = {
    Outcome.PASSED: "[green]passed[/]",
    Outcome.FAILED: "[bold red]failed[/]",
    Outcome.NOT_APPLICABLE: "[dim]not applicable[/]",
}

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
    out.print(f"[green]✓[/] {shown(project)} is written. Next:")
    out.print(f"    pip install -e {shown(project)}")
    out.print(f"    mosaic workers check {shown(name)}")
    out.print(f"then put your library into {package_of(name)}/runtime.py")


@app.command("check")
def check(
    package: Annotated[str, typer.Argument(help="Worker, package or distribution to check.")],
    python: Annotated[str | None, typer.Option(help="Interpreter of the environment it lives in.")] = None,
    config: Annotated[Path | None, typer.Option(help="JSON file with the config of the short run.")] = None,
    timeout_s: Annotated[float, typer.Option("--timeout", help="Seconds each run may take.")] = 120.0,
    only: Annotated[list[str] | None, typer.Option("--only", help="Make only this check; repeatable.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run a worker about fifteen times and say which promises of the contract it keeps.

    Exit code 0: every check passed or does not apply. 1: some check failed.
    """
    chosen = read_config_data(config) if config else None
    with _progress(len(only or CHECKS), quiet=as_json) as on_check:
        home, worker = (python, package) if python else _located(package)
        report = check_worker(
            worker,
            python=home,
            config=chosen,
            timeout_s=timeout_s,
            only=only or None,
            on_check=on_check,
        )
    if as_json:
        document(report.to_dict())
    else:
        _print_report(report)
    raise typer.Exit(0 if report.is_conformant else 1)


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
    as_json: AsJson = False,
) -> None:
    """Show which settings a worker takes; with `--json`, the JSON Schema of its config."""
    schema = _schema_in_fleet(name) or _schema_here(name)
    if as_json:
        document(schema)
        return
    out.print(settings_table(schema))
    out.print(
        f"\n[dim]Set them with `mosaic submit {shown(name)} --set NAME=VALUE`, or in a file with --config.[/]",
        soft_wrap=True,
    )


@app.command("install")
def install_worker(
    name: Annotated[str, typer.Argument(help="Image of this checkout, project directory, or distribution.")],
    label: Annotated[str | None, typer.Option("--name", help="Name of the environment.")] = None,
    upgrade: Annotated[bool, typer.Option("--upgrade", help="Make it anew if it exists.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make the environment of a worker: a venv of its own, from its lock where it has one."""
    recipe = find_recipe(name, start=Path(), label=label)
    with _narrated(f"installing {recipe.name}") as progress:
        environment = install(recipe, _home(), upgrade=upgrade, progress=progress)
    if as_json:
        document(environment)
        return
    out.print(
        f"[green]✓[/] {shown(environment.name)}: Python {environment.python_version}, "
        f"{environment.size_mb:.0f} MB in {shown(environment.path)}",
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
        out.print(f"[green]✓[/] {shown(name)} is removed")


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


def _located(package: str) -> tuple[str, str]:
    """Return the interpreter and the name of the worker meant by *package*.

    This environment goes first, then the installed one of that name, then any that has such a worker.
    """
    here = sys.executable, package
    if package in {point.name for point in installed_entry_points()}:
        return here
    workers = {home: probe_environment(home).workers for home in installed_environments(_home())}
    for home, found in workers.items():
        if home.name == package and len(found) == 1:
            return str(home.python), found[0].worker_id
    for home, found in workers.items():
        if package in {home.name, *(worker.worker_id for worker in found)}:
            return str(home.python), package
    return here


@contextmanager
def _narrated(title: str) -> Iterator[Callable[[str], None]]:
    """Show the newest line of some work beside a spinner, or every line where there is no terminal."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda line: console.print(line, markup=False, soft_wrap=True)
        return
    with console.status(shown(title)) as status:
        yield lambda line: status.update(f"{shown(title)} [dim]{shown(line.strip()[:100])}[/]")


@contextmanager
def _progress(total: int, *, quiet: bool) -> Iterator[Callable[[Check], None]]:
    if quiet:
        yield lambda _check: None
        return
    done = 0
    with Console(stderr=True).status(f"checking (0/{total})") as status:

        def show(check: Check) -> None:
            nonlocal done
            done += 1
            status.update(f"checking ({done}/{total}) {check.name}: {check.outcome.value}")

        yield show


def _print_report(report: Report) -> None:
    command = " ".join(report.launch)
    table = Table("check", "outcome", "what was seen", "s", title=shown(f"{report.worker} ({command})"))
    table.columns[2].overflow = "fold"
    for check in report.checks:
        table.add_row(shown(check.name), _MARKS[check.outcome], shown(check.sentence), f"{check.seconds:.1f}")
    out.print(table)
    for note in report.notes:
        out.print(f"[dim]note: {shown(note)}[/]")
    for failure in report.failures:
        out.print(f"[red]✗[/] {shown(failure.name)}: {shown(failure.sentence)}", soft_wrap=True)
    if report.is_conformant:
        passed = sum(check.outcome is Outcome.PASSED for check in report.checks)
        out.print(f"[green]✓[/] {passed} checks passed, none failed")


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
        state = "[green]ok[/]" if row["is_usable"] else f"[red]broken[/]: {shown(row['reason'])}"
        size = "" if row["size_mb"] is None else f"{row['size_mb']:.0f}"
        cells = (row[key] for key in ("worker", "version", "library", "python", "environment"))
        table.add_row(*(shown(cell) for cell in cells), size, state)
    out.print(table)


def _home() -> Path:
    return home_directory(os.environ)
