"""Registry, telemetry, scheduler and agents in one process, with all state in one directory.

The same code as on a cluster: services speak gRPC on loopback, Celery rings over kombu's in-memory
transport, SQLite keeps the state, and telemetry takes frames straight from the agents' spools.
"""

from __future__ import annotations

import fcntl
import sys
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import structlog
from prometheus_client import CollectorRegistry

from mosaic.agent.agent import Agent, AgentOptions
from mosaic.agent.celery_app import IN_PROCESS_URL, CeleryDoorbell, build_app
from mosaic.agent.control import GrpcRegistry, GrpcScheduler
from mosaic.agent.environments import installed_environments, probe_environment
from mosaic.agent.inventory import Machine, look_around
from mosaic.agent.ports import WorkerProfile
from mosaic.agent.profile import profile_of
from mosaic.client import Endpoints
from mosaic.errors import MosaicError, Refused
from mosaic.hosting.grpc_server import GrpcServer
from mosaic.hosting.health import HealthServer, Probe
from mosaic.hosting.process import Service, process_metrics
from mosaic.worker.probe import ProbeReport, probe
from mosaic_registry.entrypoints.service import RegistryService
from mosaic_registry.settings import Settings as RegistrySettings
from mosaic_scheduler.entrypoints.service import SchedulerService
from mosaic_scheduler.settings import Settings as SchedulerSettings
from mosaic_telemetry.entrypoints.service import TelemetryService
from mosaic_telemetry.entrypoints.service import build as build_telemetry
from mosaic_telemetry.settings import Settings as TelemetrySettings

log = structlog.get_logger(__name__)

_LOOPBACK = "127.0.0.1:0"
_PROBE_TIMEOUT_S = 60.0
_JOIN_TIMEOUT_S = 10.0
#: How often newly installed workers are looked for.
_LOOK_FOR_WORKERS_S = 2.0


class AlreadyRunning(Refused):
    """Another platform uses the same state directory."""

    code = "already_running"

    def __init__(self, home: Path) -> None:
        super().__init__(f"a platform already runs in {home}; stop it, or choose another MOSAIC_HOME")


@dataclass
class Platform:
    """Everything, on this machine. `start`, then `stop`, once each; a start that fails leaves nothing running."""

    home: Path
    env: Mapping[str, str]
    #: Attempts at once for each worker; 0 = one per CPU.
    slots: int = 0
    health_address: str = _LOOPBACK
    endpoints: Endpoints | None = None
    agents: dict[str, Agent] = field(default_factory=dict)
    #: Workers that could not be used, and why.
    broken: dict[str, str] = field(default_factory=dict)
    _stopping: threading.Event = field(default_factory=threading.Event)
    #: Ends what was started, the last one first.
    _started: ExitStack = field(default_factory=ExitStack)

    def start(self) -> Endpoints:
        """Start everything and say in the state directory where it is.

        Raises:
            AlreadyRunning: the state directory is in use.
            BadInput: the health address is none.
            Refused: the port of the health address is taken.
        """
        try:
            return self._start(self._started)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End what runs so that the next start continues it, then end the services; stopping again is harmless."""
        self._started.close()

    def _start(self, started: ExitStack) -> Endpoints:
        """Start part after part, and put into *started* how each is ended."""
        started.callback(_lock(self.home).close)
        self._is_up = False
        self._metrics: CollectorRegistry = process_metrics()
        self._machine = look_around(self.env)
        self._probes: dict[str, Probe] = {"agents": self._agents_fault}
        registry = self._host("registry", self._registry(), started)
        self._telemetry = self._build_telemetry()
        telemetry = self._host("telemetry", self._telemetry, started)
        scheduler = self._host("scheduler", self._scheduler(registry, self._telemetry), started)
        self.endpoints = Endpoints(registry=registry, scheduler=scheduler, telemetry=telemetry)
        self.health = HealthServer(self.health_address, self._probes, self._metrics)
        self.health.start()
        started.callback(self.health.stop)
        started.callback(self._stop_agents)
        self.add_new_agents()
        started.callback((self.home / "endpoints.json").unlink, missing_ok=True)
        self.endpoints.write(self.home)
        self._is_up = True
        self._watcher = threading.Thread(target=self._watch_for_workers, name="workers", daemon=True)
        self._watcher.start()
        started.callback(self._watcher.join)
        started.callback(self._stopping.set)
        return self.endpoints

    def add_new_agents(self) -> None:
        """Start an agent for every usable worker that has none yet."""
        for worker in self._workers():
            if worker.name not in self.agents:
                self.agents[worker.name] = self._start_agent(worker)

    def _stop_agents(self) -> None:
        for agent in self.agents.values():
            agent.stop()

    def _agents_fault(self) -> str | None:
        if not self._is_up:
            return "they are being started"
        faults = [f"{name}: {why}" for name, agent in self.agents.items() for why in agent.faults().values()]
        return "; ".join(faults) or None

    def _host(self, name: str, service: Service, started: ExitStack) -> str:
        self._probes |= {f"{name} {part}": probe for part, probe in service.probes().items()}
        server = GrpcServer([service.registration()], _LOOPBACK)
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
            database_url=self._database("telemetry"), manifest_root=str(self.home / "manifests")
        )
        return build_telemetry(settings, metrics=self._metrics)

    def _scheduler(self, registry: str, telemetry: TelemetryService) -> SchedulerService:
        settings = SchedulerSettings(
            database_url=self._database("scheduler"),
            broker_url=IN_PROCESS_URL,
            registry_address=registry,
            secrets_dir=str(self.home / "secrets"),
        )
        return SchedulerService(
            settings,
            metrics=self._metrics,
            celery=build_app(IN_PROCESS_URL),
            on_sealed=telemetry.seal,
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
        )
        agent = Agent(
            options,
            registry=GrpcRegistry(self.endpoints.registry),
            scheduler=GrpcScheduler(self.endpoints.scheduler),
            sink=self._telemetry.ingest,
            doorbell=CeleryDoorbell(IN_PROCESS_URL),
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
        while not self._stopping.wait(_LOOK_FOR_WORKERS_S):
            try:
                installed = _installed(self.home)
                if installed != seen:
                    seen = installed
                    self.add_new_agents()
            except MosaicError as error:
                log.warning("a newly installed worker cannot be used yet", reason=str(error))
            except Exception:
                log.exception("a newly installed worker cannot be used yet")

    @property
    def machine(self) -> Machine:
        """What this machine offers."""
        return self._machine


def _end(service: Service, server: GrpcServer) -> None:
    calls_ended = server.refuse_calls(grace_s=1.0)
    service.stop()
    calls_ended.wait()


def _installed(home: Path) -> list[tuple[str, str]]:
    return [(environment.name, environment.installed_at) for environment in installed_environments(home)]


def _lock(home: Path) -> IO[str]:
    home.mkdir(parents=True, exist_ok=True)
    file = (home / "platform.lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise AlreadyRunning(home) from None
    return file
