"""How we connect to RabbitMQ, and how a topology is declared."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pika
from pika.adapters.blocking_connection import BlockingChannel

from mosaic.errors import BadInput
from mosaic.messaging.topology import Topology

_HEARTBEAT_S = 30
#: How long a publisher may be blocked by a broker short of memory or disk before it reconnects.
_BLOCKED_TIMEOUT_S = 300
_CONNECT_TIMEOUT_S = 10


def connection_parameters(url: str, name: str) -> pika.URLParameters:
    """Return how to connect to *url*; *name* is what operators see in the broker's list.

    Raises:
        BadInput: *url* is not an AMQP address.

    """
    if not url.startswith(("amqp://", "amqps://")):
        raise BadInput("broker address", [f"{url!r} is none; write it as amqp://user:password@host:5672/"])
    parameters = pika.URLParameters(url)
    parameters.heartbeat = _HEARTBEAT_S
    parameters.blocked_connection_timeout = _BLOCKED_TIMEOUT_S
    parameters.socket_timeout = _CONNECT_TIMEOUT_S
    parameters.stack_timeout = _CONNECT_TIMEOUT_S
    parameters.client_properties = {"connection_name": name}
    return parameters


def tls_options(url: str) -> dict[str, Any] | None:
    """Return how Celery is to connect to *url*: with TLS, it would take any host that shows a good certificate."""
    if not url.startswith("amqps://"):
        return None
    return {"cert_reqs": ssl.CERT_REQUIRED, "server_hostname": urlsplit(url).hostname}


def described(error: BaseException) -> str:
    """Return in words why a connection broke; pika puts the reason into wrappers that print nothing of it."""
    while inner := getattr(error, "exceptions", None) or [getattr(error, "exception", None)]:
        if not isinstance(inner[-1], BaseException):
            break
        error = inner[-1]
    return f"{type(error).__name__}: {error}" if str(error) else repr(error)


def declare(channel: BlockingChannel, topology: Topology) -> None:
    """Make *topology* exist; what exists already must have the same arguments."""
    for exchange in topology.exchanges:
        channel.exchange_declare(exchange.name, exchange.kind, durable=True)
    for queue in topology.queues:
        channel.queue_declare(queue.name, durable=True, arguments=dict(queue.arguments))
        channel.queue_bind(queue.name, queue.exchange, queue.routing_key)


def declare_once(url: str, topology: Topology) -> None:
    """Open a connection to *url* only to `declare`."""
    connection = pika.BlockingConnection(connection_parameters(url, "mosaic-declare"))
    try:
        declare(connection.channel(), topology)
    finally:
        connection.close()


def pauses(longest_s: float = 10.0) -> Iterator[float]:
    """Yield ever longer pauses between tries, for ever."""
    pause = 0.1
    while True:
        yield pause
        pause = min(pause * 2, longest_s)
