"""All that can be set from outside."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from mosaic.errors import BadInput, Refused
from mosaic.hosting.settings import TlsSettings, read_settings

DEFAULT_ADDRESS = "127.0.0.1:7420"
_LOOPBACK = "127.0.0.1"
_LAST_PORT = 65535


@dataclass(frozen=True, kw_only=True)
class Settings(TlsSettings):
    """The console's settings, from variables ``MOSAIC_CONSOLE_*`` and those that it shares with others."""

    registry_address: str  #: ``host:port`` of the registry
    scheduler_address: str  #: ``host:port`` of the scheduler
    telemetry_address: str  #: ``host:port`` of telemetry
    #: Where REST and pages are; anything but loopback needs TLS.
    http_address: str = DEFAULT_ADDRESS
    #: How people write the address: ``https://fleet.example.org``, several with commas. Another ``Host`` is refused.
    urls: str = ""
    https_cert_file: str = ""  #: certificate chain that browsers see, PEM
    https_key_file: str = ""  #: its private key, PEM
    #: Listen beyond loopback without TLS; only where an ingress before it has TLS and nobody else reaches it.
    insecure_listen: bool = False
    #: Directory of the run directories, where the console can read it: artifacts are served from there.
    runs_root: str = ""
    #: Addresses of proxies, with commas, whose ``X-Forwarded-For`` is believed; of anybody else it means nothing.
    trusted_proxies: str = ""
    #: Identity provider (OpenID Connect): its issuer, letter by letter; empty = people have passwords here.
    oidc_issuer: str = ""
    oidc_client_id: str = ""  #: as the provider knows the console
    oidc_client_secret: str = field(default="", repr=False)  #: better `MOSAIC_CONSOLE_OIDC_CLIENT_SECRET_FILE`
    oidc_scopes: str = "openid profile email"  #: what the provider is asked for
    oidc_user_claim: str = "preferred_username"  #: the claim that names people when they first come
    oidc_teams_claim: str = "groups"  #: the claim that lists their groups
    #: ``GROUP=TEAM:ROLE``, with semicolons: roles that the provider gives, and takes. Empty = they are given here.
    oidc_teams: str = ""
    #: Changes a second that one user, and one token, may make; ten times as many at once.
    changes_per_s: float = 300.0
    #: The same for reads that cost much: events, logs, exports, artifacts, curves.
    large_reads_per_s: float = 100.0
    health_address: str = "0.0.0.0:8084"
    log_level: str = "info"

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        """Build from *env*; every missing or unreadable variable is reported in one error."""
        return read_settings(cls, "MOSAIC_CONSOLE", env)

    @property
    def has_tls(self) -> bool:
        """Tell whether browsers reach it by TLS, its own or an ingress's."""
        return bool(self.https_cert_file) or self.urls.startswith("https://")

    @property
    def hosts(self) -> frozenset[str]:
        """The names that the address has, in lower case."""
        named = (urlsplit(url.strip()).hostname or "" for url in self.urls.split(","))
        return frozenset({_LOOPBACK, "localhost", *filter(None, named)})

    def listen_address(self) -> tuple[str, int]:
        """Return where to listen.

        Raises:
            BadInput: the address is not ``host:port``, or only one half of a certificate is given.
            Refused: it is not loopback, and nothing would encrypt what is said there.
        """
        host, port = read_address(self.http_address)
        if bool(self.https_cert_file) != bool(self.https_key_file):
            raise BadInput(
                "environment", ["MOSAIC_CONSOLE_HTTPS_CERT_FILE and MOSAIC_CONSOLE_HTTPS_KEY_FILE go together"]
            )
        if not (is_loopback(host) or self.https_cert_file or self.insecure_listen):
            raise Refused(
                f"whoever listens on {host} without TLS shows every token to the network: set "
                "MOSAIC_CONSOLE_HTTPS_CERT_FILE and MOSAIC_CONSOLE_HTTPS_KEY_FILE or, behind an ingress that has TLS, "
                "MOSAIC_CONSOLE_INSECURE_LISTEN=true"
            )
        return host, port


def read_address(address: str) -> tuple[str, int]:
    """Return host and port of *address*.

    Raises:
        BadInput: it is not ``host:port``.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > _LAST_PORT:
        fault = f"{address!r} is not host:port, for example {DEFAULT_ADDRESS}; port 0 takes a free one"
        raise BadInput("console address", [fault])
    return (_LOOPBACK if host == "localhost" else host), int(port)


def loopback_address(address: str) -> str:
    """Return *address*, which is one of loopback.

    Raises:
        BadInput: it is not ``host:port``.
        Refused: the host is not loopback.
    """
    host, port = read_address(address)
    if not is_loopback(host):
        raise Refused(
            f"`mosaic up` listens on {_LOOPBACK} only, not on {host}: it is one person's platform; to look from "
            f"elsewhere, use `ssh -L {port}:{_LOOPBACK}:{port} THIS-MACHINE`"
        )
    return f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Tell whether *host* is this machine's own address and no other."""
    try:
        return ipaddress.ip_address(host) == ipaddress.ip_address(_LOOPBACK)
    except ValueError:
        return False
