"""What every worker does with its checkpoints, whatever is in them."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

_BLOCK = 1024 * 1024
_UNFINISHED = ".part"


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file; for a directory, that of the digests of its files, by name."""
    digest = hashlib.sha256()
    if path.is_dir():
        for file in sorted(path.iterdir()):
            digest.update(f"{digest_of(file)}  {file.name}\n".encode())
        return digest.hexdigest()
    with path.open("rb") as content:
        while block := content.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def mismatches(*compared: tuple[str, Any, Any]) -> list[str]:
    """Say in which ways a checkpoint is of another kind of run: what is compared, its value there and that here."""
    return [f"is of {what} {theirs!r}, this run is of {ours!r}" for what, theirs, ours in compared if theirs != ours]


def shown(path: Path, run_dir: Path) -> str:
    """Return *path* relative to the run directory where it lies inside."""
    try:
        return str(path.resolve().relative_to(run_dir.resolve()))
    except ValueError:
        return str(path)


def prune(directory: Path, keep: int) -> None:
    """Delete all but the *keep* checkpoints in *directory* that were written last, and what was never finished.

    By time and not by step: a run that went back to an older checkpoint keeps what it writes after it. What
    cannot be deleted stays.
    """
    with suppress(OSError):
        found = sorted(directory.glob("step-*"), key=lambda path: path.stat().st_mtime_ns)
        finished = [path for path in found if path.suffix != _UNFINISHED]
        _delete([*finished[:-keep], *(path for path in found if path.suffix == _UNFINISHED)])


def _delete(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
