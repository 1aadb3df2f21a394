"""Puts the console together: the one place that knows which adapter stands behind which port."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from mosaic.errors import BadInput
from mosaic_console.adapters.grpc_identity import GrpcIdentity
from mosaic_console.adapters.grpc_platform import Endpoints, GrpcServices
from mosaic_console.adapters.run_files import RunFiles
from mosaic_console.domain.provider import Claims, read_teams
from mosaic_console.domain.rate import Buckets
from mosaic_console.handlers.shared_looks import SharedLooks
from mosaic_console.ports import Artifacts, Identity, Provider, Services
from mosaic_console.settings import Settings

#: So many seconds' worth may come at once.
_BURST_S = 10.0


def _buckets(per_s: float) -> Buckets:
    return Buckets(per_s, per_s * _BURST_S, clock=time.monotonic)


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
    #: None = people have passwords here.
    provider: Provider | None = None
    #: Where the provider sends browsers back to.
    redirect_uri: str = ""
    changes: Buckets = field(default_factory=lambda: _buckets(300.0))
    large_reads: Buckets = field(default_factory=lambda: _buckets(100.0))


def build(settings: Settings, *, port: int) -> Parts:
    """Connect to the services; nothing is sent before the first request.

    Raises:
        BadInput: the settings of the identity provider cannot be.
    """
    addresses = (settings.registry_address, settings.scheduler_address, settings.telemetry_address)
    # The prefix ties the cookie to one host, and browsers take it only where TLS is.
    prefix = "__Host-" if settings.has_tls else ""
    return Parts(
        services=GrpcServices(Endpoints(*addresses, settings.tls)),
        identity=GrpcIdentity(settings.registry_address, settings.tls),
        hosts=settings.hosts,
        has_tls=settings.has_tls,
        cookie=f"{prefix}mosaic_session_{port}",
        artifacts=RunFiles(settings.runs_root),
        provider=_provider(settings) if settings.oidc_issuer else None,
        redirect_uri=f"{settings.urls.partition(',')[0].strip().rstrip('/')}/sign-in/callback",
        changes=_buckets(settings.changes_per_s),
        large_reads=_buckets(settings.large_reads_per_s),
    )


def _provider(settings: Settings) -> Provider:
    if not (settings.oidc_client_id and settings.urls):
        faults = ["MOSAIC_CONSOLE_OIDC_ISSUER needs MOSAIC_CONSOLE_OIDC_CLIENT_ID and MOSAIC_CONSOLE_URLS"]
        raise BadInput("environment", faults)
    # Half a second of imports that a console without a provider does without.
    from mosaic_console.adapters.oidc_provider import OidcProvider

    return OidcProvider(
        settings.oidc_issuer,
        settings.oidc_client_id,
        settings.oidc_client_secret,
        scopes=settings.oidc_scopes,
        claims=Claims(settings.oidc_user_claim, settings.oidc_teams_claim, read_teams(settings.oidc_teams)),
    )
