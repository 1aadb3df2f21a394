"""Find a Python that suits a worker: libraries differ in which versions they run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mosaic.errors import MosaicError

Version = tuple[int, ...]

#: What the SDK itself needs.
OLDEST: Version = (3, 10)
_MINORS = range(OLDEST[1], 20)
_CLAUSE = re.compile(r"\s*(~=|===?|!=|<=?|>=?)\s*v?(\d+(?:\.\d+)*)(\.\*)?\s*")


@dataclass(frozen=True)
class Interpreter:
    """A Python that has been seen to run."""

    path: Path
    version: Version

    def __str__(self) -> str:
        """Return its version as people write it."""
        return dotted(self.version)


class PythonMissing(MosaicError):
    """No installed Python has the version a worker needs."""

    code = "python_missing"
    exit_code = 6

    def __init__(self, wanted: str, found: Iterable[Interpreter]) -> None:
        self.wanted = wanted
        listing = ", ".join(str(one) for one in found) or "none"
        super().__init__(
            f"it needs Python {wanted}, and none is installed (found: {listing}); "
            f"install one, e.g. `uv python install {_example(wanted)}` or `pyenv install`, and try again"
        )


def choose_interpreter(wanted: str, installed: Iterable[Interpreter]) -> Interpreter:
    """Return the first of *installed* that fits *wanted*, a version such as 3.10 or a set of bounds.

    Raises:
        PythonMissing: none fits.

    """
    candidates = list(installed)
    for candidate in candidates:
        if candidate.version >= OLDEST and fits(candidate.version, wanted):
            return candidate
    raise PythonMissing(wanted, candidates)


def fits(version: Version, wanted: str) -> bool:
    """Tell whether *version* lies within *wanted*; what cannot be read is no bound."""
    if re.fullmatch(r"\d+(\.\d+)*", wanted.strip()):
        return _starts_with(version, _numbers(wanted))
    return all(_within(version, clause) for clause in wanted.split(",") if clause.strip())


def installed_interpreters(env: Mapping[str, str] = os.environ) -> list[Interpreter]:
    """Return this Python, then every other on the machine that runs, the newest first."""
    this = Interpreter(Path(sys.executable), tuple(sys.version_info[:3]))
    others: dict[Version, Interpreter] = {}
    for path in _candidates(env):
        version = _version_of(path)
        if version is not None and version != this.version:
            others.setdefault(version, Interpreter(path, version))
    return [this, *sorted(others.values(), key=lambda one: one.version, reverse=True)]


def dotted(version: Version) -> str:
    """Return 3.10.13 for (3, 10, 13)."""
    return ".".join(str(number) for number in version)


def _candidates(env: Mapping[str, str]) -> list[Path]:
    on_path = [shutil.which(f"python3.{minor}", path=env.get("PATH")) for minor in _MINORS]
    home = Path(env.get("HOME", "/nonexistent"))
    kept = [
        *home.glob(".pyenv/versions/3.1[0-9]*/bin/python3"),
        *home.glob(".local/share/uv/python/cpython-3.1[0-9]*/bin/python3"),
    ]
    return [Path(path) for path in on_path if path] + kept


def _version_of(path: Path) -> Version | None:
    # A shim of a version manager exists for versions that are not installed: only running it tells.
    script = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
    try:
        answer = subprocess.run([str(path), "-c", script], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return _numbers(answer.stdout) if answer.returncode == 0 else None


def _numbers(text: str) -> Version:
    return tuple(int(part) for part in text.strip().split("."))


def _starts_with(version: Version, prefix: Version) -> bool:
    return version[: len(prefix)] == prefix


def _within(version: Version, clause: str) -> bool:
    match = _CLAUSE.fullmatch(clause)
    if match is None:
        return True
    operator, bound, is_prefix = match[1], _numbers(match[2]), match[3] is not None
    padded = bound + (0,) * (len(version) - len(bound))
    if operator in ("==", "===", "!="):
        is_equal = _starts_with(version, bound) if is_prefix else version == padded
        return is_equal is (operator != "!=")
    if operator == "~=":
        return version >= padded and _starts_with(version, bound[:-1])
    return {"<": version < padded, "<=": version <= padded, ">": version > padded, ">=": version >= padded}[operator]


def _example(wanted: str) -> str:
    for minor in reversed(range(OLDEST[1], 14)):
        if fits((3, minor, 99), wanted):
            return f"3.{minor}"
    return wanted
