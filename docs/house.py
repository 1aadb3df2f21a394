"""Count what the code base is held to: `make house` prints it, and ends with 1 when a wanted value is missed.

Counted are hand-written production files: neither tests nor what `make proto` writes. Sources are read, not imported,
so it works on a tree that is half renamed. `way.toml` says which modules take the steps of a run.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parents[1]
WAY: dict[str, Any] = tomllib.loads(Path(__file__).with_name("way.toml").read_text(encoding="utf-8"))

#: Room -> where its packages lie. Testing is production code of its users, and counted apart.
ROOMS = {
    "sdk": "sdk/src",
    "agent": "agent/src",
    **{name: f"services/{name}" for name in ("registry", "scheduler", "telemetry", "console", "embedded")},
    "common": "services/common/src",
    "simulator": "services/simulator",
    "compat": "compat/src",
    "workers": "worker-images",
}
APART = {"testing": "testing/src"}

#: A class, protobuf message, table or dict with four of these names is a representation of a run.
_OF_A_RUN = re.compile(
    "worker(_id)?|config(_json|_digest)?|run_digest|seeds?|team|user|priority|resources|labels|state|max_wall(_s)?"
    "|continues|idempotency_key|submitted_at|reason_code|secrets|not_before"
)
#: Questions about runs, and the simulator, whose runs nobody submitted, are none.
_NO_REPRESENTATION = re.compile(r"(Filter|Request)$|^services/simulator/")
#: They serve every call or wire everything up: on the way they count, but what they import for other calls does not.
_BORDER = re.compile(r"\.(cli|entrypoints)\.|^mosaic\.agent\.agent$")
_MESSAGES = re.compile(r"mosaic\.wire\.v1\.\w+_pb2|google\.protobuf\..+")


def main() -> int:
    """Print every measure, and return 1 if a wanted value is missed."""
    return min(1, sum(_say(*row) for row in measures()))


def measures() -> Iterator[tuple[str, str, bool, list[str]]]:
    """Yield each measure: its name, its value with what is wanted, whether that is missed, and details."""
    rooms = {room: files_of(room) for room in (*ROOMS, *APART)}
    rows = [f"{room:<10} {len(files):>4} files {lines_in(files):>7,} lines" for room, files in rooms.items()]
    files = [file for room in ROOMS for file in rooms[room]]
    told = f"{len(files)} files, {lines_in(files):,} lines without {', '.join(APART)} (wanted: at most 42,000)"
    yield "production Python", told, lines_in(files) > 42_000, rows

    way = way_of_a_run()
    told = f"{len(way)} files, {lines_in(way.values()):,} lines (wanted: under 90)"
    steps = [f"{step['name']:<10} {', '.join(step['modules'])}" for step in WAY["step"]]
    yield "files on the way of a run", told, len(way) >= 90, steps
    gone = [name for step in WAY["step"] for name in step["modules"] if name not in modules()]
    yield "modules in docs/way.toml that are not there", f"{len(gone)} (wanted: none)", bool(gone), gone

    found = representations()
    yield "representations of a run", f"{len(found)} (wanted: at most 12)", len(found) > 12, found
    guilty = [
        name
        for name, file in modules().items()
        if any(f"{one}.".startswith("mosaic.testing.") for one in imports(file))
    ]
    yield "production code that imports mosaic.testing", f"{len(guilty)} (wanted: none)", bool(guilty), guilty
    converters = [name for name, file in modules().items() if any(map(_MESSAGES.fullmatch, imports(file)))]
    yield "modules that handle protobuf messages", f"{len(converters)} (the aim is 1 that converts)", False, converters


def files_of(room: str) -> list[Path]:
    """Return the hand-written Python files of *room*."""
    found = (ROOT / (ROOMS | APART)[room]).rglob("*.py")
    return sorted(file for file in found if not _is_generated_or_test(file.relative_to(ROOT)))


@cache
def modules() -> Mapping[str, Path]:
    """Return every production module by its dotted name."""
    named = {}
    for room, place in ROOMS.items():
        for file in files_of(room):
            parts = file.relative_to(ROOT / place).with_suffix("").parts[1 if room == "workers" else 0 :]
            named[".".join(parts).removesuffix(".__init__")] = file
    return named


def way_of_a_run() -> dict[str, Path]:
    """Return the modules on the way: those of the steps, and all that they import of ours, directly or not."""
    waiting = [name for step in WAY["step"] for name in step["modules"]]
    seen: dict[str, Path] = {}
    while waiting:
        name = waiting.pop(0)
        if name in seen or name not in modules():
            continue
        seen[name] = modules()[name]
        if not _BORDER.search(name):
            waiting += imports(seen[name])
    return {name: file for name, file in seen.items() if len(tree(file).body) > 1}  # not what is only a docstring


@cache
def imports(file: Path) -> tuple[str, ...]:
    """Return what *file* imports, modules and names of modules alike; not what only a type checker reads."""
    found: list[str] = []
    for node in _walk(tree(file)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(found)


def representations() -> list[str]:
    """Return where a run is written down once more: dataclasses, models, tables, dicts and protobuf messages."""
    found = [f"{file.relative_to(ROOT)} {name}" for file in modules().values() for name in _holders(tree(file))]
    for proto in sorted((ROOT / "proto").rglob("*.proto")):
        for message in re.finditer(r"^message (\w+) \{(.*?)^\}", source(proto), re.MULTILINE | re.DOTALL):
            if _is_of_a_run(re.findall(r"(\w+) = \d+;", message[2])):
                found.append(f"{proto.relative_to(ROOT)} {message[1]}")
    return [one for one in found if not _NO_REPRESENTATION.search(one)]


def place_of(definition: str) -> str:
    """Return the file that defines ``room:name``; raises `LookupError` if none does, or several do."""
    room, _, name = definition.partition(":")
    places = {file for file in files_of(room) if name in {_name(node) for node in tree(file).body}}
    # Names inside classes are asked for only where no module has such a one.
    places = places or {file for file in files_of(room) if name in {_name(node) for node in ast.walk(tree(file))}}
    if len(places) != 1:
        raise LookupError(f"{definition!r} of docs/way.toml is defined by {len(places)} files of {room}")
    return str(places.pop().relative_to(ROOT))


def lines_in(files: Iterable[Path]) -> int:
    """Return how many lines *files* have, blank ones and comments included."""
    return sum(source(file).count("\n") for file in files)


@cache
def tree(file: Path) -> ast.Module:
    """Return *file*, parsed."""
    return ast.parse(source(file))


def source(file: Path) -> str:
    """Return the text of *file*."""
    return file.read_text(encoding="utf-8")


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield child
            yield from _walk(child)


def _holders(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef) and _is_of_a_run(_name(part) for part in node.body):
            yield node.name
        elif isinstance(node, ast.Dict) and _is_of_a_run(getattr(key, "value", None) for key in node.keys):
            yield f"dict in line {node.lineno}"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Table"):
            columns = [part.args[0] for part in node.args if isinstance(part, ast.Call) and part.args]
            if _is_of_a_run(getattr(column, "value", None) for column in columns):
                yield f"table {ast.unparse(node.args[0])}"


def _name(node: ast.AST) -> str:
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return getattr(node, "name", None) or getattr(target, "id", None) or ""


def _is_of_a_run(names: Iterable[Any]) -> bool:
    return len({name for name in names if isinstance(name, str) and _OF_A_RUN.fullmatch(name)}) >= 4


def _is_generated_or_test(file: Path) -> bool:
    return "_pb2" in file.name or file.name.startswith(("test_", "conftest")) or "build" in file.parts


def _say(name: str, value: str, is_missed: bool, details: Iterable[str]) -> bool:
    sys.stdout.write(f"{'MISSED' if is_missed else 'ok    '} {name}: {value}\n")
    sys.stdout.writelines(f"         {line}\n" for line in details)
    return is_missed


if __name__ == "__main__":
    raise SystemExit(main())
