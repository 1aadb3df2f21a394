"""Parsing: every verb of the ``mosaic`` command, and what its exit codes mean."""

from __future__ import annotations

import os
import sys
from importlib.metadata import entry_points, version
from typing import Any

import typer
from typer.core import TyperGroup

from mosaic.cli import envs, fleet, follow, reading, runs, submit, workers
from mosaic.cli.render import aside, shown
from mosaic.errors import MosaicError
from mosaic.worker.plain import to_json

#: Whoever asks for JSON gets the error as JSON, too: on standard error, one line.
_JSON_OPTIONS = {"--json", "--jsonl"}

_HELP = """Run reinforcement-learning training on a shared fleet.

Start with `mosaic up` in one terminal and `mosaic submit reference --follow` in another.

Exit codes: 0 done, 1 failed inside, 2 bad input, 3 no such thing, 4 refused, 5 the platform
does not answer, 6 a worker is broken, 10 the run failed, 11 the run was cancelled, 130 interrupted.
"""


class _Verbs(TyperGroup):
    """Every verb; a reader of its output who has seen enough, as in `mosaic events RUN | head`, is no fault."""

    def invoke(self, ctx: Any) -> Any:
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            # What is still to be flushed must go somewhere, or the interpreter complains at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None


app = typer.Typer(
    cls=_Verbs,
    help=_HELP,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(workers.app, name="workers", rich_help_panel="Workers and machines")
app.command("submit", rich_help_panel="Runs")(submit.submit)
app.command("runs", rich_help_panel="Runs")(runs.list_runs)
app.command("show", rich_help_panel="Runs")(runs.show)
app.command("cancel", rich_help_panel="Runs")(runs.cancel)
app.command("pause", rich_help_panel="Runs")(runs.pause)
app.command("resume", rich_help_panel="Runs")(runs.resume)
app.command("retry", rich_help_panel="Runs")(runs.retry)
app.command("explain", rich_help_panel="Runs")(runs.explain)
app.command("follow", rich_help_panel="Runs")(follow.follow)
app.command("logs", rich_help_panel="Results")(reading.logs)
app.command("metrics", rich_help_panel="Results")(reading.metrics)
app.command("events", rich_help_panel="Results")(reading.events)
app.command("manifest", rich_help_panel="Results")(reading.manifest)
app.command("export", rich_help_panel="Results")(reading.export)
app.command("envs", rich_help_panel="Workers and machines")(envs.envs)
app.command("fleet", rich_help_panel="Workers and machines")(fleet.fleet)
app.command("drain", rich_help_panel="Workers and machines")(fleet.drain)
app.command("teams", rich_help_panel="Workers and machines")(fleet.teams)


def _mount_extra_commands(arguments: list[str]) -> None:
    """Add what other distributions offer, such as ``up`` and ``simulate``.

    They bring heavy imports, so only the one that is asked for is loaded; help shows them all.
    """
    extra = {entry.name: entry for entry in entry_points(group="mosaic.commands")}
    verb = next((argument for argument in arguments if not argument.startswith("-")), None)
    own = {command.name for command in app.registered_commands} | {group.name for group in app.registered_groups}
    wanted = [extra[verb]] if verb in extra else [] if verb in own else sorted(extra.values(), key=lambda e: e.name)
    for entry in wanted:
        try:
            command = entry.load()
        except ImportError as error:
            aside.print(f"[yellow]warning:[/] `mosaic {entry.name}` is broken: {shown(error, aside)}")
            continue
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=entry.name, rich_help_panel="This machine")
        else:
            app.command(entry.name, rich_help_panel="This machine")(command)


@app.callback(invoke_without_command=True)
def _root(
    show_version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if show_version:
        print(f"mosaic {version('mosaic-sdk')}")
        raise typer.Exit


def main() -> None:
    """Run the command; errors of ours are one clear message and their own exit code."""
    _mount_extra_commands(sys.argv[1:])
    try:
        app(prog_name="mosaic")
    except MosaicError as error:
        _tell(error, as_json=not _JSON_OPTIONS.isdisjoint(sys.argv))
        sys.exit(error.exit_code)


def _tell(error: MosaicError, *, as_json: bool) -> None:
    if as_json:
        print(to_json({"error": {"code": error.code, "message": str(error)}}), file=sys.stderr)
    else:
        aside.print(f"[bold red]error:[/] {shown(error, aside)}", soft_wrap=True)


if __name__ == "__main__":
    main()
