"""``mosaic secrets``: what only runs of their owner are handed."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from mosaic.cli.options import AsJson, connect
from mosaic.cli.render import display, document, out

app = typer.Typer(no_args_is_help=True, help="Set, list and remove secrets of yours and of your teams.")

NameArgument = Annotated[str, typer.Argument(help="Name of the secret, as in --secret VARIABLE=NAME.")]
TeamOption = Annotated[str, typer.Option(help="Of this team; without it, your own.")]


@app.command("set")
def set_secret(name: NameArgument, team: TeamOption = "", as_json: AsJson = False) -> None:
    """Keep a secret. Its value is asked for, or read from standard input; it never stands in the command."""
    value = _value()
    with connect() as platform:
        secret = platform.set_secret(name, value, team=team)
    if as_json:
        document(secret)
    else:
        whose = f"runs of team {display(team)}" if team else "your runs"
        out.print(f"{display(name)} is kept; {whose} may name it with --secret VARIABLE={display(name)}")


@app.command("list")
def list_secrets(as_json: AsJson = False) -> None:
    """List the secrets that your runs may name; no command shows a value."""
    with connect() as platform:
        found = platform.secrets()
    if as_json:
        document(found)
        return
    for secret in found:
        whose = f"team {display(secret.team)}, set by {display(secret.user)}" if secret.team else "yours"
        out.print(f"{display(secret.name)}  {whose}  {secret.updated_at:%Y-%m-%d %H:%M}", soft_wrap=True)
    if not found:
        out.print("there are none; `mosaic secrets set NAME` keeps one")


@app.command("rm")
def remove_secret(name: NameArgument, team: TeamOption = "", as_json: AsJson = False) -> None:
    """Forget a secret; runs that wait and name it will not start without it."""
    with connect() as platform:
        platform.delete_secret(name, team=team)
    if as_json:
        document({"name": name, "team": team})
    else:
        out.print(f"{display(name)} is forgotten")


def _value() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Value", hide_input=True))
    return sys.stdin.read().removesuffix("\n")
