"""The platform as on a cluster: every service and every agent a process, on real servers."""

from __future__ import annotations

import secrets
import sys
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from compose.make_secrets import rights
from mosaic.client import Login, Mosaic
from mosaic.errors import MosaicError
from mosaic.hosting.pki import CA_FILE
from mosaic.hosting.settings import SHARED, variable_of
from mosaic.model.people import CredentialKind, new_text
from mosaic.testing.certificates import Certificates, environment
from mosaic.testing.ports import free_port
from tests.servers.choice import ServerSet
from tests.servers.fresh import fresh_database, fresh_user, fresh_vhost
from tests.servers.handle import KINDS, Server
from tests.stack.environment import WORKER, install_drill
from tests.stack.process import Part

SERVICES = ("registry", "scheduler", "telemetry")
_TOKEN = new_text(CredentialKind.TOKEN)


@dataclass(frozen=True)
class Servers:
    """What the platform stands on."""

    rabbitmq: Server
    postgres: Server
    redis: Server

    @classmethod
    def shared(cls, chosen: ServerSet) -> Servers:
        """Use those of the test session, booting side by side the ones that do not run yet."""
        with ThreadPoolExecutor(len(KINDS)) as pool:
            return cls(*pool.map(chosen.get, ("rabbitmq", "postgres", "redis")))


