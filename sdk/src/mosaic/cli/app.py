"""Parsing: the ``mosaic`` command, and what its exit codes mean."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer
from typer.core import CompletionItem, TyperGroup  # type: ignore[attr-defined]

from mosaic.cli.verbs import Commands

_HELP = """Run reinforcement-learning training on a shared fleet.

Start with `mosaic up -d`, then `mosaic submit reference --follow`; `mosaic down` ends it.

Exit codes: 0 done, 1 failed inside, 2 bad input, 3 no such thing, 4 refused, 5 the platform
does not answer, 6 a worker is broken, 10 the run failed, 11 the run was cancelled, 130 interrupted.
"""


class _Verbs(TyperGroup):
    """Every verb; a reader of its output who has seen enough, as in `mosaic events RUN | head`, is no fault."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Commands = Commands()  # type: ignore[assignment]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Answer `--version` at once: what reads options takes longer to import than the answer is worth."""
        if args[:1] == ["--version"]:
            from importlib.metadata import version

            print(f"mosaic {version('mosaic-sdk')}")
            ctx.exit()
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the verbs by what they are about."""
        for panel, verbs in self.commands.panels().items():
            with formatter.section(panel):
                formatter.write_dl(verbs)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete a verb from the list that help shows, without importing any."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        listed = [verb for verbs in self.commands.panels().values() for verb in verbs]
        return [CompletionItem(name, help=told) for name, told in listed if name.startswith(incomplete)]

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
    # What draws boxes around help takes longer to import than everything else that help needs.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    show_version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Declare what stands before a verb; `_Verbs.parse_args` answers it."""
