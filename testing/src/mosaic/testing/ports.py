"""TCP ports for servers that are started a moment later, and may be started there again."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

#: Below what the system hands out by itself: between two starts of a server no connection may sit on its port.
_PORTS = range(20_000, 32_000)

#: Open as long as this process lives; the lock on each keeps other processes off its port.
_claims: list[int] = []


def free_port() -> int:
    """Return a TCP port of this machine that nobody listens on and that no other caller is given.

    Raises:
        OSError: none is left.
    """
    for port in random.sample(_PORTS, len(_PORTS)):
        if _claim(port) and _is_free(port):
            return port
    raise OSError(f"no TCP port from {_PORTS[0]} to {_PORTS[-1]} is free")


def _claim(port: int) -> bool:
    folder = Path(tempfile.gettempdir()) / f"mosaic-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    claim = os.open(folder / str(port), os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(claim)
        return False
    _claims.append(claim)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