@dataclass
class Stack:
    """Three services, their console and some agents, in a ``with`` block; nothing of it outlives the block."""

    servers: Servers
    folder: Path
    agents: int = 1
    #: Attempts at once on each agent.
    slots: int = 4
    lease_s: float = 4.0
    grace_s: float = 3.0
    #: More settings, by variable.
    settings: Mapping[str, str] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)

    def __enter__(self) -> Stack:
        self._closing = ExitStack()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.python = install_drill(self.folder)
        self.certificates = Certificates(self.folder / "pki")
        self.broker_url = self._closing.enter_context(fresh_vhost(self.servers.rabbitmq))
        self._second_scheduler = free_port()
        self.join_address = f"127.0.0.1:{free_port()}"
        self._event_key = secrets.token_hex(32)
        self._chosen: dict[str, dict[str, str]] = {}
        self._ports = {name: (free_port(), free_port()) for name in (*SERVICES, "console")}
        self.parts |= {name: self._service(name) for name in SERVICES}
        self.parts["console"], self.login = self._console("console", self.addresses)
        self.parts |= {name: self._agent(name) for name in self.agent_names}
        try:
            for part in self.parts.values():
                part.start()
            for part in self.parts.values():
                part.wait_until_ready()
        except BaseException:
            self._end()
            raise
        self.mosaic = self._closing.enter_context(Mosaic(self.login))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    @property
    def agent_names(self) -> list[str]:
        """The agents, which are also the names of their nodes."""
        return [f"agent{index}" for index in range(1, self.agents + 1)]

    @property
    def runs_root(self) -> Path:
        """Where run directories are."""
        return self.folder / "runs"

    @property
    def addresses(self) -> dict[str, str]:
        """Where the services are."""
        return {name: f"127.0.0.1:{self._ports[name][0]}" for name in SERVICES}

    def database_url(self, service: str) -> str:
        """Return where *service* keeps what it knows."""
        return self._chosen[service]["database_url"]

    def last_words(self) -> str:
        """Return the end of what every part printed and where the runs are, for a report."""
        printed = "\n".join(f"----- {part.name}\n{part.last_words()}" for part in self.parts.values())
        return f"{printed}\n----- runs\n{self._census()}"

    def add_agent(self, name: str, **settings: str) -> Part:
        """Start one more agent and wait for it."""
        self.parts[name] = part = self._agent(name, **settings)
        part.start()
        part.wait_until_ready()
        return part

    def add_scheduler(self) -> tuple[Part, Login]:
        """Start a second scheduler on the same database and return it with the way to a console that uses it."""
        name, health = "scheduler2", free_port()
        address = f"127.0.0.1:{self._second_scheduler}"
        chosen = {**self._chosen["scheduler"], "grpc_address": address, "health_address": f"127.0.0.1:{health}"}
        self._chosen[name] = chosen
        self.parts[name] = part = self._part(name, "mosaic_scheduler", "MOSAIC_SCHEDULER", chosen, health)
        self._ports["console2"] = (free_port(), free_port())
        self.parts["console2"], login = self._console("console2", self.addresses | {"scheduler": address})
        for started in (part, self.parts["console2"]):
            started.start()
        for started in (part, self.parts["console2"]):
            started.wait_until_ready()
        return part, login

    def _census(self) -> str:
        try:
            states = Counter(run.state.value for run in self.mosaic.runs(limit=200))
        except MosaicError as error:
            return str(error)
        return ", ".join(f"{state} {count}" for state, count in states.items()) or "none"

    def _end(self) -> None:
        # Agents first: they have something to say to the services.
        agents = [part for part in self.parts.values() if part.name not in self._chosen]
        services = [part for part in self.parts.values() if part.name in self._chosen]
        try:
            for group in (agents, services):
                for part in group:
                    part.ask_to_stop()
                for part in group:
                    part.stop()
        finally:
            for part in self.parts.values():
                with suppress(AssertionError):
                    part.kill()
            self._closing.close()

    def _service(self, name: str) -> Part:
        database = self._closing.enter_context(fresh_database(self.servers.postgres))
        grpc, health = self._ports[name]
        chosen = {
            "database_url": database,
            "grpc_address": f"127.0.0.1:{grpc}",
            "health_address": f"127.0.0.1:{health}",
            **getattr(self, f"_{name}_settings")(),
        }
        self._chosen[name] = chosen
        return self._part(name, f"mosaic_{name}", f"MOSAIC_{name.upper()}", chosen, health)

    def _console(self, name: str, addresses: Mapping[str, str]) -> tuple[Part, Login]:
        port, health = self._ports[name]
        chosen = {
            **{f"{service}_address": address for service, address in addresses.items()},
            "http_address": f"127.0.0.1:{port}",
            "health_address": f"127.0.0.1:{health}",
            "runs_root": str(self.runs_root),
        }
        self._chosen[name] = chosen
        part = self._part(name, "mosaic_console", "MOSAIC_CONSOLE", chosen, health)
        return part, Login(f"http://127.0.0.1:{port}", _TOKEN)

    def _registry_settings(self) -> dict[str, str]:
        return {
            "heartbeat_interval_s": "0.5",
            "heartbeat_timeout_s": str(self.lease_s),
            "ca_key_file": str(self.folder / "pki" / CA_FILE),
            "join_address": self.join_address,
            "admin": "ada",
            "admin_token": _TOKEN,
        }

    def _scheduler_settings(self) -> dict[str, str]:
        return {
            "broker_url": self._broker_user("scheduler"),
            "event_key": self._event_key,
            "registry_address": f"127.0.0.1:{self._ports['registry'][0]}",
            "lease_s": str(self.lease_s),
            "grace_s": str(self.grace_s),
        }

    def _telemetry_settings(self) -> dict[str, str]:
        return {
            "broker_url": self._broker_user("telemetry"),
            "event_key": self._event_key,
            "redis_url": self.servers.redis.url,
            "manifest_root": str(self.folder / "manifests"),
        }

    def _agent(self, name: str, **more: str) -> Part:
        health = free_port()
        chosen = {
            "registry_address": self.addresses["registry"],
            # Agents find whichever scheduler answers, as behind a service address of a cluster.
            "scheduler_address": f"ipv4:{self.addresses['scheduler']},127.0.0.1:{self._second_scheduler}",
            "broker_url": self._broker_user("agent", rf"dispatch\.{WORKER}\.{more.get('agent_id', name)}"),
            "home": str(self.folder / "agents" / name),
            "runs_root": str(self.runs_root),
            "python": str(self.python),
            "worker": WORKER,
            "agent_id": name,
            "node_id": name,
            "slots": str(self.slots),
            "heartbeat_s": "1",
            "stop_timeout_s": "15",
            "health_address": f"127.0.0.1:{health}",
            **more,
        }
        return self._part(name, "mosaic.agent", "MOSAIC_AGENT", chosen, health)

    def _broker_user(self, role: str, queues: str = "") -> str:
        """Return the address of the broker for a user with the rights of *role* alone."""
        user = fresh_user(self.servers.rabbitmq, self.broker_url, rights(role, queues))
        return self._closing.enter_context(user)

    def _part(self, name: str, module: str, prefix: str, chosen: Mapping[str, str], health: int) -> Part:
        service = prefix.rpartition("_")[2].lower()
        settings = {variable_of(prefix, key): value for key, value in chosen.items()}
        own = (prefix + "_", *SHARED.values())
        settings |= {key: value for key, value in self.settings.items() if key.startswith(own)}
        if module != "mosaic.agent":
            settings |= environment(self.certificates.service(service))
        elif "join_url" not in chosen:
            settings |= environment(self.certificates.agent(chosen.get("agent_id", name)))
        settings["MOSAIC_GPUS"] = "sim:4"
        return Part(name, [sys.executable, "-m", module], settings, folder=self.folder, health=f"127.0.0.1:{health}")
