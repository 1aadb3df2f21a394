"""A real console before services that a test has started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mosaic.client import Login, Mosaic
from mosaic.testing.certificates import certificates
from mosaic_console.adapters.grpc_platform import Endpoints, GrpcServices
from mosaic_console.bootstrap import Parts
from mosaic_console.entrypoints.server import ConsoleServer
from mosaic_console.settings import Settings
from tests.fakes.identity import InMemoryIdentity


@contextmanager
def front_door(
    registry: str, scheduler: str, telemetry: str, *, identity: InMemoryIdentity | None = None
) -> Iterator[Login]:
    """Serve a console before the services at these addresses; its people are in memory."""
    tls = certificates().service("console")
    settings = Settings(
        tls_ca_file=tls.ca,
        tls_cert_file=tls.certificate,
        tls_key_file=tls.key,
        registry_address=registry,
        scheduler_address=scheduler,
        telemetry_address=telemetry,
        http_address="127.0.0.1:0",
    )
    identity = identity or InMemoryIdentity()
    parts = Parts(GrpcServices(Endpoints(registry, scheduler, telemetry, tls)), identity)
    server = ConsoleServer(settings, token=identity.token, parts=parts)
    server.start()
    try:
        yield server.login
    finally:
        server.stop()


@contextmanager
def client_of(address: str) -> Iterator[Mosaic]:
    """Return a client of the services that all answer at *address*."""
    with front_door(address, address, address) as login, Mosaic(login) as client:
        yield client
