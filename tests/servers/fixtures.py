"""Fixtures over the servers; ``tests/conftest.py`` takes them all.

``rabbitmq_url``, ``postgres_url`` and ``redis_url`` are clean places on servers shared by the session
(by the xdist worker, when there are several). The ``*_server`` fixtures are servers of the module's own,
which its tests may stop and kill; each test finds them running.

Every test session loads this module, most sessions need no server: the clients of the servers (a second of
imports) are loaded by the fixtures that need them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.servers.handle import KINDS, Kind, Server

if TYPE_CHECKING:
    from tests.servers.choice import ServerSet


@pytest.fixture(scope="session")
def shared_servers(request: pytest.FixtureRequest) -> Iterator[ServerSet]:
    """The servers that the collected tests need, booting side by side."""
    from tests.servers.choice import ServerSet

    wanted = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    chosen = ServerSet(kind for kind in KINDS if f"{kind}_url" in wanted)
    yield chosen
    chosen.close()


@pytest.fixture
def rabbitmq_url(shared_servers: ServerSet) -> Iterator[str]:
    """A virtual host of the test's own."""
    from tests.servers.fresh import fresh_vhost

    with fresh_vhost(shared_servers.rabbitmq) as url:
        yield url


@pytest.fixture
def postgres_url(shared_servers: ServerSet) -> Iterator[str]:
    """An empty database of the test's own, as SQLAlchemy addresses it."""
    from tests.servers.fresh import fresh_database

    with fresh_database(shared_servers.postgres) as url:
        yield url


@pytest.fixture(scope="session")
def database_template(shared_servers: ServerSet) -> Iterator[Callable[[str], str]]:
    """How to get the name of the PostgreSQL database that has the tables of some migrations; each is made once."""
    from tests.fakes.databases import migrate_once
    from tests.servers.fresh import fresh_database

    @functools.cache
    def template(migrations: str) -> str:
        url = kept.enter_context(fresh_database(shared_servers.postgres))
        migrate_once(url, migrations)
        return urlsplit(url).path.removeprefix("/")

    with ExitStack() as kept:
        yield template


@pytest.fixture
def migrated_url(
    shared_servers: ServerSet, database_template: Callable[[str], str], tmp_path: Path
) -> Iterator[Callable[[str, str], str]]:
    """How to get an empty database of the test's own by its kind (``sqlite``, ``postgresql``) and its migrations."""
    from tests.fakes.databases import migrated_file
    from tests.servers.fresh import fresh_database

    def migrated(kind: str, migrations: str) -> str:
        if kind == "sqlite":
            return migrated_file(migrations, tmp_path / f"{migrations}.db")
        return own.enter_context(fresh_database(shared_servers.postgres, database_template(migrations)))

    with ExitStack() as own:
        yield migrated


@pytest.fixture
def redis_url(shared_servers: ServerSet) -> Iterator[str]:
    """An emptied Redis."""
    from tests.servers.fresh import fresh_keyspace

    with fresh_keyspace(shared_servers.redis) as url:
        yield url


def _launched(kind: Kind, *, consumer_timeout_ms: int | None = None) -> Iterator[Server]:
    from tests.servers.choice import launch

    server = launch(kind, consumer_timeout_ms=consumer_timeout_ms)
    yield server
    server.close()


@pytest.fixture(scope="module")
def _module_rabbitmq() -> Iterator[Server]:
    yield from _launched("rabbitmq")


@pytest.fixture(scope="module")
def _module_impatient_rabbitmq() -> Iterator[Server]:
    yield from _launched("rabbitmq", consumer_timeout_ms=60_000)


@pytest.fixture(scope="module")
def _module_postgres() -> Iterator[Server]:
    yield from _launched("postgres")


@pytest.fixture(scope="module")
def _module_redis() -> Iterator[Server]:
    yield from _launched("redis")


@pytest.fixture
def rabbitmq_server(_module_rabbitmq: Server) -> Server:
    """A broker to stop and kill."""
    _module_rabbitmq.start()
    return _module_rabbitmq


@pytest.fixture
def impatient_rabbitmq_server(_module_impatient_rabbitmq: Server) -> Server:
    """A broker that ends deliveries not acknowledged within a minute (checked once a minute)."""
    _module_impatient_rabbitmq.start()
    return _module_impatient_rabbitmq


@pytest.fixture
def postgres_server(_module_postgres: Server) -> Server:
    """A database server to stop and kill."""
    _module_postgres.start()
    return _module_postgres


@pytest.fixture
def redis_server(_module_redis: Server) -> Server:
    """A Redis to stop and kill."""
    _module_redis.start()
    return _module_redis
