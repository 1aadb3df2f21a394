"""Puts the console together: the one place that knows which adapter stands behind which port."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from mosaic_console.adapters.grpc_platform import Endpoints, GrpcServices
from mosaic_console.adapters.local_identity import LocalIdentity
from mosaic_console.adapters.run_files import RunFiles
from mosaic_console.domain.keys import Keyring
from mosaic_console.handlers.shared_looks import SharedLooks
from mosaic_console.ports import Artifacts, Identity, Services
from mosaic_console.settings import Settings


@dataclass(frozen=True)
class Parts:
    """The console's parts, connected but not served."""

    services: Services
    identity: Identity
    #: Names under which browsers and scripts reach it; any other is refused.
    hosts: frozenset[str] = frozenset({"127.0.0.1", "localhost"})
    #: Browsers reach it by TLS.
    has_tls: bool = False
    #: Cookies are told apart by name and host, not by port: two platforms of one machine must not sign each other out.
    cookie: str = "mosaic_session"
    artifacts: Artifacts = field(default_factory=lambda: RunFiles(""))
    looks: SharedLooks = field(default_factory=SharedLooks)


def build(settings: Settings, *, port: int) -> Parts:
    """Connect to the services; nothing is sent before the first request."""
    addresses = (settings.registry_address, settings.scheduler_address, settings.telemetry_address)
    # The prefix ties the cookie to one host, and browsers take it only where TLS is.
    prefix = "__Host-" if settings.has_tls else ""
    return Parts(
        GrpcServices(Endpoints(*addresses, settings.tls)),
        LocalIdentity(Keyring(settings.token, clock=time.monotonic), settings.user),
        settings.hosts,
        settings.has_tls,
        f"{prefix}mosaic_session_{port}",
        RunFiles(settings.runs_root),
    )
