"""Which server a test gets, and sets of them brought up together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import NoReturn

from tests.servers import containers
from tests.servers.answers import ANSWERS
from tests.servers.fresh import management_url
from tests.servers.handle import KINDS, Kind, Server, ServerMissing
from tests.servers.native import NativePostgres, NativeRabbitMQ, NativeRedis
from tests.servers.packages import VARIABLES


class NamedServer:
    """A server the environment names: used as it is, and not ours to start or end."""

    def __init__(self, kind: Kind, url: str) -> None:
        self.kind = kind
        self.url = url.replace("postgresql://", "postgresql+psycopg://", 1)
        self.api_url = management_url(url) if kind == "rabbitmq" else ""

    def start(self) -> None:
        """Make sure that it answers."""
        if not ANSWERS[self.kind](self.url):
            raise ServerMissing(
                f"the {self.kind} named by {VARIABLES[self.kind]} does not answer; start it or unset it"
            )

    def stop(self) -> NoReturn:
        """Refuse."""
        raise ServerMissing(f"the {self.kind} named by {VARIABLES[self.kind]} belongs to somebody else")

    def kill(self) -> NoReturn:
        """Refuse."""
        self.stop()

    def execute(self, tool: str, *arguments: str) -> NoReturn:
        """Refuse."""
        self.stop()

    def close(self) -> None:
        """Leave it running."""


def launch(kind: Kind, *, consumer_timeout_ms: int | None = None, durable: bool = False) -> Server:
    """Return a started server of our own, which a test may kill. Close it afterwards.

    Raises:
        ServerMissing: neither Docker nor the programs are to be had.
    """
    server = _make(kind, consumer_timeout_ms, durable)
    try:
        server.start()
    except BaseException:
        server.close()
        raise
    return server


def shared(kind: Kind, *, durable: bool = False) -> Server:
    """Return the server the environment names, or a started one of our own. Close it afterwards."""
    url = os.environ.get(VARIABLES[kind])
    if not url:
        return launch(kind, durable=durable)
    named = NamedServer(kind, url)
    named.start()
    return named


def _make(kind: Kind, consumer_timeout_ms: int | None, durable: bool) -> Server:
    if containers.docker_answers() and containers.has_image(kind):
        return containers.ContainerServer(kind, consumer_timeout_ms=consumer_timeout_ms, durable=durable)
    match kind:
        case "rabbitmq":
            return NativeRabbitMQ(consumer_timeout_ms=consumer_timeout_ms)
        case "postgres":
            return NativePostgres(durable=durable)
        case "redis":
            return NativeRedis()


class ServerSet:
    """Several shared servers, booting side by side; asking for one waits for that one only."""

    def __init__(self, kinds: Iterable[Kind] = KINDS, *, durable: bool = False) -> None:
        self._durable = durable
        self._pool = ThreadPoolExecutor(max_workers=len(KINDS))
        self._booting: dict[Kind, Future[Server]] = {}
        for kind in kinds:
            self._boot(kind)

    @property
    def rabbitmq(self) -> Server:
        """The message broker."""
        return self.get("rabbitmq")

    @property
    def postgres(self) -> Server:
        """The database."""
        return self.get("postgres")

    @property
    def redis(self) -> Server:
        """The live values."""
        return self.get("redis")

    def get(self, kind: Kind) -> Server:
        """Return the server of *kind*, booting it when it was not asked for before."""
        return self._boot(kind).result()

    def close(self) -> None:
        """End those that are ours."""
        for booting in self._booting.values():
            if booting.exception() is None:
                booting.result().close()
        self._pool.shutdown()

    def _boot(self, kind: Kind) -> Future[Server]:
        if kind not in self._booting:
            self._booting[kind] = self._pool.submit(shared, kind, durable=self._durable)
        return self._booting[kind]


@contextmanager
def servers(kinds: Iterable[Kind] = KINDS, *, durable: bool = False) -> Iterator[ServerSet]:
    """Bring up *kinds* for a ``with`` block; *durable* makes PostgreSQL wait for the disk."""
    chosen = ServerSet(kinds, durable=durable)
    try:
        yield chosen
    finally:
        chosen.close()
