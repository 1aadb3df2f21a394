"""Servers in Docker containers, for machines where an engine answers."""

from __future__ import annotations

import functools
import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field

import docker
import docker.errors
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer

from mosaic.testing.ports import free_port
from tests.servers.answers import ANSWERS
from tests.servers.handle import Kind, wait_until

#: Removes the container when the test process is gone, however it went.
_LIFELINE = 'read -r _; docker rm --force --volumes "$1" >/dev/null 2>&1'


@dataclass(frozen=True)
class Recipe:
    """How a server's official image is run."""

    image: str
    ports: tuple[int, ...]
    #: Clients' address, with the host ports in the order of ``ports``.
    url: str
    api_url: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    command: str = ""


RECIPES: Mapping[Kind, Recipe] = {
    "rabbitmq": Recipe(
        image="rabbitmq:4-management",
        ports=(5672, 15672),
        url="amqp://mosaic:mosaic@127.0.0.1:{0}/%2F",
        api_url="http://mosaic:mosaic@127.0.0.1:{1}",
        environment={"RABBITMQ_DEFAULT_USER": "mosaic", "RABBITMQ_DEFAULT_PASS": "mosaic"},
    ),
    "postgres": Recipe(
        image="postgres:16",
        ports=(5432,),
        url="postgresql+psycopg://mosaic:mosaic@127.0.0.1:{0}/postgres",
        environment={"POSTGRES_USER": "mosaic", "POSTGRES_PASSWORD": "mosaic", "POSTGRES_DB": "postgres"},
        command="postgres -c max_connections=200",
    ),
    "redis": Recipe(
        image="redis:7",
        ports=(6379,),
        url="redis://127.0.0.1:{0}/0",
        command="redis-server --protected-mode no --save '' --appendonly no",
    ),
}


@functools.cache
def docker_answers() -> bool:
    """Tell whether an engine answers; asked once per process."""
    # The client library leaks its socket when nobody listens, so the usual case is looked at first.
    if "DOCKER_HOST" not in os.environ and not _socket_accepts("/var/run/docker.sock"):
        return False
    try:
        with closing(docker.from_env(timeout=5)) as client:
            return bool(client.ping())
    except docker.errors.DockerException:
        return False


def has_image(kind: Kind) -> bool:
    """Tell whether the image is here or can be pulled."""
    with closing(docker.from_env()) as client:
        try:
            client.images.get(RECIPES[kind].image)
        except docker.errors.ImageNotFound:
            return _pull(client, RECIPES[kind].image)
    return True


def _pull(client: docker.DockerClient, image: str) -> bool:
    try:
        client.images.pull(image)
    except docker.errors.APIError:
        return False
    return True


def _socket_accepts(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
        return True


class ContainerServer:
    """One server in a container whose host ports stay the same over restarts."""

    def __init__(self, kind: Kind, *, consumer_timeout_ms: int | None = None, durable: bool = False) -> None:
        recipe = RECIPES[kind]
        self.kind: Kind = kind
        self._ports = {inside: free_port() for inside in recipe.ports}
        self.url = recipe.url.format(*self._ports.values())
        self.api_url = recipe.api_url.format(*self._ports.values())
        self._command = recipe.command + ("" if durable or kind != "postgres" else " -c fsync=off")
        self._environment = dict(recipe.environment)
        if consumer_timeout_ms is not None:
            self._environment["RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS"] = f"-rabbit consumer_timeout {consumer_timeout_ms}"
        self._container: DockerContainer | None = None
        self._lifeline: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Bring it up with the data it had; return when it answers."""
        if self._container is None:
            self._container = self._create()
        else:
            self._container.get_wrapped_container().start()
        answers = ANSWERS[self.kind]
        wait_until(lambda: answers(self.url), what=self.kind, seconds=90, alive=self._last_words)

    def stop(self) -> None:
        """End it as an operator would; data stays."""
        if self._container is not None:
            self._container.get_wrapped_container().stop(timeout=20)

    def kill(self) -> None:
        """End every process of it with SIGKILL; data stays as the crash left it."""
        if self._container is not None and self._running():
            self._container.get_wrapped_container().kill()
            self._container.get_wrapped_container().wait()

    def execute(self, tool: str, *arguments: str) -> str:
        """Run one of the server's own tools against it and return what it printed."""
        assert self._container is not None
        code, output = self._container.get_wrapped_container().exec_run([tool, *arguments])
        assert code == 0, output.decode(errors="replace")
        return str(output.decode(errors="replace"))

    def close(self) -> None:
        """Remove the container and its data."""
        if self._container is not None:
            self._container.stop()
            self._container = None
        if self._lifeline is not None:
            self._lifeline.communicate(b"\n")
            self._lifeline = None

    def _create(self) -> DockerContainer:
        # Our own lifeline replaces the reaper container, whose image may not be available.
        testcontainers_config.ryuk_disabled = True
        container = DockerContainer(RECIPES[self.kind].image).with_envs(**self._environment)
        if self._command:
            container = container.with_command(self._command)
        for inside, outside in self._ports.items():
            container = container.with_bind_ports(inside, outside)
        container.start()
        if shutil.which("docker"):
            command = ["sh", "-c", _LIFELINE, "lifeline", container.get_wrapped_container().id]
            self._lifeline = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        return container

    def _running(self) -> bool:
        assert self._container is not None
        wrapped = self._container.get_wrapped_container()
        wrapped.reload()
        return bool(wrapped.status == "running")

    def _last_words(self) -> str:
        if self._container is None or self._running():
            return ""
        return self._container.get_wrapped_container().logs(tail=40).decode(errors="replace") or "it printed nothing"
