"""Whether a server answers its own protocol: a published port accepts connections long before that."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from collections.abc import Callable

#: Tells whether the server at a host and port can be used.
Answers = Callable[[str, int], bool]

_TIMEOUT_S = 5.0
#: A proxy of the machine is for the world outside, not for what was published on it.
_HTTP = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_AMQP_HEADER = b"AMQP\x00\x00\x09\x01"
_REDIS_PING = b"*1\r\n$4\r\nPING\r\n"
_POSTGRES_SSL_REQUEST = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"


def rabbitmq_answers(host: str, port: int) -> bool:
    """Tell whether the broker opens a conversation: its listeners open last."""
    return _reply(host, port, _AMQP_HEADER) == b"\x01"


def redis_answers(host: str, port: int) -> bool:
    """Tell whether Redis says anything to PING; asking for a password is an answer."""
    return _reply(host, port, _REDIS_PING) in (b"+", b"-")


def postgres_answers(host: str, port: int) -> bool:
    """Tell whether PostgreSQL greets; while it sets itself up it listens on no port."""
    return _reply(host, port, _POSTGRES_SSL_REQUEST) in (b"S", b"N")


def service_is_ready(host: str, port: int) -> bool:
    """Tell whether a service or an agent has reached everything it needs."""
    try:
        with _HTTP.open(f"http://{host}:{port}/readyz", timeout=_TIMEOUT_S) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _reply(host: str, port: int, greeting: bytes) -> bytes:
    try:
        with socket.create_connection((host, port), timeout=_TIMEOUT_S) as connection:
            connection.sendall(greeting)
            return connection.recv(1)
    except OSError:
        return b""
