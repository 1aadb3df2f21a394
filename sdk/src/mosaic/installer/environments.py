"""The environments of this machine: one venv per library, since libraries disagree.

An environment is a directory ``<state>/workers/<name>``, a symbolic link to the venv that was
finished last. A venv under construction has no link to it, so a half-made one never looks
installed, and an upgrade that fails leaves the old one as it was.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from mosaic.errors import NotFound, Refused, did_you_mean
from mosaic.ids import new_run_id
from mosaic.installer.interpreters import Version, dotted
from mosaic.installer.provenance import RECORD, Commit, commit_of, digest_of_lock
from mosaic.installer.recipes import Recipe
from mosaic.installer.venvs import build_venv
from mosaic.worker.discovery import installed_entry_points
from mosaic.worker.probe import ProbedWorker, ProbeReport, probe

_CACHE = "mosaic-probe.json"
#: Counted up when a probe tells more than before: what was kept of it then is asked anew.
_CACHE_FORM = 2
_STORE = ".venvs"

Progress = Callable[[str], None]
Builder = Callable[[Path, Recipe, Progress], Version]


class EnvironmentNotFound(NotFound):
    """No environment has that name."""

    code = "environment_not_found"

    def __init__(self, name: str, known: list[str]) -> None:
        self.name = name
        listing = ", ".join(known) or "none"
        super().__init__(f"no environment is called {name!r}{did_you_mean(name, known)} (installed: {listing})")


class AlreadyInstalled(Refused):
    """The environment exists; upgrading must be asked for."""

    code = "already_installed"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name!r} is installed already; use --upgrade to make it anew")


@dataclass(frozen=True)
class Environment:
    """A finished venv of one worker."""

    name: str
    path: Path
    #: What it was made from: a directory or the name of a distribution.
    source: str
    python_version: str
    size_mb: float
    installed_at: str
    #: Of the lock it was made from, if it has one.
    lock_digest: str | None = None
    #: Where its source stood when it was made, if that was a directory of a git repository.
    commit: str | None = None
    dirty: bool | None = None
    #: Whether its source itself is imported, not a copy.
    editable: bool = False

    @property
    def python(self) -> Path:
        """The interpreter to start the worker with."""
        return self.path / "bin" / "python"


def installed_environments(state: Path) -> list[Environment]:
    """Return every finished environment under *state*, by name."""
    root = state / "workers"
    links = sorted(root.iterdir()) if root.is_dir() else []
    found = (_read(link) for link in links if not link.name.startswith("."))
    return [environment for environment in found if environment is not None]


def find_environment(name: str, state: Path) -> Environment:
    """Return the environment called *name*.

    Raises:
        EnvironmentNotFound: there is none, or it is not finished.

    """
    installed = {environment.name: environment for environment in installed_environments(state)}
    if name not in installed:
        raise EnvironmentNotFound(name, sorted(installed))
    return installed[name]


def install(
    recipe: Recipe,
    state: Path,
    *,
    upgrade: bool = False,
    progress: Progress = lambda _line: None,
    build: Builder = build_venv,
) -> Environment:
    """Make the environment *recipe* describes and return it; *progress* hears every line of the work.

    With *upgrade*, the old venv stays on disk until the next upgrade, because runs may be using it.

    Raises:
        AlreadyInstalled: it exists and *upgrade* was not asked for.
        PythonMissing: no Python here suits it.
        WorkerBroken: a step of the making failed; nothing is changed.

    """
    root = state / "workers"
    (root / _STORE).mkdir(parents=True, exist_ok=True)
    with _locked(root / _STORE / f"{recipe.name}.lock"):
        link = root / recipe.name
        if _read(link) is not None and not upgrade:
            raise AlreadyInstalled(recipe.name)
        current = link.resolve() if link.exists() else None
        _forget_others(root, recipe.name, keep=current)
        venv = root / _STORE / f"{recipe.name}@{new_run_id()}"
        try:
            made_from = commit_of(recipe.source) if Path(recipe.source).is_dir() else Commit()
            version = build(venv, recipe, progress)
            _record(venv, recipe, dotted(version), made_from)
        except BaseException:
            shutil.rmtree(venv, ignore_errors=True)
            raise
        _point(link, venv)
        return find_environment(recipe.name, state)


def remove(name: str, state: Path) -> None:
    """Delete the environment *name*; runs that use it will fail.

    Raises:
        EnvironmentNotFound: there is none.

    """
    find_environment(name, state)
    root = state / "workers"
    with _locked(root / _STORE / f"{name}.lock"):
        (root / name).unlink()
        _forget_others(root, name, keep=None)


def probe_environment(environment: Environment, *, timeout_s: float = 60.0) -> ProbeReport:
    """Ask what workers live in *environment*; the answer is kept until something is installed there.

    An answer that names a fault is never kept: what broke it may be gone by the next time.
    """
    key = _cache_key(environment)
    kept = _read_json(environment.path / _CACHE)
    if kept.get("key") == key:
        return report_from(kept["report"])
    report = probe(environment.python, timeout_s=timeout_s)
    if not report.faults and not any(worker.faults for worker in report.workers):
        _write_json(environment.path / _CACHE, {"key": key, "report": asdict(report)})
    return report


def report_from(kept: Mapping[str, Any]) -> ProbeReport:
    """Return the report that was written down as *kept*."""
    workers = tuple(ProbedWorker(**_with_tuples(worker)) for worker in kept["workers"])
    return ProbeReport(kept["python"], workers, kept["versions"], packages=kept.get("packages", {}))


def _with_tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _cache_key(environment: Environment) -> list[Any]:
    watched = list(environment.path.glob("lib/python3*/site-packages"))
    if environment.editable:
        watched += sorted(Path(environment.source).rglob("*.py"))
    return [_CACHE_FORM, str(environment.path.resolve()), *(path.stat().st_mtime_ns for path in watched)]


def _read(link: Path) -> Environment | None:
    record = _read_json(link / RECORD)
    try:
        return Environment(path=link, **record)
    except TypeError:
        return None


def _record(venv: Path, recipe: Recipe, python_version: str, made_from: Commit) -> None:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    made = Environment(
        recipe.name,
        venv,
        recipe.source,
        python_version,
        _size_mb(venv),
        now,
        lock_digest=digest_of_lock(recipe.lock) if recipe.lock else None,
        commit=made_from.commit,
        dirty=made_from.dirty,
        editable=recipe.editable,
    )
    document = {key: value for key, value in asdict(made).items() if key != "path"}
    # Written last: a venv without it is not finished.
    _write_json(venv / RECORD, document)


def _point(link: Path, venv: Path) -> None:
    unfinished = link.with_name(f".{link.name}.link")
    unfinished.unlink(missing_ok=True)
    unfinished.symlink_to(venv.relative_to(link.parent))
    os.replace(unfinished, link)


def _forget_others(root: Path, name: str, keep: Path | None) -> None:
    ours = re.compile(re.escape(name) + r"@[0-9A-Z]{26}")
    for venv in (root / _STORE).iterdir():
        if ours.fullmatch(venv.name) and venv.resolve() != keep:
            shutil.rmtree(venv, ignore_errors=True)


def _size_mb(directory: Path) -> float:
    files = (path.lstat().st_size for path in directory.rglob("*") if not path.is_dir())
    return round(sum(files) / 1e6, 1)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _read_json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _write_json(path: Path, document: Mapping[str, Any]) -> None:
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(document, indent=1), encoding="utf-8")
    os.replace(unfinished, path)


def locate_worker(package: str, home: Path) -> tuple[str, str]:
    """Return the interpreter and the name of the worker meant by *package*.

    This environment goes first, then the installed one of that name, then any that has such a worker.
    """
    here = sys.executable, package
    if package in {point.name for point in installed_entry_points()}:
        return here
    workers = {environment: probe_environment(environment).workers for environment in installed_environments(home)}
    for environment, found in workers.items():
        if environment.name == package and len(found) == 1:
            return str(environment.python), found[0].worker_id
    for environment, found in workers.items():
        if package in {environment.name, *(worker.worker_id for worker in found)}:
            return str(environment.python), package
    return here
