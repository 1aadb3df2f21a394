"""From what an environment is made: a project directory with its lock, or a published distribution."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import tomllib

from mosaic.errors import BadInput, did_you_mean
from mosaic.ids import is_id

_IMAGES = "worker-images"


@dataclass(frozen=True)
class Recipe:
    """How to make one environment."""

    name: str
    #: What pip is asked to install: a directory or the name of a distribution.
    source: str
    #: The Python it asks for: a version, a set of bounds, or nothing.
    python: str = ""
    #: Exact versions of everything it needs, used instead of resolving anew.
    lock: Path | None = None
    #: How to get the SDK itself, which is in no public index when it runs from a checkout.
    sdk: str = "mosaic-sdk"


def find_recipe(name: str, *, start: Path, label: str | None = None) -> Recipe:
    """Say how to make the environment *name*: a directory, an image of this checkout, or a distribution.

    *label* names the environment otherwise than its source.

    Raises:
        BadInput: *name* is a directory without a project, or cannot name an environment.

    """
    directory = _directory_of(name, start)
    chosen = label or (directory.name if directory else name)
    if not is_id(chosen):
        raise BadInput(f"environment name {chosen!r}", [_name_fault(name, start)])
    if directory is None:
        return Recipe(chosen, name, sdk=sdk_source())
    project = directory / "pyproject.toml"
    if not project.is_file():
        raise BadInput(str(directory), ["has no pyproject.toml, so there is nothing to install"])
    lock = directory / "requirements.lock"
    python = _python_of(directory, project)
    return Recipe(chosen, str(directory), python, lock if lock.is_file() else None, sdk_source())


def known_images(start: Path) -> list[str]:
    """Return the names of the worker images of the checkout that *start* lies in."""
    return sorted({project.parent.name for root in _image_roots(start) for project in root.glob("*/pyproject.toml")})


def sdk_source() -> str:
    """Return what pip must be given to install this very SDK elsewhere."""
    try:
        installed = distribution("mosaic-sdk")
    except PackageNotFoundError:
        return "mosaic-sdk"
    origin: dict[str, Any] = json.loads(installed.read_text("direct_url.json") or "{}")
    address = urlsplit(origin.get("url", ""))
    if address.scheme == "file":
        return unquote(address.path)
    return f"mosaic-sdk=={installed.version}"


def _directory_of(name: str, start: Path) -> Path | None:
    if "/" in name or name in (".", ".."):
        directory = (start / name).expanduser().resolve()
        if not directory.is_dir():
            raise BadInput(name, ["is not a directory"])
        return directory
    for root in _image_roots(start):
        if (root / name / "pyproject.toml").is_file():
            return root / name
    return None


def _image_roots(start: Path) -> Iterable[Path]:
    places = [start.resolve(), *start.resolve().parents]
    source = Path(sdk_source())
    if source.is_absolute():
        places.append(source.parent)
    return [place / _IMAGES for place in dict.fromkeys(places) if (place / _IMAGES).is_dir()]


def _python_of(directory: Path, project: Path) -> str:
    pinned = directory / ".python-version"
    if pinned.is_file():
        return pinned.read_text(encoding="utf-8").split()[0]
    try:
        described = tomllib.loads(project.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(str(project), [f"is not TOML: {error}"]) from error
    return str(described.get("project", {}).get("requires-python", ""))


def _name_fault(name: str, start: Path) -> str:
    hint = did_you_mean(name, known_images(start))
    return f"may hold only letters, digits and . _ @ -{hint}"
