"""Reference pages about what others call: the command, the Python client, gRPC, rights, and the keys of a manifest."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import tomllib
import typer

import mosaic.client
from mosaic.cli.app import app
from mosaic.hosting.rights import GRANTS
from mosaic.model.identity import TEAM_ROLES, Permission, Role, Scope
from mosaic_telemetry.domain import manifest

ROOT = Path(__file__).resolve().parents[1]
MEANINGS = tomllib.loads(Path(__file__).with_name("manifest.toml").read_text(encoding="utf-8"))
_WIDTH = 100
_COMMENT = re.compile(r"\s*// ?(.*)")
_RPC = re.compile(r"\s*rpc (\w+)\((\w+)\) returns \((stream )?(\w+)\);")
_FIELD = re.compile(r"\s*((?:repeated |optional )?[\w.<>, ]+?) (\w+) = \d+;(?:\s*// ?(.*))?")

Comments = Callable[[Any], dict[str, str]]
Rows = Iterable[tuple[str, ...]]
Table = Callable[[tuple[str, ...], Rows], Iterator[str]]


def cli_page() -> Iterator[str]:
    """Print the help of every verb."""
    yield "Every verb, as its `--help` says. Those that answer questions take `--json`."
    yield from _helps("mosaic", typer.main.get_command(app), None)


def _helps(name: str, command: Any, parent: click.Context | None) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=_WIDTH, max_content_width=_WIDTH)
    text = re.sub(r"[ \t]+$", "", command.get_help(context), flags=re.MULTILINE)
    yield from ("", f"## {context.command_path}", "", "```text", *text.splitlines(), "```")
    for verb, inner in getattr(command, "commands", {}).items():
        yield from _helps(verb, inner, context)


def client_page(comments: Comments, table: Table) -> Iterator[str]:
    """List what `mosaic.client` offers, with docstrings."""
    yield "What `from mosaic.client import ...` offers; `pip install 'mosaic-sdk[client]'` brings it."
    for name in sorted(mosaic.client.__all__, key=lambda name: (name != "Mosaic", name)):
        offered = getattr(mosaic.client, name)
        if not inspect.isclass(offered):
            yield from ("", f"## {name}", "", *_signature(name, offered), "", *_prose(offered))
            continue
        yield from ("", f"## {name}", "", *_prose(offered))
        if dataclasses.is_dataclass(offered):
            told = comments(offered)
            rows = ((f"`{one.name}`", f"`{one.type}`", told.get(one.name, "")) for one in dataclasses.fields(offered))
            yield from ("", *table(("field", "type", "meaning"), rows))
        for member, code in vars(offered).items():
            if not member.startswith("_") and inspect.getdoc(code) and not isinstance(code, property | str):
                function = getattr(code, "__func__", code)
                if inspect.isfunction(function):
                    yield from ("", f"### {name}.{member}", "", *_signature(member, function), "", *_prose(function))


def _signature(name: str, function: Any) -> Iterator[str]:
    """Return how *function* is declared, as it stands in its source: defaults there have names, not addresses."""
    declared: Any = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    declared.args.args = [one for one in declared.args.args if one.arg not in ("self", "cls")]
    yield from ("```python", f"{name}({ast.unparse(declared.args)}) -> {ast.unparse(declared.returns)}", "```")


def _prose(documented: Any) -> Iterator[str]:
    """Return a docstring as Markdown: its examples and lists of errors stay as they are laid out."""
    text = inspect.getdoc(documented) or ""
    text = re.sub(r"^Raises:\n((?:    .*\n?)+)", _raises, text, flags=re.MULTILINE)
    text = re.sub(r"^::\n\n((?:    .*\n?|\n)+)", _example, text, flags=re.MULTILINE)
    yield from re.sub(r"\*(\w+)\*", r"`\1`", text).rstrip().splitlines()


def _example(match: re.Match[str]) -> str:
    return f"```python\n{textwrap.dedent(match[1]).rstrip()}\n```\n"


def _raises(match: re.Match[str]) -> str:
    entries = re.sub(r"\n {8,}", " ", match[1].rstrip()).splitlines()
    return "\n".join(re.sub(r"^    (\w+):", r"- raises `\1`:", entry) for entry in entries) + "\n"


def rights_page(comments: Comments, table: Table) -> Iterator[str]:
    """Say who may do what, from the table that every handler asks."""
    verbs, roles = comments(Permission), comments(Role)
    yield "Who may do what, and to whose things: their *own*, those of the *team* where they have the role, or *all*."
    yield "What is empty they may not; what they may not see does not exist for them. Tokens may be made for less."
    yield ""
    rows = [
        (f"`{permission.value}`", *(_scope(granted.get(role)) for role in Role))
        for permission, granted in GRANTS.items()
    ]
    yield from table(("permission", *(role.value for role in Role)), rows)
    yield ""
    yield "## Roles"
    yield ""
    held = {role: "a team" if role in TEAM_ROLES else "the fleet" for role in Role}
    yield from table(("role", "in", "for whom"), [(role.value, held[role], roles.get(role.name, "")) for role in Role])
    yield ""
    yield "## Permissions"
    yield ""
    yield "Every route, gRPC method and topic of the live stream declares one; one that declares none is closed."
    yield ""
    rows = [(f"`{permission.value}`", verbs.get(permission.name, "")) for permission in Permission]
    yield from table(("permission", "what it is"), rows)


def _scope(scope: Scope | None) -> str:
    return scope.value if scope else ""


def grpc_page(table: Table) -> Iterator[str]:
    """List every service with its calls, and every message with its fields."""
    yield "Services and agents speak gRPC with each other; people use the command or the Python client."
    yield "`make proto` generates the code from `proto/`. A field that is not set has its default."
    for proto in sorted((ROOT / "proto").rglob("*.proto")):
        yield from _proto_sections(proto.read_text(encoding="utf-8").splitlines(), table)


def _proto_sections(lines: Iterable[str], table: Table) -> Iterator[str]:
    title, about, rows, remarks = "", "", [], []
    for line in lines:
        if comment := _COMMENT.fullmatch(line):
            remarks.append(comment[1])
            continue
        if opened := re.match(r"(service|message) (\w+) \{", line):
            title, about, rows = f"{opened[1]} {opened[2]}", " ".join(remarks), []
            service = opened[1] == "service"
        elif rpc := _RPC.fullmatch(line):
            rows.append((f"`{rpc[1]}`", rpc[2], f"{rpc[3] or ''}{rpc[4]}", " ".join(remarks)))
        elif title and (field := _FIELD.fullmatch(line)):
            rows.append((f"`{field[2]}`", field[1].strip(), " ".join(filter(None, [*remarks, field[3]]))))
        elif line.startswith("}") and title:
            heading = ("call", "takes", "answers", "meaning") if service else ("field", "type", "meaning")
            yield from ("", f"{'##' if service else '###'} {title}", "", *([about, ""] if about else []))
            yield from table(heading, rows) if rows else ("No fields.",)
            title = ""
        remarks = []


def manifest_page(table: Table) -> Iterator[str]:
    """List the keys of a manifest, as the code that builds it writes them."""
    yield "The manifest is one JSON object, written once: when a run has ended and every event of it has arrived."
    yield "`mosaic manifest RUN` prints it; [what the numbers are of](numbers.md) defines the figures in it."
    for title, function in MEANINGS["functions"].items():
        keys = _keys_of(function)
        told = MEANINGS[title]
        if set(keys) != set(told):
            raise SystemExit(f"docs/manifest.toml, [{title}] and {function}() differ: {sorted(set(keys) ^ set(told))}")
        yield from ("", f"## {title}", "", *table(("key", "meaning"), ((f"`{key}`", told[key]) for key in keys)))


def _keys_of(function: str) -> list[str]:
    """Return the keys of the largest dict that *function* writes; `digest` is laid over the manifest itself."""
    tree = ast.parse(inspect.getsource(getattr(manifest, function)))
    largest = max((node for node in ast.walk(tree) if isinstance(node, ast.Dict)), key=lambda node: len(node.keys))
    keys: list[str] = []
    for key, value in zip(largest.keys, largest.values, strict=True):
        if isinstance(key, ast.Constant):
            keys.append(str(key.value))
        elif isinstance(value, ast.DictComp):
            keys += getattr(manifest, ast.unparse(value.generators[0].iter))
    return [*keys, "digest"] if function == "build_manifest" else keys
