"""Whether a server answers its own protocol: a listening port alone proves nothing."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

import psycopg
import redis

from tests.servers.handle import Kind


def rabbitmq_answers(url: str) -> bool:
    """Tell whether the broker greets a client: its listeners open last, when a login already works."""
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname, parts.port or 5672), timeout=5) as connection:
            connection.sendall(b"AMQP\x00\x00\x09\x01")
            return connection.recv(1) == b"\x01"
    except OSError:
        return False


def postgres_answers(url: str) -> bool:
    """Tell whether a statement can be executed."""
    try:
        with psycopg.connect(plain_postgres_url(url), connect_timeout=5) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def redis_answers(url: str) -> bool:
    """Tell whether PING is answered."""
    try:
        with redis.Redis.from_url(url) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


ANSWERS: Mapping[Kind, Callable[[str], bool]] = {
    "rabbitmq": rabbitmq_answers,
    "postgres": postgres_answers,
    "redis": redis_answers,
}


def plain_postgres_url(url: str) -> str:
    """Return *url* without SQLAlchemy's driver name, as libpq reads it."""
    return url.replace("postgresql+psycopg://", "postgresql://", 1)


def listens(url: str) -> bool:
    """Tell whether anybody accepts connections at the port of *url*."""
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname, parts.port or 5672), timeout=1).close()
    except OSError:
        return False
    return True
