"""The whole platform in containers, for a ``with`` block."""

from __future__ import annotations

import io
import itertools
import secrets
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any

from mosaic.client import Login, Mosaic
from mosaic.client.spelling import spell
from mosaic.testing.certificates import Certificates
from mosaic.testing.containers import brokers, platform
from mosaic.testing.containers.engine import connect, require_images, without_reaper
from mosaic.testing.containers.faults import PlatformMissing
from mosaic.testing.containers.images import BROKERS, SERVICES, image_of
from mosaic.testing.containers.ownership import labels_of, remove_stack, remove_stale
from mosaic.testing.containers.part import Part
from mosaic.testing.containers.recipe import SECRETS, Recipe
from mosaic.testing.containers.runs import StackRun

if TYPE_CHECKING:
    from docker.models.networks import Network
    from testcontainers.core.docker_client import DockerClient

_BROKER_RECIPES = {"rabbitmq": brokers.rabbitmq, "redis": brokers.redis, "postgres": brokers.postgres}
_STARTING_AT_ONCE = 8
#: The user of our images.
_UID = 10001


class MosaicStack:
    """RabbitMQ, Redis, PostgreSQL, the services and agents, each in a container of its own.

    ::

        with MosaicStack(workers=["reference"]) as fleet:
            run = fleet.submit("reference", env="FrozenLake-v1", steps=2000, seed=1)
            assert run.wait().state is RunState.SUCCEEDED

    Stacks do not see each other: each has its own network, ports, volumes, passwords and CA. Leaving the block removes
    all of it; what a killed process left behind is removed when the next stack on the machine starts.
    """

    def __init__(
        self,
        workers: Sequence[str] = ("reference",),
        *,
        only_brokers: bool = False,
        gpus: int = 0,
        images: Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Describe a stack; nothing is started yet.

        Args:
            workers: One agent is started for each; the same name twice gives two agents of it.
            only_brokers: Start RabbitMQ, Redis and PostgreSQL and nothing else.
            gpus: How many simulated GPUs the machine of the agents has; they share it.
            images: Other images, by broker, service or worker: ``{"rabbitmq": "rabbitmq:3.10-management"}``.
            settings: Variables of services and agents: ``{"MOSAIC_SCHEDULER_LEASE_S": "5"}``.

        Raises:
            BadInput: a setting that no part would read.
        """
        self.stack_id = secrets.token_hex(4)
        self.parts: dict[str, Part] = {}
        self._workers = () if only_brokers else tuple(workers)
        self._services = () if only_brokers else SERVICES
        self._images = dict(images or {})
        self._settings = {"MOSAIC_AGENT_NODE_ID": f"stack-{self.stack_id}"} | dict(settings or {})
        self._settings.setdefault("MOSAIC_GPUS", f"sim:{gpus}" if gpus else "none")
        platform.check_settings(self._settings)
        self._passwords = brokers.Passwords()
        self._addresses = platform.Addresses(self._passwords)
        self._volumes: dict[str, str] = {}
        self._mosaic: Mosaic | None = None
        self._closing = ExitStack()

    def __enter__(self) -> MosaicStack:
        """Start everything and wait until it can be used.

        Raises:
            ExtraMissing: ``mosaic-testing[containers]`` is not installed.
            EngineMissing: no Docker engine answers.
            ImageMissing: names every image that is not here.
            PartBroken: a container did not come up; what it printed last is part of the message.
        """
        self._engine: DockerClient = connect()
        self._certificates = Certificates(Path(self._closing.enter_context(TemporaryDirectory())))
        self._closing.callback(self._engine.client.close)
        self._closing.callback(remove_stack, self._engine.client, self.stack_id)
        self._closing.callback(lambda: self._each(Part.remove, self.parts.values()))
        try:
            require_images(self._engine, self._all_images())
            remove_stale(self._engine.client)
            self._network: Network = self._engine.client.networks.create(
                f"mosaic-{self.stack_id}", labels=labels_of(self.stack_id)
            )
            self._start_brokers()
            if self._services:
                self._start_platform()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove every container, volume and network of the stack."""
        self._mosaic = None
        self._closing.close()

    @property
    def mosaic(self) -> Mosaic:
        """A client of the platform.

        Raises:
            PlatformMissing: the stack has only brokers, or does not run.
        """
        if self._mosaic is None:
            raise PlatformMissing
        return self._mosaic

    @property
    def login(self) -> Login:
        """Where this machine reaches the platform."""
        return Login(f"http://{self.parts['console'].address(platform.CONSOLE_PORT)}", self._passwords.admin_token)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make the ``mosaic`` command, or a program of yours, use this stack."""
        return {"MOSAIC_URL": self.login.url, "MOSAIC_TOKEN": self.login.token}

    @property
    def agents(self) -> list[Part]:
        """The containers of the agents."""
        return [part for name, part in self.parts.items() if name not in (*BROKERS, *SERVICES)]

    @property
    def amqp_url(self) -> str:
        """RabbitMQ, as this machine reaches it."""
        address = self.parts["rabbitmq"].address(brokers.AMQP_PORT)
        return f"amqp://{brokers.USER}:{self._passwords.rabbitmq}@{address}/%2F"

    @property
    def redis_url(self) -> str:
        """Redis, as this machine reaches it."""
        return f"redis://:{self._passwords.redis}@{self.parts['redis'].address(brokers.REDIS_PORT)}/0"

    def postgres_url(self, database: str = brokers.USER) -> str:
        """Return PostgreSQL as this machine reaches it; each service has a *database* of its own name."""
        address = self.parts["postgres"].address(brokers.POSTGRES_PORT)
        return f"postgresql://{brokers.USER}:{self._passwords.postgres}@{address}/{database}"

    def submit(
        self,
        worker: str,
        *,
        env: str = "",
        algo: str = "",
        steps: int = 0,
        config: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> StackRun:
        """Submit one run.

        *env*, *algo* and *steps* are spelt as the worker spells them; *config* holds the rest of its settings,
        *fields* are those of `mosaic.client.RunSpec` (``seed``, ``resources``, ``labels``, ...).

        Raises:
            BadInput: lists everything that is wrong with it.
            WorkerNotFound: no agent of that worker has announced itself.
        """
        common = spell(self.mosaic, worker, {"env": env, "algo": algo, "steps": steps})
        [run] = self.mosaic.submit(worker, {**common, **(config or {})}, **fields)
        return StackRun(self.mosaic, run.run_id)

    def add_agent(self, worker: str, *, name: str = "", settings: Mapping[str, str] | None = None) -> Part:
        """Start one more agent and wait for it.

        Raises:
            BadInput: a setting that no agent would read.
            PartBroken: it did not come up.
        """
        part = self.describe_agent(worker, name=name, settings=settings)
        self.start(part)
        part.wait_until_ready()
        return part

    def describe_agent(self, worker: str, *, name: str = "", settings: Mapping[str, str] | None = None) -> Part:
        """Return an agent of the stack that is not started yet; see `start`."""
        platform.check_settings(settings or {})
        name = name or self._agent_name(worker)
        chosen = self._settings | dict(settings or {})
        recipe = platform.agent(name, worker, self._image(worker), self._addresses, chosen)
        return self.part_of(platform.with_identity(recipe, self._certificates.agent(name)))

    def part_of(self, recipe: Recipe) -> Part:
        """Return a part of the stack that runs *recipe* and is not started yet."""
        for volume in recipe.volumes:
            if volume not in self._volumes:
                self._volumes[volume] = self._make_volume(volume)
        if recipe.secrets:
            recipe = self._hand_over(recipe)
        part = Part(recipe, stack_id=self.stack_id, network=self._network, volumes=self._volumes)
        self.parts[part.name] = part
        return part

    def start(self, *parts: Part) -> None:
        """Start containers side by side; do not wait until they can be used."""
        with without_reaper():
            self._each(Part.start, parts)

    def remove(self, part: Part) -> None:
        """End a part as an operator does and delete its container; what it kept in volumes stays."""
        part.stop()
        part.remove()
        del self.parts[part.name]

    def last_words(self) -> str:
        """Return the end of what every container printed, for a report."""
        return "\n".join(f"----- {part.name}\n{_words_of(part)}" for part in self.parts.values())

    def _start_brokers(self) -> None:
        made = [self.part_of(make(self._image(name), self._passwords)) for name, make in _BROKER_RECIPES.items()]
        self.start(*made)
        self._each(Part.wait_until_ready, made)

    def _start_platform(self) -> None:
        for name in platform.GRPC_PORTS:
            self._make_database(name)
        recipes = [
            platform.service(name, self._image(name), self._addresses, self._settings) for name in platform.GRPC_PORTS
        ]
        recipes.append(platform.console(self._image("console"), self._addresses, self._settings))
        made = [self.part_of(platform.with_identity(one, self._certificates.service(one.name))) for one in recipes]
        made += [self.describe_agent(worker) for worker in self._workers]
        self.start(*made)
        self._each(Part.wait_until_ready, made)
        self._mosaic = self._closing.enter_context(Mosaic(self.login))

    def _make_database(self, name: str) -> None:
        socket = "/var/run/postgresql"
        query = f"CREATE DATABASE {name}"
        self.parts["postgres"].execute("psql", "-h", socket, "-U", brokers.USER, "-d", brokers.USER, "-c", query)

    def _make_volume(self, purpose: str) -> str:
        name = f"mosaic-{self.stack_id}-{purpose}"
        self._engine.client.volumes.create(name, labels=labels_of(self.stack_id))
        return name

    def _hand_over(self, recipe: Recipe) -> Recipe:
        """Return *recipe* with its secrets in a volume: an engine elsewhere sees no file of this machine."""
        purpose = f"{recipe.name}-secrets"
        self._volumes[purpose] = self._make_volume(purpose)
        mount = {self._volumes[purpose]: {"bind": SECRETS, "mode": "rw"}}
        carrier = self._engine.client.containers.create(recipe.image, labels=labels_of(self.stack_id), volumes=mount)
        try:
            carrier.put_archive(SECRETS, _archive(recipe.secrets))
        finally:
            carrier.remove()
        others = {volume: path for volume, path in recipe.volumes.items() if path != SECRETS}
        return replace(recipe, volumes={**others, purpose: SECRETS})

    def _agent_name(self, worker: str) -> str:
        names = (f"{worker}-{number}" for number in itertools.count(1))
        return next(name for name in names if name not in self.parts)

    def _image(self, name: str) -> str:
        return self._images.get(name) or BROKERS.get(name) or image_of(name)

    def _all_images(self) -> list[str]:
        return [self._image(name) for name in (*BROKERS, *self._services, *self._workers)]

    @staticmethod
    def _each(act: Callable[[Part], None], parts: Iterable[Part]) -> None:
        """Do it to all of them side by side; the first that fails decides, when all have ended."""
        with ThreadPoolExecutor(_STARTING_AT_ONCE) as pool:
            for done in [pool.submit(act, part) for part in parts]:
                done.result()


def _archive(files: Mapping[str, bytes]) -> bytes:
    """Return a tar of *files*, each for the user of our images alone."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.uid, entry.gid = len(content), 0o400, _UID, _UID
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def _words_of(part: Part) -> str:
    """Return the end of what *part* printed; a report is written even when the engine is gone with it."""
    from docker.errors import DockerException

    try:
        return part.logs()
    except (DockerException, OSError) as error:
        return f"(cannot be asked: {error})"
