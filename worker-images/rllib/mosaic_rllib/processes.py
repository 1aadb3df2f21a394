"""The processes of a Ray instance: found while it runs, so that none of them outlives it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A process that cannot be taken for a later one with the same number."""

    pid: int
    #: Another one as soon as the parent has ended.
    parent: int = field(compare=False)
    started: int

    def kill(self) -> None:
        """End it at once, if it still is there."""
        if _read(self.pid) == self:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGKILL)


def processes_of(directory: Path) -> list[Process]:
    """Return the processes that work in *directory*, as their command lines say, and all below them.

    Whose children they are does not matter: those of a process that was just ended belong to nobody.
    """
    alive = [found for entry in _PROC.glob("[0-9]*") if (found := _read(int(entry.name))) is not None]
    named = [one for one in alive if one.pid != os.getpid() and _names(one.pid, str(directory))]
    return [*named, *_below({one.pid for one in named}, alive)]


def end_processes_of(directory: Path, *, within_s: float = 1.0) -> None:
    """End the processes that work in *directory*, also those that these were starting meanwhile."""
    give_up_at = time.monotonic() + within_s
    while (found := processes_of(directory)) and time.monotonic() < give_up_at:
        for process in found:
            process.kill()


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
