"""What this agent asks of the Linux kernel that Python has no name for: prctl and Landlock."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from enum import IntFlag
from functools import cache
from pathlib import Path

_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_SCOPE_SIGNAL = 1 << 1
#: Before this version no file could be moved to another directory, which is how libraries write files whole.
_OLDEST = 2
_WITH_TRUNCATE, _WITH_SCOPES = 3, 6

_libc = ctypes.CDLL(None, use_errno=True)


class Access(IntFlag):
    """What can be done with files, as Landlock counts it."""

    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14


#: All that is asked for at a place that an attempt may use, and what of it makes sense for a file.
ALL = Access(sum(Access))
_OF_FILES = Access.READ_FILE | Access.WRITE_FILE | Access.TRUNCATE


def hide_memory() -> None:
    """Let nobody of this user trace this process, read its memory or its environment, or dump it."""
    _prctl(_PR_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent died."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def give_up_privileges() -> None:
    """Make this thread, and all that it starts, unable to gain rights from setuid programs."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


@cache
def landlock_version() -> int:
    """Return the version of Landlock in this kernel; 0 when it has none that can be used."""
    version = int(_libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION))
    return version if version >= _OLDEST else 0


def enter_domain(rules: Iterable[tuple[Path, Access]] | None = None) -> None:
    """Put this thread, and all that it starts, into a Landlock domain of its own.

    Whatever is in another domain, or in none, can neither be traced nor (where the kernel is new enough) signalled
    from it. With *rules*, files can be used only below those paths, each in its own way; without, all can.

    Raises:
        OSError: the kernel refused.
    """
    version = landlock_version()
    known = ALL if version >= _WITH_TRUNCATE else ALL & ~Access.TRUNCATE
    handled = Access.REFER if rules is None else known
    scopes = _SCOPE_SIGNAL if version >= _WITH_SCOPES else 0
    attributes = struct.pack("QQQ", handled, 0, scopes)[: 24 if scopes else 8]
    ruleset = _checked(_libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0))
    try:
        for path, access in [(Path("/"), Access.REFER)] if rules is None else rules:
            _allow(ruleset, path, access & handled)
        _checked(_libc.syscall(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, access: Access) -> None:
    try:
        # A link is not followed: what counts is where a path leads, and that has a rule of its own or none.
        place = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # it is gone, or nobody may look at it
    try:
        if not path.is_symlink():
            access = access if path.is_dir() else access & _OF_FILES
            _checked(_libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", access, place), 0))
    finally:
        os.close(place)


def _prctl(option: int, value: int) -> None:
    _libc.prctl(option, value, 0, 0, 0)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(result)
