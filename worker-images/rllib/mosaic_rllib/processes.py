"""The processes of a Ray instance: found while it runs, so that none of them outlives it."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A process that cannot be taken for a later one with the same number."""

    pid: int
    parent: int
    started: int

    def kill(self) -> None:
        """End it at once, if it still is there."""
        if _read(self.pid) == self:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def processes_of(directory: Path) -> list[Process]:
    """Return this process's children that work in *directory*, as their command lines say, and all below them."""
    alive = [found for entry in _PROC.glob("[0-9]*") if (found := _read(int(entry.name))) is not None]
    children = [one for one in alive if one.parent == os.getpid() and _names(one.pid, str(directory))]
    return [*children, *_below({one.pid for one in children}, alive)]


def _below(parents: set[int], alive: Sequence[Process]) -> list[Process]:
    found = [one for one in alive if one.parent in parents]
    return [*found, *_below({one.pid for one in found}, alive)] if found else []


def _read(pid: int) -> Process | None:
    try:
        # The name in parentheses may hold anything, the fields behind it do not.
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return Process(pid, int(fields[1]), int(fields[19]))


def _names(pid: int, text: str) -> bool:
    try:
        return text.encode() in (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False
