"""What a test may do with a server, however it was brought up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, Protocol

Kind = Literal["rabbitmq", "postgres", "redis"]

KINDS: tuple[Kind, ...] = ("rabbitmq", "postgres", "redis")


class ServerMissing(Exception):
    """A server a test needs cannot be had here; the text says what to install or to set."""


class Server(Protocol):
    """A running server. One that was named by the environment is not ours to end."""

    kind: Kind
    #: Where clients connect: ``amqp://``, ``postgresql+psycopg://`` or ``redis://``.
    url: str
    #: RabbitMQ's management API; empty for the others.
    api_url: str

    def start(self) -> None:
        """Bring it up, on the same port and with the data it had; return when it answers."""

    def stop(self) -> None:
        """End it as an operator would; data stays."""

    def kill(self) -> None:
        """End every process of it with SIGKILL; data stays as the crash left it."""

    def execute(self, tool: str, *arguments: str) -> str:
        """Run one of the server's own tools against it and return what it printed."""

    def close(self) -> None:
        """End it and delete its data."""


def wait_until(answers: Callable[[], bool], *, what: str, seconds: float, alive: Callable[[], str]) -> None:
    """Wait for *answers*; raise with the server's last words when it died or time is up.

    *alive* returns an empty string while the server runs, and what it printed once it does not.
    """
    deadline = time.monotonic() + seconds
    while not answers():
        last_words = alive()
        if last_words or time.monotonic() > deadline:
            raise ServerMissing(f"{what} did not come within {seconds:g} s: {last_words or 'no answer'}")
        time.sleep(0.05)
