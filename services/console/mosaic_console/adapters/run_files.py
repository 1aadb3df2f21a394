"""The files of runs, where the console can read their directories."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone

from mosaic.errors import NotFound, Refused
from mosaic_console.ports import Artifact

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: What blocks when it is opened, such as a pipe, is opened all the same, and found to be no file.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MOST = 10_000


class RunFiles:
    """Run directories under one root. No link is ever followed: who writes into one may put any there, at any time."""

    def __init__(self, root: str) -> None:
        """Serve from *root*; empty = this console sees none."""
        self._root = root

    def list(self, run_id: str) -> list[Artifact]:
        """Return the files of a run by path, at most the first ten thousand.

        Raises:
            NotFound: its directory is not here.
            Refused: this console sees no run directories, or may not read this one.
        """
        with self._directory(run_id) as directory:
            found = []
            for place, _, names, folder in os.fwalk(".", dir_fd=directory, follow_symlinks=False):
                found += [each for name in names if (each := _artifact(place, name, folder))]
                if len(found) >= _MOST:
                    break
            return sorted(found[:_MOST], key=lambda each: each.path)

    def open(self, run_id: str, parts: tuple[str, ...]) -> int:
        """Return a descriptor of the file at *parts* of the run's directory; whoever gets it closes it.

        Raises:
            NotFound: there is no such file.
            Refused: this console sees no run directories, or may not read the file.
        """
        with self._directory(run_id) as directory:
            *folders, name = parts
            with _told(run_id, "/".join(parts)), _inside(directory, folders) as folder:
                file = os.open(name, _FILE, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise NotFound(f"run {run_id} has no file {'/'.join(parts)!r}")
        return file

    @contextmanager
    def _directory(self, run_id: str) -> Iterator[int]:
        if not self._root:
            raise Refused("this console sees no run directories: MOSAIC_CONSOLE_RUNS_ROOT names none")
        try:
            root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise Refused(f"this console cannot read {self._root}, where runs should be: {error.strerror}") from error
        try:
            with _inside(root, [run_id]) as directory:
                yield directory
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(f"the directory of run {run_id} is not where this console looks for it") from None
        except PermissionError:
            raise Refused(f"this console may not read the directory of run {run_id}") from None
        finally:
            os.close(root)


@contextmanager
def _inside(folder: int, names: list[str]) -> Iterator[int]:
    """Yield the directory that *names* lead to, one after the other."""
    current = os.dup(folder)
    try:
        for name in names:
            inner = os.open(name, _FOLDER, dir_fd=current)
            os.close(current)
            current = inner
        yield current
    finally:
        os.close(current)


@contextmanager
def _told(run_id: str, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.EACCES:
            raise Refused(f"this console may not read {path!r} of run {run_id}") from error
        raise NotFound(f"run {run_id} has no file {path!r}") from error


def _artifact(place: str, name: str, folder: int) -> Artifact | None:
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None  # gone since it was listed
    if not stat.S_ISREG(facts.st_mode):
        return None
    path = os.path.normpath(os.path.join(place, name))
    return Artifact(path, facts.st_size, datetime.fromtimestamp(facts.st_mtime, timezone.utc))
