"""``mosaic workers check``: which promises of the contract a worker keeps."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mosaic.cli.options import AsJson
from mosaic.cli.render import display, document, out
from mosaic.home import home_directory
from mosaic.installer.environments import locate_worker
from mosaic.testing.report import Check, Outcome, Report
from mosaic.worker.config import read_config_data

_MARKS = {
    Outcome.PASSED: "[green]passed[/]",
    Outcome.FAILED: "[bold red]failed[/]",
    Outcome.NOT_APPLICABLE: "[dim]not applicable[/]",
}


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
    # It takes longer to import than every other verb of `mosaic workers` takes in all.
    from mosaic.testing.conformance import CHECKS, check_worker

    chosen = read_config_data(config) if config else None
    with _progress(len(only or CHECKS), quiet=as_json) as on_check:
        interpreter, worker = (python, package) if python else locate_worker(package, home_directory(os.environ))
        report = check_worker(
            worker,
            python=interpreter,
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
    table = Table("check", "outcome", "what was seen", "s", title=display(f"{report.worker} ({command})"))
    table.columns[2].overflow = "fold"
    for check in report.checks:
        table.add_row(display(check.name), _MARKS[check.outcome], display(check.sentence), f"{check.seconds:.1f}")
    out.print(table)
    for note in report.notes:
        out.print(f"[dim]note: {display(note)}[/]")
    for failure in report.failures:
        out.print(f"[red]✗[/] {display(failure.name)}: {display(failure.sentence)}", soft_wrap=True)
    if report.is_conformant:
        passed = sum(check.outcome is Outcome.PASSED for check in report.checks)
        out.print(f"[green]✓[/] {passed} checks passed, none failed")
