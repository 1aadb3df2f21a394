"""The whole registry as one part of a process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import sqlalchemy as sa
from prometheus_client import CollectorRegistry

from mosaic.errors import DatabaseUnavailable
from mosaic.hosting.grpc_server import Registration
from mosaic.hosting.health import Probe
from mosaic.ids import UserName
from mosaic.wire.v1.audit_pb2_grpc import add_AuditServicer_to_server
from mosaic.wire.v1.identity_pb2_grpc import add_IdentityServicer_to_server
from mosaic.wire.v1.registry_pb2_grpc import add_RegistryServicer_to_server
from mosaic_registry.bootstrap import build, utc_now
from mosaic_registry.entrypoints.audit_api import AUDIT, AuditApi
from mosaic_registry.entrypoints.grpc_api import RegistryApi
from mosaic_registry.entrypoints.identity_api import IdentityApi
from mosaic_registry.entrypoints.join_server import JoinServer
from mosaic_registry.entrypoints.sweeper import Sweeper
from mosaic_registry.handlers.first_admin import end_owner_tokens, token_for_owner
from mosaic_registry.ports import Clock
from mosaic_registry.settings import Settings


class RegistryService:
    """Serves the registry's calls and watches deadlines, alone or beside other services."""

    def __init__(self, settings: Settings, *, metrics: CollectorRegistry, clock: Clock = utc_now) -> None:
        self._parts = build(settings, clock=clock)
        self._api = RegistryApi(self._parts, metrics)
        self._owner: UserName | None = None
        self._identity = IdentityApi(self._parts)
        self._sweeper = Sweeper(self._parts, metrics)
        self._join = JoinServer(settings.join_address, settings.tls, self._parts) if settings.join_address else None

    def registrations(self) -> Sequence[Registration]:
        """Return its gRPC services."""
        trail = AuditApi(self._parts.catalog)
        return [
            Registration(
                "mosaic.wire.v1.Registry",
                self._api,
                add_RegistryServicer_to_server,
                self._api.is_denied,
                self._parts.catalog.note,
            ),
            Registration("mosaic.wire.v1.Identity", self._identity, add_IdentityServicer_to_server),
            Registration(AUDIT, trail, add_AuditServicer_to_server),
        ]

    def token_for_owner(self, user: UserName) -> str:
        """Return a token for who owns the machine; it ends with the service."""
        self._owner = user
        return token_for_owner(user, people=self._parts.people, now=self._parts.clock())

    @property
    def join_address(self) -> str:
        """Where agents join; empty = nowhere."""
        return self._join.address if self._join else ""

    def probes(self) -> Mapping[str, Probe]:
        """Return what its readiness depends on."""
        return {"database": self._database_fault, "sweeper": self._sweeper.fault}

    def start(self) -> None:
        """Watch deadlines and hear of other replicas' changes."""
        if self._parts.notifications:
            self._parts.notifications.start()
        self._sweeper.start()
        if self._join:
            self._join.start()

    def stop(self) -> None:
        """End the streams and threads, and let go of the database."""
        if self._owner is not None:
            # A disk that is full keeps nobody from ending; the next start ends it.
            with suppress(DatabaseUnavailable):
                end_owner_tokens(self._owner, people=self._parts.people)
        if self._join:
            self._join.stop()
        self._api.end_streams()
        self._sweeper.stop()
        if self._parts.notifications:
            self._parts.notifications.stop()
        self._parts.engine.dispose()

    def _database_fault(self) -> str | None:
        with self._parts.engine.connect() as connection:
            connection.execute(sa.text("SELECT 1"))
        return None
