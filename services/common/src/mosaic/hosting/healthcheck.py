"""``python -m mosaic.hosting.healthcheck PORT``: ask the process in this container whether it is ready.

For the health check of an image that has no shell and no curl. It starts every few seconds, so it imports
little and speaks HTTP itself.
"""

from __future__ import annotations

import socket
import sys

_TIMEOUT_S = 4.0
_ENOUGH_BYTES = 65536


def readiness(port: int, *, host: str = "127.0.0.1") -> tuple[bool, str]:
    """Return whether ``/readyz`` on *port* says yes, and what it said or why it did not answer."""
    try:
        answer = _get(host, port, "/readyz")
    except OSError as error:
        return False, f"nothing answers on port {port}: {error}"
    head, _, body = answer.partition("\r\n\r\n")
    return head.split()[1:2] == ["200"], body.strip()


def _get(host: str, port: int, path: str) -> str:
    with socket.create_connection((host, port), timeout=_TIMEOUT_S) as connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        parts = []
        while part := connection.recv(_ENOUGH_BYTES):
            parts.append(part)
    return b"".join(parts).decode("utf-8", "replace")


if __name__ == "__main__":
    is_ready, said = readiness(int(sys.argv[1]))
    sys.stdout.write(f"{said}\n")
    sys.exit(0 if is_ready else 1)
