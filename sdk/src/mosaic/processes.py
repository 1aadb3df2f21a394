"""Which process a number meant, and who carries a mark in its environment: read from ``/proc``."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass

_PROC = "/proc"
#: Its place in the stat of a process, behind the name.
_START_TICKS = 19
_STAT_BYTES = 1024
_STATUS_BYTES = 16 * 1024
_ENVIRON_BYTES = 1024 * 1024


def new_mark() -> str:
    """Return a mark that nobody can guess and no other process has."""
    return secrets.token_hex(16)


@dataclass(frozen=True)
class Birth:
    """Which process a number meant, and when: numbers are given again, after a restart of the machine above all."""

    pid: int
    #: Of the machine, new with every start of it.
    boot_id: str
    #: Clock ticks since then.
    start_ticks: int

    @property
    def session(self) -> int | None:
        """The session this process led, None when that number may mean somebody else's by now."""
        try:
            present = read_birth(self.pid)
        except (FileNotFoundError, ProcessLookupError):
            # While anybody is left in its session, the number of a dead leader is not given again.
            return self.pid if self.boot_id == _boot_id() else None
        return self.pid if present == self else None


def read_birth(pid: int) -> Birth:
    """Return when the process *pid* was born.

    Raises:
        OSError: there is none.

    """
    # The name in brackets may hold anything, brackets too: fields count from the last one.
    fields = _read_proc(f"{_PROC}/{pid}/stat", _STAT_BYTES).rpartition(b")")[2].split()
    return Birth(pid, _boot_id(), int(fields[_START_TICKS]))


@dataclass(frozen=True)
class Seen:
    """A process as it stood when the table of processes was read."""

    pid: int
    parent: int
    session: int
    start_ticks: int
    #: Dead, and not yet buried by its parent.
    is_dead: bool


def living_processes(mark: str, *, session: int | None = None, newer_than: int = 0) -> list[int]:
    """Return the processes that carry *mark* or are in *session*; the dead and unburied do not count."""
    own = os.getpid()
    return [pid for pid in _pids() if pid >= newer_than and pid != own and _belongs(pid, mark.encode(), session)]


def look_around(newer_than: int = 0) -> dict[int, Seen]:
    """Return every process of this machine, or of this container, from the number *newer_than* on."""
    return {pid: seen for pid in _pids() if pid >= newer_than and (seen := _look_at(pid)) is not None}


def family(seen: Mapping[int, Seen], heads: Collection[int]) -> set[int]:
    """Return the *heads* that exist, and all of their descendants."""
    children: dict[int, list[int]] = {}
    for process in seen.values():
        children.setdefault(process.parent, []).append(process.pid)
    found: set[int] = set()
    left = [head for head in heads if head in seen]
    while left:
        pid = left.pop()
        if pid not in found:
            found.add(pid)
            left += children.get(pid, ())
    return found


def owned_by(uids: Collection[int]) -> list[int]:
    """Return the living processes that run under one of *uids*."""
    return [pid for pid in _pids() if _is_owned(pid, uids)]


def has_given_up_privileges(pid: int) -> bool:
    """Tell whether the process, or one that it descends from, has promised to gain no rights: there is no way back."""
    return _status(pid).get(b"NoNewPrivs") == b"1"


def carries(pid: int, mark: str) -> bool:
    """Tell whether the process carries *mark* in its environment, as far as that can be read."""
    try:
        return mark.encode() in _read_proc(f"{_PROC}/{pid}/environ", _ENVIRON_BYTES)
    except OSError:
        return False


def newest_pid() -> int:
    """Return the number that a process got last."""
    return int(_read_proc(f"{_PROC}/loadavg", _STAT_BYTES).split()[-1])


def _pids() -> list[int]:
    return [int(name) for name in os.listdir(_PROC) if name.isdigit()]


def _look_at(pid: int) -> Seen | None:
    try:
        fields = _read_proc(f"{_PROC}/{pid}/stat", _STAT_BYTES).rpartition(b")")[2].split()
        state, parent, _, session = fields[:4]
        return Seen(pid, int(parent), int(session), int(fields[_START_TICKS]), state in b"ZX")
    except (OSError, ValueError, IndexError):
        return None


def _is_owned(pid: int, uids: Collection[int]) -> bool:
    try:
        owner = os.stat(f"{_PROC}/{pid}").st_uid
    except OSError:
        return False
    # What cannot be dumped is shown as root's, whoever runs it.
    if owner not in uids and owner != 0:
        return False
    status = _status(pid)
    return int(status.get(b"Uid", b"-1").split()[0]) in uids and status.get(b"State", b"Z")[:1] not in b"ZX"


def _status(pid: int) -> dict[bytes, bytes]:
    try:
        lines = _read_proc(f"{_PROC}/{pid}/status", _STATUS_BYTES).splitlines()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(b":") for line in lines)}


def _belongs(pid: int, mark: bytes, session: int | None) -> bool:
    try:
        stat = _read_proc(f"{_PROC}/{pid}/stat", _STAT_BYTES)
        # The name in brackets may hold anything, brackets too: fields count from the last one.
        state, _, _, process_session, *_ = stat.rpartition(b")")[2].split()
        if state in b"ZX":
            return False
        if session is not None and int(process_session) == session:
            return True
        return mark in _read_proc(f"{_PROC}/{pid}/environ", _ENVIRON_BYTES)
    except (OSError, ValueError):
        return False


def _read_proc(path: str, most: int) -> bytes:
    # Two of these for every process of the machine: plain system calls are four times faster than a file.
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, most)
    finally:
        os.close(descriptor)


def _boot_id() -> str:
    return _read_proc(f"{_PROC}/sys/kernel/random/boot_id", _STAT_BYTES).decode().strip()
