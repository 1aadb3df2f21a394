"""Checkpoints: folders that appear whole or not at all, with what they are of beside what the library wrote.

They hold pickled objects: load only what your own runs have saved.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from mosaic.errors import BadInput
from mosaic.worker.library.passport import Passport
from mosaic.worker.library.settings import Resolved
from mosaic.worker.library.training import Progress

_ABOUT = "about.json"
_BLOCK = 1024 * 1024
_UNFINISHED = ".part"


@dataclass(frozen=True)
class About:
    """What a checkpoint is of."""

    passport: Passport
    progress: Progress
    settings: Resolved = field(default_factory=dict)
    #: Parts that could not be kept and start anew on resume.
    starts_anew: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Write it into the checkpoint in *folder*."""
        told = {
            "passport": self.passport.to_dict(),
            "progress": self.progress.to_dict(),
            "settings": self.settings,
            "starts_anew": list(self.starts_anew),
        }
        (folder / _ABOUT).write_text(json.dumps(told, indent=1), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> About:
        """Return what the checkpoint in *folder* is of.

        Raises:
            BadInput: it is no checkpoint.

        """
        if not folder.exists():
            raise BadInput(str(folder), ["there is no such checkpoint"])
        try:
            told = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
            passport, progress = Passport.from_dict(told["passport"]), Progress.from_dict(told["progress"])
            return cls(passport, progress, told.get("settings", {}), tuple(told.get("starts_anew", ())))
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise BadInput(str(folder), [f"is not a checkpoint of a library worker: {error}"]) from error


def write_whole(path: Path, fill: Callable[[Path], None]) -> str:
    """Let *fill* write into a folder that becomes *path* when all of it is on the disk; return its digest.

    Raises:
        OSError, RuntimeError: the disk does not take it; nothing is left of the attempt.

    """
    unfinished = path.with_name(f"{path.name}{_UNFINISHED}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        fill(unfinished)
        for file in unfinished.rglob("*"):
            _sync(file)
        digest = digest_of(unfinished)
        shutil.rmtree(path, ignore_errors=True)
        os.replace(unfinished, path)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return digest


class _PatientFile:
    """A file to write once; a disk that does not take it is told of by `close`.

    torch's writer does not survive an error within `write`.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._fault: OSError | None = None

    def write(self, content: bytes) -> int:
        """Take *content*, and drop it after a fault."""
        if self._fault is None:
            try:
                self._file.write(content)
            except OSError as error:
                self._fault = error
        return len(content)

    def flush(self) -> None:
        """Do nothing yet: all of it is flushed by `close`."""

    def close(self) -> None:
        """Raise what went wrong."""
        with self._file:
            if self._fault is not None:
                raise self._fault


def dump(value: Any, path: Path) -> None:
    """Write *value*, tensors and all, to *path*.

    Raises:
        OSError: the disk does not take it.

    """
    file = _PatientFile(path)
    import_module("torch").save(value, file)
    file.close()


def undump(path: Path) -> Any:
    """Read what `dump` wrote.

    Raises:
        BadInput: it cannot be read.

    """
    try:
        return import_module("torch").load(path, map_location="cpu", weights_only=False)
    except Exception as error:
        raise BadInput(str(path), [f"cannot be read: {type(error).__name__}: {error}"]) from error


def _sync(path: Path) -> None:
    if path.is_file():
        with path.open("rb") as file:
            os.fsync(file.fileno())


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
