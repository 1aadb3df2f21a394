"""A clean place on a shared server, so that tests cannot see each other."""

from __future__ import annotations

import base64
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import redis

from tests.servers.answers import plain_postgres_url
from tests.servers.handle import Server, ServerMissing


@contextmanager
def fresh_vhost(server: Server) -> Iterator[str]:
    """Yield the address of a virtual host of its own; it is deleted afterwards."""
    name = f"t-{uuid4().hex[:12]}"
    user = urlsplit(server.url).username
    _manage(server, "PUT", f"vhosts/{name}")
    _manage(server, "PUT", f"permissions/{name}/{user}", b'{"configure": ".*", "write": ".*", "read": ".*"}')
    try:
        yield urlsplit(server.url)._replace(path=f"/{name}").geturl()
    finally:
        _manage(server, "DELETE", f"vhosts/{name}")


@contextmanager
def fresh_user(server: Server, url: str, rights: Mapping[str, str]) -> Iterator[str]:
    """Yield the address of the same virtual host for a user who has *rights* there and none elsewhere."""
    name, password = f"u-{uuid4().hex[:12]}", uuid4().hex
    parts = urlsplit(url)
    _manage(server, "PUT", f"users/{name}", json.dumps({"password": password, "tags": ""}).encode())
    _manage(server, "PUT", f"permissions{parts.path}/{name}", json.dumps(dict(rights)).encode())
    try:
        yield parts._replace(netloc=f"{name}:{password}@{parts.hostname}:{parts.port}").geturl()
    finally:
        _manage(server, "DELETE", f"users/{name}")


@contextmanager
def fresh_database(server: Server, template: str = "") -> Iterator[str]:
    """Yield the address of a copy of *template*, empty by default; it is dropped afterwards, whoever is connected."""
    name = f"t_{uuid4().hex[:12]}"
    _administer(server, f"CREATE DATABASE {name} TEMPLATE {template or f'template0 {_locale(server)}'}")
    try:
        yield urlsplit(server.url)._replace(path=f"/{name}").geturl()
    finally:
        _administer(server, f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def fresh_keyspace(server: Server) -> Iterator[str]:
    """Yield the address of an emptied Redis database."""
    with redis.Redis.from_url(server.url) as client:
        client.flushdb()
    yield server.url


def _locale(server: Server) -> str:
    """Return words for a database that sorts as people do, where the server can: what takes text for bytes fails."""
    with psycopg.connect(plain_postgres_url(server.url)) as connection:
        known = {name for (name,) in connection.execute("SELECT collname FROM pg_collation")}
        has_providers = connection.info.server_version >= 15_00_00
    if "en_US.utf8" in known:
        return "LOCALE 'en_US.utf8'"
    if "en-US-x-icu" in known and has_providers:
        return "LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
    return ""


def _administer(server: Server, statement: str) -> None:
    with psycopg.connect(plain_postgres_url(server.url), autocommit=True) as connection:
        connection.execute(statement.encode())


def _manage(server: Server, method: str, path: str, body: bytes = b"") -> None:
    parts = urlsplit(server.api_url)
    address = f"{parts.scheme}://{parts.hostname}:{parts.port}/api/{path}"
    login = base64.b64encode(f"{parts.username}:{parts.password}".encode()).decode()
    headers = {"Authorization": f"Basic {login}", "Content-Type": "application/json"}
    request = urllib.request.Request(address, data=body or None, method=method, headers=headers)
    try:
        urllib.request.urlopen(request, timeout=20).close()
    except urllib.error.URLError as error:
        raise ServerMissing(f"{method} {address} failed ({error}); is the management plugin enabled there?") from error


def management_url(amqp_url: str) -> str:
    """Return where the management API of a named broker is expected."""
    given = os.environ.get("MOSAIC_TEST_RABBITMQ_API_URL")
    parts = urlsplit(amqp_url)
    return given or f"http://{parts.username or 'guest'}:{parts.password or 'guest'}@{parts.hostname}:15672"
