"""Verbs about who one is, and about people, their roles and their tokens."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from mosaic.cli import render
from mosaic.cli.options import AsJson, connect, read_span
from mosaic.cli.render import display
from mosaic.client import Login, Mosaic
from mosaic.client.people import sign_in
from mosaic.errors import BadInput, MosaicError
from mosaic.home import home_directory
from mosaic.model.identity import Permission, Role
from mosaic.model.people import Credential, User

users = typer.Typer(no_args_is_help=True, help="List, add, change and deactivate people and service accounts.")
tokens = typer.Typer(no_args_is_help=True, help="List, make and revoke tokens.")

_UserName = Annotated[str, typer.Argument(help="Name of the user.")]
_SecretFile = Annotated[
    Path | None, typer.Option("--file", help="Read the password or token there, - = standard input; else it is asked.")
]
_OfUser = Annotated[str, typer.Option("--user", help="A service account; without it, your own.")]


def login(
    url: Annotated[str, typer.Argument(help="Address of the platform, e.g. https://fleet.example.org.")],
    user: Annotated[str, typer.Option("--user", help="Sign in with name and password; else with a token.")] = "",
    file: _SecretFile = None,
) -> None:
    """Sign in to a platform: by name and password, or with a token that its console or an admin gave you.

    The credential is kept in the state directory, readable by you alone; `mosaic logout` ends it.
    """
    secret = _secret(f"Password of {user}" if user else "Token", file)
    if user:
        found = sign_in(url, user, secret, name=f"mosaic login on {socket.gethostname()}"[:200])
    else:
        found = Login(url.rstrip("/"), secret)
    with Mosaic(found) as platform:
        me = platform.people.me()
    found.keep(home_directory(os.environ))
    render.out.print(f"[green]✓[/] you are {display(me.user.name)} at {display(found.url)}")


def logout() -> None:
    """End the token of `mosaic login` and forget it."""
    home = home_directory(os.environ)
    kept = Login.kept(home)
    if kept is None:
        render.out.print("you are not signed in anywhere; `mosaic login URL` signs in")
        return
    # A platform that is away, or that has ended the token already, keeps nobody from leaving.
    with suppress(MosaicError), Mosaic(kept) as platform:
        platform.people.revoke(platform.people.me().via.partition(":")[2])
    Login.drop(home)
    render.out.print(f"signed out of {display(kept.url)}")


def whoami(as_json: AsJson = False) -> None:
    """Say who you are, in which teams, and by which credential."""
    with connect() as platform:
        me, url = platform.people.me(), platform.login.url
    if as_json:
        render.document(me)
        return
    render.out.print(f"[bold]{display(me.user.name)}[/] at {display(url)} by {display(me.via)}")
    render.out.print(_standing(me.user))
    if me.scopes is not None:
        render.out.print(f"only for {', '.join(sorted(scope.value for scope in me.scopes))}")


def members(
    team: Annotated[str, typer.Argument(help="Team.")],
    add: Annotated[str, typer.Option(help="Give this user a role in the team, or another one.")] = "",
    role: Annotated[Role, typer.Option(help="viewer, researcher or team-admin.")] = Role.RESEARCHER,
    remove: Annotated[str, typer.Option(help="Take this user's role away.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the members of a team, give somebody a role in it, or take it away."""
    with connect() as platform:
        if add:
            platform.people.set_member(team, add, role)
        if remove:
            platform.people.set_member(team, remove, None)
        found = platform.people.users(team=team)
    _show(found, as_json=as_json)


@users.command("list")
def list_users(as_json: AsJson = False) -> None:
    """List everybody whom you may see."""
    with connect() as platform:
        found = platform.people.users()
    _show(found, as_json=as_json)


@users.command("add")
def add_user(
    name: _UserName,
    display_name: Annotated[str, typer.Option("--display-name", help="As people write it.")] = "",
    email: Annotated[str, typer.Option(help="E-mail.")] = "",
    password: Annotated[bool, typer.Option("--password", help="Ask for a password, or read it from --file.")] = False,
    file: _SecretFile = None,
    service_of: Annotated[str, typer.Option("--service-of", help="A service account of this team.")] = "",
    role: Annotated[Role, typer.Option(help="Role of a service account in its team.")] = Role.RESEARCHER,
    as_json: AsJson = False,
) -> None:
    """Add a person, or a service account of a team."""
    secret = _secret(f"Password of {name}", file, twice=True) if password or file else ""
    with connect() as platform:
        added = platform.people.add(
            name, display_name=display_name, email=email, password=secret, owner_team=service_of or None, role=role
        )
    _show([added], as_json=as_json)


