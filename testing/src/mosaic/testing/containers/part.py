"""One container of a stack, which a test may stop, kill, pause, cut off, and bring back."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from mosaic.testing.containers.engine import is_local
from mosaic.testing.containers.faults import PartBroken
from mosaic.testing.containers.ownership import labels_of
from mosaic.testing.containers.recipe import Recipe
from mosaic.testing.ports import free_port

if TYPE_CHECKING:
    from docker.models.containers import Container
    from docker.models.networks import Network
    from testcontainers.core.container import DockerContainer

_PAUSE_S = 0.05
_LOG_LINES = 60
_STOP_S = 30
#: A port that was free may be taken before the container has it.
_PORT_TRIES = 5
_PORT_TAKEN = ("port is already allocated", "address already in use")


class Part:
    """A container that keeps its name, its addresses and its volumes however often it is started."""

    def __init__(self, recipe: Recipe, *, stack_id: str, network: Network, volumes: Mapping[str, str]) -> None:
        """Prepare to run *recipe* in *network*; *volumes* gives the real name of each volume it mentions."""
        self.recipe = recipe
        self._stack_id = stack_id
        self._network = network
        self._volumes = volumes
        self._ports: dict[int, int] = {}
        self._running: DockerContainer | None = None

    @property
    def name(self) -> str:
        """What it is called in its stack, which is also its address there."""
        return self.recipe.name

    @property
    def container(self) -> Container:
        """The container itself, for what a part does not offer."""
        assert self._running is not None, f"{self.name} was never started"
        return self._running.get_wrapped_container()

    @property
    def is_running(self) -> bool:
        """Tell whether its processes live; those of a paused one do."""
        return self._running is not None and bool(self.inspect()["State"]["Running"])

    @property
    def health(self) -> str:
        """What its health check says: ``starting``, ``healthy`` or ``unhealthy``; empty if it has none."""
        return str(self.inspect()["State"].get("Health", {}).get("Status", ""))

    def address(self, port: int) -> str:
        """Return ``host:port`` under which this machine reaches the *port* inside."""
        return f"{self._host()}:{self._ports[port]}"

    def inspect(self) -> dict[str, Any]:
        """Return what the engine knows about the container now."""
        self.container.reload()
        return dict(self.container.attrs)

    def logs(self, lines: int = _LOG_LINES) -> str:
        """Return the end of what it printed."""
        if self._running is None:
            return ""
        return str(self.container.logs(tail=lines).decode(errors="replace"))

    def start(self) -> None:
        """Start it, for the first time or again, and do not wait until it can be used.

        Raises:
            PartBroken: the engine refuses to.
        """
        from docker.errors import APIError

        try:
            if self._running is None:
                self._start_new()
            else:
                self.container.start()
        except APIError as error:
            raise PartBroken(self.name, f"cannot be started: {error.explanation}", "") from error

    def wait_until_ready(self, within_s: float | None = None) -> None:
        """Wait until it can be used.

        Raises:
            PartBroken: it ended by itself, or time is up.
        """
        patience_s = self.recipe.patience_s if within_s is None else within_s
        deadline = time.monotonic() + patience_s
        while not self.recipe.answers(self._host(), self._ports[self.recipe.answers_on]):
            if not self.is_running:
                code = self.container.attrs["State"]["ExitCode"]
                raise PartBroken(self.name, f"ended by itself with exit code {code}", self.logs())
            if time.monotonic() > deadline:
                raise PartBroken(self.name, f"was not ready within {patience_s:g} s", self.logs())
            time.sleep(_PAUSE_S)

    def stop(self, grace_s: int = _STOP_S) -> None:
        """End it as an operator does: SIGTERM, and SIGKILL after *grace_s*."""
        self.container.stop(timeout=grace_s)

    def kill(self) -> None:
        """End every process of it with SIGKILL: no goodbye, no flush."""
        self.container.kill()
        self.container.wait()

    def restart(self) -> None:
        """Stop it, start it, and wait until it can be used again."""
        self.stop()
        self.start()
        self.wait_until_ready()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Freeze its processes for a ``with`` block, as a machine that hangs does."""
        self.container.pause()
        try:
            yield
        finally:
            self.container.unpause()

    @contextmanager
    def cut_off(self) -> Iterator[None]:
        """Take it off the network for a ``with`` block; it lives, and nobody can reach it, not even by name."""
        self._network.disconnect(self.container)
        try:
            yield
        finally:
            self._network.connect(self.container, aliases=[self.name])

    def remove(self) -> None:
        """End it and delete it; its volumes belong to the stack and stay."""
        from docker.errors import NotFound

        if self._running is not None:
            with suppress(NotFound):
                self._running.stop()
            self._running = None

    def execute(self, *command: str) -> str:
        """Run a command inside and return what it printed.

        Raises:
            PartBroken: the command failed.
        """
        code, output = self.container.exec_run(list(command))
        text = str(output.decode(errors="replace"))
        if code != 0:
            raise PartBroken(self.name, f"cannot do `{' '.join(command)}` (exit code {code})", text)
        return text

    def _start_new(self) -> None:
        from docker.errors import APIError

        for tries_left in reversed(range(_PORT_TRIES)):
            self._ports = {inside: free_port() for inside in self.recipe.published}
            container = self._described()
            try:
                self._running = container.start()
                return
            except BaseException as error:
                container.stop()
                taken = isinstance(error, APIError) and any(words in str(error) for words in _PORT_TAKEN)
                if not taken or not tries_left:
                    raise

    def _described(self) -> DockerContainer:
        from testcontainers.core.container import DockerContainer

        recipe = self.recipe
        container = DockerContainer(recipe.image).with_envs(**recipe.environment)
        container.with_name(f"mosaic-{self._stack_id}-{self.name}")
        address = "127.0.0.1" if is_local(container.get_docker_client()) else "0.0.0.0"
        # testcontainers would publish on every interface; its own type has no word for one.
        ports: dict[str, Any] = {str(inside): (address, outside) for inside, outside in self._ports.items()}
        container.ports = ports
        container.tmpfs = dict(recipe.tmpfs)
        if recipe.command:
            container.with_command(list(recipe.command))
        for volume, path in recipe.volumes.items():
            container.with_volume_mapping(self._volumes[volume], path, "rw")
        return container.with_kwargs(**self._place(container), **self._limits())

    def _place(self, container: DockerContainer) -> dict[str, Any]:
        """Return where the others find it and whose it is."""
        from docker.types import EndpointConfig

        network = str(self._network.name)
        endpoint = EndpointConfig(container.get_docker_client().client.api.api_version, aliases=[self.name])
        return {
            "hostname": self.name,
            "labels": labels_of(self._stack_id, self.name),
            "network": network,
            "networking_config": {network: endpoint},
        }

    def _limits(self) -> dict[str, Any]:
        """Return what it may do, which is little."""
        options: dict[str, Any] = {
            "read_only": True,
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges:true"],
            "shm_size": f"{self.recipe.shared_memory_mb}m",
        }
        if self.recipe.user:
            options["user"] = self.recipe.user
        if self.recipe.entrypoint:
            options["entrypoint"] = list(self.recipe.entrypoint)
        return options

    def _host(self) -> str:
        assert self._running is not None, f"{self.name} was never started"
        client = self._running.get_docker_client()
        return "127.0.0.1" if is_local(client) else client.host()
