"""From what an environment is made: a project directory with its lock, a wheel, or a published distribution."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import tomllib

from mosaic.errors import BadInput, did_you_mean
from mosaic.ids import is_id
from mosaic.worker.installed import origin_of

_IMAGES = "worker-images"
#: How the names of workers that are published as distributions begin.
OWN_DISTRIBUTIONS = "mosaic-"
#: Workers of this repository: where there is no checkout, the short name means the distribution of that name.
PUBLISHED = ("cleanrl", "reference", "rllib", "xuance")
#: What of ours every environment of a worker has.
BESIDE_WORKERS = ("mosaic-sdk", "mosaic-compat")


@dataclass(frozen=True)
class Recipe:
    """How to make one environment."""

    name: str
    #: What pip is asked to install: a directory, a wheel, or the name of a distribution.
    source: str
    #: The Python it asks for: a version, a set of bounds, or nothing.
    python: str = ""
    #: Exact versions of everything it needs, used instead of resolving anew.
    lock: Path | None = None
    #: Import the source itself, so that what is edited there counts at once.
    editable: bool = False
    #: How to get what of ours stands beside every worker, which is in no public index when it runs from a checkout.
    ours: tuple[str, ...] = BESIDE_WORKERS


def find_recipe(
    name: str, *, start: Path, label: str | None = None, from_index: bool = False, editable: bool = False
) -> Recipe:
    """Say how to make the environment *name*: a directory, an image of this checkout, or a distribution.

    A distribution is what `OWN_DISTRIBUTIONS` begins, one of `PUBLISHED`, or what is asked for by *from_index*:
    whatever else the package index has under a name that was mistyped is nobody's worker. One of ours is taken from
    the folder of wheels that this SDK was installed from, if it lies there. *label* names the environment otherwise
    than its source. *editable* imports a directory instead of a copy of it.

    Raises:
        BadInput: *name* is none of these, is a directory without a project, cannot name an environment, or cannot be
            edited.

    """
    directory = None if from_index else _directory_of(name, start)
    chosen = label or (directory.name if directory else name)
    if not is_id(chosen):
        raise BadInput(f"environment name {chosen!r}", [_name_fault(name, start)])
    if directory is None and editable:
        raise BadInput("--editable", [f"{name!r} is a distribution; only a project directory can be edited"])
    if directory is None:
        return Recipe(chosen, name if from_index else _published(name, start), ours=our_sources())
    project = directory / "pyproject.toml"
    if not project.is_file():
        raise BadInput(str(directory), ["has no pyproject.toml, so there is nothing to install"])
    lock = directory / "requirements.lock"
    python = _python_of(directory, project)
    return Recipe(chosen, str(directory), python, lock if lock.is_file() else None, editable, our_sources())


def known_images(start: Path) -> list[str]:
    """Return the names of the worker images of the checkout that *start* lies in."""
    return sorted({project.parent.name for root in _image_roots(start) for project in root.glob("*/pyproject.toml")})


def our_sources() -> tuple[str, ...]:
    """Return what pip must be given to install this very SDK, and what belongs to it, elsewhere."""
    return tuple(_source_of(distribution) for distribution in BESIDE_WORKERS)


def _source_of(distribution: str) -> str:
    try:
        exact = version(distribution)
    except PackageNotFoundError:
        return distribution
    return origin_of(distribution).directory or _wheel_of(distribution, exact) or f"{distribution}=={exact}"


def _wheel_of(distribution: str, exact: str = "*") -> str | None:
    """Return the wheel of *distribution* in the folder that this SDK's own wheel was installed from, if both are there.

    The file itself is given to pip, so that a package index is never asked for what is ours.
    """
    archive = origin_of("mosaic-sdk").archive
    found = sorted(Path(archive).parent.glob(f"{distribution.replace('-', '_')}-{exact}-*.whl")) if archive else []
    return str(found[-1]) if found else None


def _published(name: str, start: Path) -> str:
    distribution = OWN_DISTRIBUTIONS + name if name in PUBLISHED else name
    if not distribution.startswith(OWN_DISTRIBUTIONS):
        raise BadInput(f"worker {name!r}", [_unknown(name, start)])
    return _wheel_of(distribution) or distribution


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
    source = Path(_source_of("mosaic-sdk"))
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


def _unknown(name: str, start: Path) -> str:
    known = known_images(start) or list(PUBLISHED)
    listing = f" ({', '.join(known)})" if known else ""
    near = did_you_mean(name, known)
    there = "; there is a directory of that name: write ./" + name if (start / name).is_dir() else ""
    return (
        f"is no worker image of this checkout{listing}{near}{there}; "
        "a project of yours is named by its directory, a distribution of the package index with --from-index"
    )


def _name_fault(name: str, start: Path) -> str:
    hint = did_you_mean(name, known_images(start))
    return f"may hold only letters, digits and . _ @ -{hint}"