@users.command("deactivate")
def deactivate(name: _UserName) -> None:
    """Lock somebody out: every session and token of theirs ends at once. What they started runs on."""
    with connect() as platform:
        platform.people.change(name, active=False)
    render.out.print(f"{display(name)} is out; `mosaic users activate` lets them in again, with new credentials")


@users.command("activate")
def activate(name: _UserName) -> None:
    """Let somebody in again; sessions and tokens of before do not come back."""
    with connect() as platform:
        platform.people.change(name, active=True)
    render.out.print(f"{display(name)} may sign in again")


@users.command("roles")
def set_roles(
    name: _UserName,
    role: Annotated[list[Role] | None, typer.Argument(help="operator, admin, auditor; none = no role.")] = None,
    as_json: AsJson = False,
) -> None:
    """Replace somebody's roles in the fleet."""
    with connect() as platform:
        changed = platform.people.set_roles(name, role or ())
    _show([changed], as_json=as_json)


@users.command("password")
def set_password(
    name: Annotated[str, typer.Argument(help="Whose; without a name, your own.")] = "", file: _SecretFile = None
) -> None:
    """Set a password, and end every session it had opened."""
    with connect() as platform:
        me = str(platform.people.me().user.name)
        current = "" if name and name != me else _secret("Current password (empty = none)", None, empty=True)
        platform.people.set_password(name or me, _secret("New password", file, twice=True), current=current)
    render.out.print(f"the password of {display(name or me)} is set")


@tokens.command("list")
def list_tokens(user: _OfUser = "", as_json: AsJson = False) -> None:
    """List tokens; their text is shown once, when they are made."""
    with connect() as platform:
        found = platform.people.tokens(user=user)
    if as_json:
        render.document(found)
        return
    for token in found:
        render.out.print(_token_line(token), soft_wrap=True)
    if not found:
        render.out.print("there is none; `mosaic tokens create NAME` makes one")


@tokens.command("create")
def create_token(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    user: _OfUser = "",
    scope: Annotated[list[Permission] | None, typer.Option(help="All it may be used for; else all you may.")] = None,
    life: Annotated[str, typer.Option(help="How long it lives, e.g. 30d; 366d at most.")] = "90d",
    as_json: AsJson = False,
) -> None:
    """Make a token and print it, once."""
    seconds = read_span("--life", life)
    with connect() as platform:
        made = platform.people.issue_token(name, user=user, scopes=scope or (), life=timedelta(seconds=seconds))
    if as_json:
        render.document(made)
        return
    render.aside.print(
        f"token {made.token.credential_id}, until {made.token.expires_at:%Y-%m-%d}; it is shown this once:"
    )
    render.out.print(made.secret, soft_wrap=True, markup=False)


@tokens.command("revoke")
def revoke_token(token_id: Annotated[str, typer.Argument(help="Its id, as `mosaic tokens list` shows it.")]) -> None:
    """End a token at once."""
    with connect() as platform:
        platform.people.revoke(token_id)
    render.out.print(f"token {display(token_id)} has ended")


def _show(found: list[User], *, as_json: bool) -> None:
    if as_json:
        render.document(found)
        return
    for user in found:
        kind = f" (service account of {display(user.owner_team)})" if user.owner_team else ""
        called = f"  {display(user.display_name)}" if user.display_name else ""
        out = "" if user.active else "  [red]deactivated[/]"
        render.out.print(f"[bold]{display(user.name)}[/]{kind}{called}{out}  {_standing(user)}", soft_wrap=True)
    if not found:
        render.out.print("nobody whom you may see")


def _standing(user: User) -> str:
    roles = sorted(role.value for role in user.roles)
    teams = [f"{role.value} in {display(team)}" for team, role in sorted(user.teams.items())]
    return ", ".join([*roles, *teams]) or "no role"


def _token_line(token: Credential) -> str:
    used = f"used {render.age(token.last_used_at)} ago" if token.last_used_at else "never used"
    scopes = f"  only {', '.join(sorted(scope.value for scope in token.scopes))}" if token.scopes else ""
    return f"{token.credential_id}  [bold]{display(token.name)}[/]  until {token.expires_at:%Y-%m-%d}  {used}{scopes}"


def _secret(what: str, file: Path | None, *, twice: bool = False, empty: bool = False) -> str:
    """Return a secret from *file* or from who types: never from the command line, which everybody can read."""
    if file is None:
        default = "" if empty else None
        return str(typer.prompt(what, hide_input=True, confirmation_prompt=twice, default=default, show_default=False))
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise BadInput("--file", [f"{file} cannot be read: {error}"]) from error
    return text.strip("\r\n")
