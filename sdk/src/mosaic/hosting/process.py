"""The main function that every service has: settings, logs, servers, signals, a clean end."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Protocol, TypeVar

import structlog
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

from mosaic.errors import MosaicError
from mosaic.hosting.grpc_server import GrpcServer, Registration
from mosaic.hosting.health import HealthServer, Probe
from mosaic.hosting.logs import configure_logs

log = structlog.get_logger(__name__)


class Service(Protocol):
    """What a service offers to the process that hosts it."""

    def registration(self) -> Registration:
        """Return its gRPC service."""

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
    def log_level(self) -> str:
        """How much it says."""


SettingsT = TypeVar("SettingsT", bound=ServiceSettings)


def run_service(
    name: str,
    read: Callable[[Mapping[str, str]], SettingsT],
    build: Callable[[SettingsT, CollectorRegistry], Service],
    env: Mapping[str, str],
) -> None:
    """Host one service until SIGTERM or SIGINT; exit with the error's own code if it cannot start."""
    stopping = threading.Event()
    _stop_on_signals(stopping)
    try:
        settings = read(env)
        configure_logs(name, level=settings.log_level)
        metrics = process_metrics()
        service = build(settings, metrics)
        server = GrpcServer([service.registration()], settings.grpc_address)
        health = HealthServer(settings.health_address, service.probes(), metrics)
    except MosaicError as error:
        sys.stderr.write(f"{name}: {error}\n")
        sys.exit(error.exit_code)
    except OSError as error:
        sys.stderr.write(f"{name}: cannot listen: {error}\n")
        sys.exit(1)
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


def process_metrics() -> CollectorRegistry:
    """Return a registry that already tells memory, CPU and garbage collection."""
    metrics = CollectorRegistry()
    ProcessCollector(registry=metrics)
    PlatformCollector(registry=metrics)
    GCCollector(registry=metrics)
    return metrics


def _stop_on_signals(stopping: threading.Event) -> None:
    def stop(_number: int, _frame: FrameType | None) -> None:
        stopping.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
