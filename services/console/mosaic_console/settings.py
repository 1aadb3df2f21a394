"""All that can be set from outside."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from mosaic.errors import BadInput, Refused

DEFAULT_ADDRESS = "127.0.0.1:7420"
_LOOPBACK = "127.0.0.1"
_LAST_PORT = 65535


@dataclass(frozen=True)
class Settings:
    """The console of one machine."""

    #: State directory: the token file and the address are written there.
    home: Path
    #: Who owns the machine's platform, as histories name them.
    user: str
    address: str = DEFAULT_ADDRESS


def read_address(address: str) -> tuple[str, int]:
    """Return host and port of *address*.

    Raises:
        BadInput: it is not ``host:port``.
        Refused: the host is not loopback.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > _LAST_PORT:
        fault = f"{address!r} is not host:port, for example {DEFAULT_ADDRESS}; port 0 takes a free one"
        raise BadInput("console address", [fault])
    if host != "localhost" and not _is_loopback(host):
        raise Refused(
            f"the console listens on {_LOOPBACK} only, not on {host}: it has no users and no TLS yet, so whoever "
            f"reached it there could read what it sends; to look from elsewhere, use "
            f"`ssh -L {port}:{_LOOPBACK}:{port} THIS-MACHINE`"
        )
    return _LOOPBACK, int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host) == ipaddress.ip_address(_LOOPBACK)
    except ValueError:
        return False
