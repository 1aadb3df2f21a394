"""Fill the templates of a new worker project."""

from __future__ import annotations

import keyword
import os
import re
import shutil
import tempfile
from importlib import metadata, resources
from pathlib import Path
from string import Template

from mosaic.errors import BadInput, Refused

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST_NAME = 40
#: Whose distributions are called ``mosaic-NAME`` already, installed here or not.
OUR_NAMES = frozenset(
    {"sdk", "agent", "testing", "compat", "hosting", "registry", "scheduler", "telemetry", "console", "simulator"}
    | {"embedded", "cleanrl", "sb3", "xuance", "rllib", "reference"}
)

#: Where each template goes; ``{package}`` is the name of the Python package.
FILES = {
    "pyproject.toml.tmpl": "pyproject.toml",
    "README.md.tmpl": "README.md",
    "init.py.tmpl": "{package}/__init__.py",
    "main.py.tmpl": "{package}/__main__.py",
    "config.py.tmpl": "{package}/config.py",
    "runtime.py.tmpl": "{package}/runtime.py",
    "corridor.py.tmpl": "{package}/corridor.py",
    "test_conformance.py.tmpl": "tests/test_conformance.py",
}


class DirectoryTaken(Refused):
    """The directory of the new project exists already."""

    code = "directory_taken"

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"{path} exists already and is left as it is; choose another name or --dir")


def create_project(name: str, parent: Path) -> Path:
    """Write a new worker project into *parent*/*name* and return that directory.

    The whole project appears at once or not at all.

    Raises:
        BadInput: *name* cannot be the name of a worker and of a package.
        DirectoryTaken: something is there already; nothing is overwritten.

    """
    faults = name_faults(name)
    if faults:
        raise BadInput(f"worker name {name!r}", faults)
    target = parent / name
    if target.exists():
        raise DirectoryTaken(target)
    parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=parent))
    try:
        _write_files(name, unfinished)
        unfinished.chmod(0o755)
        os.rename(unfinished, target)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return target


def name_faults(name: str) -> list[str]:
    """Say everything that is wrong with *name*; nothing means that it will do."""
    faults = []
    if not _NAME.fullmatch(name):
        suggestion = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-0123456789")
        hint = f", e.g. {suggestion!r}" if _NAME.fullmatch(suggestion) else ", e.g. 'my-lib'"
        faults.append(f"must be lower-case letters and digits, words joined by one '-', starting with a letter{hint}")
    if len(name) > _LONGEST_NAME:
        faults.append(f"has {len(name)} characters; {_LONGEST_NAME} are enough")
    if keyword.iskeyword(name):
        faults.append("is a word of the Python language")
    if name in OUR_NAMES:
        faults.append(f"would make a second mosaic-{name}, and this platform has one of its own; choose another name")
    elif _NAME.fullmatch(name) and _is_installed(f"mosaic-{name}"):
        faults.append(f"would make a second mosaic-{name}, and one is installed here; choose another name")
    return faults


def package_of(name: str) -> str:
    """Return the Python package of the worker *name*; the prefix keeps it apart from the library."""
    return "mosaic_" + name.replace("-", "_")


def _is_installed(distribution: str) -> bool:
    try:
        metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def _write_files(name: str, directory: Path) -> None:
    words = name.split("-")
    values = {
        "name": name,
        "package": package_of(name),
        "title": " ".join(word.capitalize() for word in words),
        "prefix": "".join(word.capitalize() for word in words),
    }
    templates = resources.files("mosaic.cli.scaffold") / "templates"
    for template, place in FILES.items():
        path = directory / place.format(package=values["package"])
        path.parent.mkdir(parents=True, exist_ok=True)
        text = (templates / template).read_text(encoding="utf-8")
        path.write_text(Template(text).substitute(values), encoding="utf-8")
