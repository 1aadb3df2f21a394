"""Registry, telemetry, scheduler and agents in one process, with all state in one directory.

The same code as on a cluster: services speak gRPC on loopback, Celery dispatches over kombu's in-memory
transport, SQLite keeps the state, and telemetry takes frames straight from the agents' spools.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import structlog
from prometheus_client import CollectorRegistry

from mosaic.agent.agent import Agent, AgentOptions
from mosaic.agent.control.celery_listener import IN_PROCESS_URL, CeleryDispatchListener, build_app
from mosaic.agent.control.grpc_clients import GrpcRegistry, GrpcScheduler
from mosaic.agent.control.profile import profile_of
from mosaic.agent.inventory import look_around
from mosaic.agent.ports import WorkerProfile
from mosaic.client import Login
from mosaic.errors import MosaicError
from mosaic.hosting.grpc_server import GrpcServer
from mosaic.hosting.health import HealthServer, Probe, check, process_metrics
from mosaic.hosting.pki import CA_FILE, Authority, agent_files, service_files, utc_now
from mosaic.hosting.process import Service
from mosaic.installer.environments import installed_environments, probe_environment
from mosaic.model.fleet import Node
from mosaic.worker.probe import ProbeReport, probe
from mosaic_console.adapters.grpc_platform import Endpoints
from mosaic_console.entrypoints.server import ConsoleServer
from mosaic_console.settings import Settings as ConsoleSettings
from mosaic_console.settings import loopback_address
from mosaic_embedded.home import event_key, owner_of, secrets_key, take, walls_of
from mosaic_embedded.trouble import Trouble
from mosaic_registry.entrypoints.service import RegistryService
from mosaic_registry.settings import Settings as RegistrySettings
from mosaic_scheduler.entrypoints.service import SchedulerService
from mosaic_scheduler.settings import Settings as SchedulerSettings
from mosaic_telemetry.entrypoints.service import TelemetryService
from mosaic_telemetry.entrypoints.service import build as build_telemetry
from mosaic_telemetry.settings import Settings as TelemetrySettings

log = structlog.get_logger(__name__)

_LOOPBACK = "127.0.0.1:0"
_SERVICES = ("registry", "scheduler", "telemetry", "console")
_PROBE_TIMEOUT_S = 60.0
_JOIN_TIMEOUT_S = 10.0
#: At a stop nobody waits longer for what the next start delivers from this disk, or for a disk that is full.
_SETTLE_TIMEOUT_S = 5.0
#: How often newly installed workers are looked for.
_LOOK_FOR_WORKERS_S = 2.0


def _ignore(_news: str) -> None:
    """Tell nobody."""


@dataclass
class Platform:
    """Everything, on this machine. `start`, then `stop`, once each; a start that fails leaves nothing running."""

    home: Path
    env: Mapping[str, str]
    #: Attempts at once for each worker; 0 = one per CPU.
    slots: int = 0
    health_address: str = _LOOPBACK
    #: ``host:port`` of REST and pages, on loopback; the next free port if it is taken.
    console_address: str = _LOOPBACK
    #: Hears in a sentence what people who watch it should know.
    tell: Callable[[str], None] = _ignore
    endpoints: Endpoints | None = None
    console: ConsoleServer | None = None
    agents: dict[str, Agent] = field(default_factory=dict)
    #: Workers that could not be used, and why.
    broken: dict[str, str] = field(default_factory=dict)
    _probes: dict[str, Probe] = field(default_factory=dict)
    _stopping: threading.Event = field(default_factory=threading.Event)
    #: Ends what was started, the last one first.
    _started: ExitStack = field(default_factory=ExitStack)

    def start(self) -> Login:
        """Start everything and say in the state directory where it is.

        Raises:
            AlreadyRunning: the state directory is in use.
            BadInput: the address of health or console is none.
            Refused: the port of the health address is taken, or the console's address is not loopback.
        """
        try:
            return self._start(self._started)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End what runs so that the next start continues it, then end the services; stopping again is harmless."""
        self._started.close()

    def _start(self, started: ExitStack) -> Login:
        """Start part after part, and put into *started* how each is ended."""
        started.callback(take(self.home).close)
        # A platform that was killed left its address; until there is a new one nobody answers anywhere.
        Login.forget(self.home)
        self._is_up = False
        self._metrics: CollectorRegistry = process_metrics()
        self._machine = look_around(self.env)
        self._probes["agents"] = self._agents_fault
        self._authority = Authority.load_or_make(self._pki / CA_FILE, utc_now())
        self._tls = {name: service_files(self._pki, name, self._authority, utc_now()) for name in _SERVICES}
        people = self._registry()
        registry = self._host("registry", people, started)
        self._telemetry = self._build_telemetry()
        telemetry = self._host("telemetry", self._telemetry, started)
        scheduler = self._host("scheduler", self._scheduler(registry, self._telemetry), started)
        self.endpoints = Endpoints(registry, scheduler, telemetry, self._tls["console"])
        self.health = HealthServer(self.health_address, self._probes, self._metrics)
        self.health.start()
        started.callback(self.health.stop)
        started.callback(self._stop_agents)
        self.add_new_agents()
        # Last: its imports take half a second of the interpreter, which all before would wait for.
        self.console = self._start_console(self.endpoints, people.token_for_owner(owner_of(self.env)), started)
        self._is_up = True
        self._watcher = threading.Thread(target=self._watch_for_workers, name="workers", daemon=True)
        self._watcher.start()
        started.callback(self._watcher.join)
        started.callback(self._stopping.set)
        return self.console.login

    def add_new_agents(self) -> None:
        """Start an agent for every usable worker that has none yet."""
        for worker in self._workers():
            if worker.name not in self.agents:
                self.agents[worker.name] = self._start_agent(worker)

    def _welcome_workers(self) -> None:
        before, broken = set(self.agents), dict(self.broken)
        self.add_new_agents()
        for name in sorted(self.agents.keys() - before):
            self.tell(f"worker {name} is here: `mosaic submit {name} --follow`")
        for name, why in self.broken.items():
            if broken.get(name) != why:
                self.tell(f"{name} cannot be used: {why}")

    def _start_console(self, endpoints: Endpoints, token: str, started: ExitStack) -> ConsoleServer:
        settings = ConsoleSettings(
            registry_address=endpoints.registry,
            scheduler_address=endpoints.scheduler,
            telemetry_address=endpoints.telemetry,
            tls_ca_file=endpoints.tls.ca,
            tls_cert_file=endpoints.tls.certificate,
            tls_key_file=endpoints.tls.key,
            http_address=loopback_address(self.console_address),
            runs_root=str(self.home / "runs"),
        )
        console = ConsoleServer(settings, home=self.home, token=token)
        started.callback(console.stop)
        self._probes["console"] = console.fault
        console.start()
        return console

    def _stop_agents(self) -> None:
        for agent in self.agents.values():
            agent.stop()

    def _agents_fault(self) -> str | None:
        if not self._is_up:
            return "they are being started"
        faults = [f"{name}: {why}" for name, agent in list(self.agents.items()) for why in agent.faults().values()]
        return "; ".join(faults) or None

    def _host(self, name: str, service: Service, started: ExitStack) -> str:
        self._probes |= {f"{name} {part}": probe for part, probe in service.probes().items()}
        server = GrpcServer(service.registrations(), _LOOPBACK, self._tls[name])
        service.start()
        server.start()
        started.callback(_end, service, server)
        return server.address

    def _database(self, name: str) -> str:
        folder = self.home / "database"
        folder.mkdir(exist_ok=True)
        return f"sqlite:///{folder / name}.sqlite"

    def _registry(self) -> RegistryService:
        settings = RegistrySettings(database_url=self._database("registry"))
        return RegistryService(settings, metrics=self._metrics)

    def _build_telemetry(self) -> TelemetryService:
        settings = TelemetrySettings(
            database_url=self._database("telemetry"),
            manifest_root=str(self.home / "manifests"),
            event_key=event_key(self.home),
        )
        return build_telemetry(settings, metrics=self._metrics)

    def _scheduler(self, registry: str, telemetry: TelemetryService) -> SchedulerService:
        settings = SchedulerSettings(
            database_url=self._database("scheduler"),
            broker_url=IN_PROCESS_URL,
            registry_address=registry,
            tls_ca_file=self._tls["scheduler"].ca,
            tls_cert_file=self._tls["scheduler"].certificate,
            tls_key_file=self._tls["scheduler"].key,
            event_key=event_key(self.home),
            secrets_dir=str(self.home / "secrets"),
            secrets_key=secrets_key(self.home),
            environment_names=self.env.get("MOSAIC_SCHEDULER_ENVIRONMENT_NAMES", ""),
        )
        return SchedulerService(
            settings,
            metrics=self._metrics,
            celery=build_app(IN_PROCESS_URL),
            telemetry=telemetry,
        )

    def _start_agent(self, worker: WorkerProfile) -> Agent:
        assert self.endpoints is not None
        options = AgentOptions(
            agent_id=f"{self._machine.node_id}-{worker.name}"[:128],
            worker=worker,
            machine=self._machine,
            slots=self.slots or max(1, self._machine.cpus),
            home=self.home / "agents" / worker.name,
            runs_root=self.home / "runs",
            environment=self.env,
            walls=walls_of(self.home, self.env),
            settle_timeout_s=_SETTLE_TIMEOUT_S,
        )
        tls = agent_files(options.home, options.agent_id, self._authority, utc_now())
        agent = Agent(
            options,
            registry=GrpcRegistry(self.endpoints.registry, tls),
            scheduler=GrpcScheduler(self.endpoints.scheduler, tls),
            sink=self._telemetry.ingest,
            listener=CeleryDispatchListener(IN_PROCESS_URL),
        )
        agent.start()
        # Who starts the platform wants to submit next: the fleet should know the worker by then.
        agent.membership.wait_until_known(_JOIN_TIMEOUT_S)
        log.info("agent started", worker=worker.name, slots=options.slots)
        return agent

    def _workers(self) -> list[WorkerProfile]:
        reports = {"this environment": probe(sys.executable, timeout_s=_PROBE_TIMEOUT_S)}
        for environment in installed_environments(self.home):
            reports[environment.name] = probe_environment(environment, timeout_s=_PROBE_TIMEOUT_S)
        return [profile for source, report in reports.items() for profile in self._usable(source, report)]

    def _usable(self, source: str, report: ProbeReport) -> list[WorkerProfile]:
        if report.faults:
            self.broken[source] = "; ".join(report.faults)
        for worker in report.workers:
            if not worker.is_usable:
                self.broken[worker.worker_id] = "; ".join(worker.faults)
        return [profile_of(worker, report) for worker in report.workers if worker.is_usable]

    def _watch_for_workers(self) -> None:
        seen = _installed(self.home)
        trouble = Trouble(self.home, lambda: check(self._probes), lambda news: self.tell(news), now_s=time.monotonic())
        while not self._stopping.wait(_LOOK_FOR_WORKERS_S):
            try:
                trouble.look(time.monotonic())
                installed = _installed(self.home)
                if installed != seen:
                    seen = installed
                    self._welcome_workers()
            except MosaicError as error:
                log.warning("a newly installed worker cannot be used yet", reason=str(error))
            except Exception:
                log.exception("the look around failed; there will be another")

    @property
    def _pki(self) -> Path:
        """Where the CA and the services' certificates are; whoever reads it is the owner of the platform."""
        folder = self.home / "pki"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    @property
    def machine(self) -> Node:
        """What this machine offers."""
        return self._machine


def _end(service: Service, server: GrpcServer) -> None:
    calls_ended = server.refuse_calls(grace_s=1.0)
    service.stop()
    calls_ended.wait()


def _installed(home: Path) -> list[tuple[str, str]]:
    return [(environment.name, environment.installed_at) for environment in installed_environments(home)]
