"""The walls around an attempt: what stands between its processes and everybody else's on the same machine.

Each is put up where it can be had, and `Walls.missing` says which could not:

* a Landlock domain per attempt: it can trace and signal nobody outside, read nobody's environment, and, where
  `hidden` names places, use nothing there but its own run directory;
* a user id per attempt (`uids`), for an agent that may change it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic.agent.execution import kernel
from mosaic.agent.execution.kernel import ALL, Access
from mosaic.errors import BadInput, Refused

#: Of capabilities(7), what an agent needs to give each attempt a user id of its own.
_NEEDED = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "KILL": 5, "SETGID": 6, "SETUID": 7}


@dataclass
class Walls:
    """What an agent puts around its attempts."""

    #: Places of which an attempt may use its own run directory and what its run names, no more.
    hidden: Collection[Path] = ()
    #: Of those, places that every attempt may read.
    shown: Collection[Path] = ()
    #: User ids that nobody else uses, one for each attempt at a time; empty = all share the agent's.
    uids: range = range(0)
    _taken: set[int] = field(default_factory=set)

    def enter(self, own: Path, readable: Collection[Path]) -> None:
        """Put this thread, and what it starts, behind the walls, *own* and *readable* on this side.

        Raises:
            OSError: the kernel refused.
        """
        kernel.give_up_privileges()
        if kernel.landlock_version():
            kernel.enter_domain(list(self._rules(own, readable)) if self.hidden else None)

    def take_uid(self) -> int | None:
        """Return a user id that no other attempt has, None where all share the agent's."""
        free = next((uid for uid in self.uids if uid not in self._taken), None)
        if free is not None:
            self._taken.add(free)
        return free

    def return_uid(self, uid: int | None) -> None:
        """Let another attempt have *uid*."""
        self._taken.discard(uid or 0)

    def missing(self) -> list[str]:
        """Return which walls there are not, each as a sentence."""
        told = []
        if not kernel.landlock_version():
            told.append("this kernel has no Landlock: attempts can read each other's environment and files")
        if not self.uids:
            told.append("attempts share the agent's user id; MOSAIC_AGENT_ATTEMPT_UIDS gives each its own")
        return told

    def _rules(self, own: Path, readable: Collection[Path]) -> Iterator[tuple[Path, Access]]:
        hidden = [place.resolve() for place in self.hidden]
        for path in _all_but(Path("/"), hidden):
            yield path, ALL
        yield own.resolve(), ALL
        for path in (*self.shown, *readable):
            yield path, Access.READ_FILE


def read_uids(text: str, slots: int) -> range:
    """Return the user ids ``FIRST-LAST`` that *text* names, one at least for each of *slots*; none for no text.

    Raises:
        BadInput: it cannot be read, or is too short.
        Refused: this process has no right to start others under them.
    """
    if not text:
        return range(0)
    first, _, last = text.partition("-")
    if not (first.isdigit() and last.isdigit() and 1000 <= int(first) <= int(last) < 2**31):
        raise BadInput("MOSAIC_AGENT_ATTEMPT_UIDS", [f"{text!r} is not FIRST-LAST, both from 1000 on"])
    uids = range(int(first), int(last) + 1)
    if len(uids) < slots:
        raise BadInput("MOSAIC_AGENT_ATTEMPT_UIDS", [f"{text} are {len(uids)} ids for {slots} attempts at once"])
    lacking = sorted(name for name, bit in _NEEDED.items() if not _capabilities() >> bit & 1)
    if lacking:
        raise Refused(
            f"attempts cannot get user ids of their own: this process lacks CAP_{', CAP_'.join(lacking)}. "
            "Start it as root with them, or leave MOSAIC_AGENT_ATTEMPT_UIDS out"
        )
    return uids


def secret_places(env: Mapping[str, str]) -> list[Path]:
    """Return the files and folders that variables of the platform name: no attempt has any business there."""
    named = (value for name, value in env.items() if name.startswith("MOSAIC_") and name.endswith(("_FILE", "_DIR")))
    return [Path(value) for value in named if value.startswith("/") and Path(value).exists()]


def named_paths(config: Mapping[str, Any], within: Path) -> list[Path]:
    """Return the places below *within* that *config* names: checkpoints of other runs that this one is to read."""
    texts = (text for text in _texts(config) if text.startswith(f"{within}/"))
    return [path for text in texts if is_checkpoint(path := Path(os.path.normpath(text)), within)]


def is_checkpoint(path: Path, runs_root: Path) -> bool:
    """Tell whether *path* is a checkpoint of a run, with no link on the way that could lead elsewhere."""
    if Path(os.path.realpath(path)) != Path(os.path.realpath(runs_root)) / os.path.relpath(path, runs_root):
        return False
    parts = Path(os.path.relpath(path, runs_root)).parts
    return len(parts) > 2 and parts[1] == "checkpoints"


def give(path: Path, uid: int, group: int) -> None:
    """Make *uid* the owner of *path* and all below it; links are not followed."""
    for folder, _, names, place in os.fwalk(path, follow_symlinks=False):
        del folder
        for name in (".", *names):
            found = os.stat(name, dir_fd=place, follow_symlinks=False)
            # A second name of a file may be the name of somebody else's.
            if name == "." or found.st_nlink == 1:
                os.chown(name, uid, group, dir_fd=place, follow_symlinks=False)
    path.chmod(0o750)


def _all_but(place: Path, hidden: Collection[Path]) -> Iterator[Path]:
    """Yield the least places that hold everything below *place* except what is *hidden*."""
    if place in hidden:
        return
    if not any(one.is_relative_to(place) for one in hidden):
        yield place
        return
    try:
        inside = sorted(place.iterdir())
    except OSError:
        return
    for path in inside:
        yield from _all_but(path, hidden)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


def _capabilities() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0
