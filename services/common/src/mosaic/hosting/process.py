"""The main function that every service has: settings, logs, servers, signals, a clean end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Protocol, TypeVar

import structlog
from prometheus_client import CollectorRegistry

from mosaic.errors import MosaicError, Unavailable
from mosaic.hosting.grpc_server import GrpcServer, Registration
from mosaic.hosting.health import HealthServer, Probe, process_metrics
from mosaic.hosting.logs import configure_logs
from mosaic.hosting.signals import StopSignal
from mosaic.wire.tls import TlsFiles

log = structlog.get_logger(__name__)

#: So long between two tries to start while a part it needs is away.
_RETRY_S = 1.0


class Service(Protocol):
    """What a service offers to the process that hosts it."""

    def registrations(self) -> Sequence[Registration]:
        """Return its gRPC services."""

    def probes(self) -> Mapping[str, Probe]:
        """Return what its readiness depends on."""

    def start(self) -> None:
        """Begin its own work."""

    def stop(self) -> None:
        """End its own work in good order."""


class ServiceSettings(Protocol):
    """The settings that every service has."""

    @property
    def grpc_address(self) -> str:
        """Where it serves gRPC."""

    @property
    def health_address(self) -> str:
        """Where it answers probes."""

    @property
    def tls(self) -> TlsFiles:
        """How it shows who it is."""

    @property
    def log_level(self) -> str:
        """How much it says."""


SettingsT = TypeVar("SettingsT", bound=ServiceSettings)


def run_service(
    name: str,
    read: Callable[[Mapping[str, str]], SettingsT],
    build: Callable[[SettingsT, CollectorRegistry], Service],
    env: Mapping[str, str],
) -> None:
    """Host one service until SIGTERM or SIGINT; exit with the error's own code if it cannot start.

    A part that is away, such as its database, is waited for: the service lives meanwhile and is not ready.
    """
    stopping = StopSignal()
    try:
        settings = read(env)
        configure_logs(name, level=settings.log_level)
        settings.tls.read()
        built = _build_when_possible(build, settings, stopping)
        if built is None:
            return
        service, metrics = built
        server = GrpcServer(service.registrations(), settings.grpc_address, settings.tls)
        health = HealthServer(settings.health_address, service.probes(), metrics)
    except MosaicError as error:
        sys.stderr.write(f"{name}: {error}\n")
        sys.exit(error.exit_code)
    service.start()
    server.start()
    health.start()
    log.info("serving", grpc=server.address, health=health.address)
    stopping.wait()
    log.info("stopping; calls under way may end")
    # Streams end when the service does, so waiting for the server first would wait out its whole grace.
    calls_ended = server.refuse_calls()
    service.stop()
    calls_ended.wait()
    health.stop()


def _build_when_possible(
    build: Callable[[SettingsT, CollectorRegistry], Service], settings: SettingsT, stopping: StopSignal
) -> tuple[Service, CollectorRegistry] | None:
    """Return the service and its metrics once the parts it needs answer, None when it is stopped before."""
    faults: dict[str, str] = {}
    with ExitStack() as waiting:
        while not stopping.is_set():
            # What a try that failed has registered cannot be registered again.
            metrics = process_metrics()
            try:
                return build(settings, metrics), metrics
            except Unavailable as error:
                if not faults:
                    log.warning("waiting for a part that is away", reason=str(error))
                    health = HealthServer(settings.health_address, {"start": lambda: faults["start"]}, metrics)
                    health.start()
                    waiting.callback(health.stop)
                faults["start"] = str(error)
            stopping.wait(_RETRY_S)
    return None
