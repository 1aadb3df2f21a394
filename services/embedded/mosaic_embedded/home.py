"""Whose a state directory is: one platform at a time, which process that is, and what only it may read."""

from __future__ import annotations

import base64
import fcntl
import getpass
import os
import re
import secrets
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from mosaic.agent.execution.walls import Walls
from mosaic.errors import Refused
from mosaic.ids import UserName, is_id
from mosaic.processes import read_birth

#: Who looks whether a platform runs holds its lock for an instant; who wants to start one waits that long.
_INSTANT_S = 0.5
_LOOK_S = 0.02


class AlreadyRunning(Refused):
    """Another platform uses the same state directory."""

    code = "already_running"

    def __init__(self, home: Path, pid: int | None) -> None:
        self.pid = pid
        who = f" (process {pid})" if pid else ""
        super().__init__(
            f"a platform already runs in {home}{who}; `mosaic down` stops it, or choose another MOSAIC_HOME"
        )


def take(home: Path) -> IO[str]:
    """Make *home* ours until the returned file is closed or this process ends, however it ends.

    Raises:
        AlreadyRunning: it is another's.
    """
    home.mkdir(parents=True, exist_ok=True)
    file = (home / "platform.lock").open("a+")
    if not _locks(file, within_s=_INSTANT_S):
        file.close()
        raise AlreadyRunning(home, holder(home))
    file.truncate(0)
    file.write(_signature(os.getpid()))
    file.flush()
    return file


def walls_of(home: Path, env: Mapping[str, str]) -> Walls:
    """Return the walls around attempts: *home* is hidden from them where that takes nothing else away.

    Nothing new can be made in the folders above what is hidden: below the home directory of a person, or where
    temporary files are, it stays visible unless ``MOSAIC_AGENT_HIDE_FILES`` says otherwise.
    """
    wanted = env.get("MOSAIC_AGENT_HIDE_FILES", "").lower()
    busy = {Path(env.get("HOME") or "~").expanduser().resolve(), Path(tempfile.gettempdir()).resolve()}
    is_hidden = wanted in ("1", "true", "yes", "on") if wanted else not busy & set(home.resolve().parents)
    return Walls([home], shown=[home / "workers"]) if is_hidden else Walls()


def event_key(home: Path) -> str:
    """Return the key of `mosaic.events.proof`, made at the first start: attempts outlive the platform and sign on."""
    return _made_once(home / "event.key", lambda: secrets.token_hex(32))


def secrets_key(home: Path) -> str:
    """Return the keys that seal what `mosaic secrets set` is told, made at the first start."""
    return _made_once(home / "secrets.key", lambda: base64.b64encode(secrets.token_bytes(32)).decode())


def _made_once(path: Path, make: Callable[[], str]) -> str:
    """Return what *path* holds; it is made so that nobody else can read it, and is there whole or not at all."""
    if not path.exists():
        draft = path.with_suffix(".draft")
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(make())
        draft.replace(path)
    return path.read_text()


def holder(home: Path) -> int | None:
    """Return the process of the platform that runs in *home*, None when none does.

    The lock tells whether one does, so a file that a killed one left behind names nobody, whoever has its number now.
    """
    deadline = time.monotonic() + _INSTANT_S
    while True:
        try:
            with (home / "platform.lock").open("r+") as file:
                if _locks(file):
                    return None
                signature = file.read()
        except FileNotFoundError:
            return None
        pid = _signed_by(signature)
        # Who has just taken the lock writes its number next; what stands there until then is the number of before.
        if pid is not None or time.monotonic() > deadline:
            return pid
        time.sleep(_LOOK_S)


def owner_of(env: Mapping[str, str]) -> UserName:
    """Return whose platform it is: ``MOSAIC_USER``, or who is logged in to the machine, as a name can be written."""
    name = env.get("MOSAIC_USER") or getpass.getuser()
    return UserName(name if is_id(name) else re.sub(r"[^A-Za-z0-9._@-]", "", name).lstrip("._@-")[:128] or "owner")


def _locks(file: IO[str], *, within_s: float = 0.0) -> bool:
    deadline = time.monotonic() + within_s
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_S)
        else:
            return True


def _signature(pid: int) -> str:
    birth = read_birth(pid)
    return f"{pid} {birth.start_ticks} {birth.boot_id}\n"


def _signed_by(signature: str) -> int | None:
    pid = signature.partition(" ")[0]
    try:
        return int(pid) if pid.isdigit() and signature == _signature(int(pid)) else None
    except OSError:
        return None
