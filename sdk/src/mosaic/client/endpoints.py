"""Where the services are: named by the environment, in the state directory of ``mosaic up``, or on this host."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from mosaic.errors import BadInput, ServiceUnavailable
from mosaic.wire.tls import TlsFiles

_VARIABLES = {
    "registry": "MOSAIC_ENDPOINT_REGISTRY",
    "scheduler": "MOSAIC_ENDPOINT_SCHEDULER",
    "telemetry": "MOSAIC_ENDPOINT_TELEMETRY",
}

#: Where ``docker compose up`` publishes them.
_PUBLISHED = {"registry": "127.0.0.1:50051", "scheduler": "127.0.0.1:50052", "telemetry": "127.0.0.1:50053"}
_LISTEN_TIMEOUT_S = 1.0


def listens(address: str) -> bool:
    """Tell whether somebody accepts connections at *address*, a ``host:port``."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_LISTEN_TIMEOUT_S).close()
    except OSError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The gRPC address (``host:port``) of each service."""

    registry: str
    scheduler: str
    telemetry: str
    #: How the caller shows that it may ask for people.
    tls: TlsFiles = TlsFiles("", "", "")

    @classmethod
    def find(cls, env: Mapping[str, str], home: Path, *, listens: Callable[[str], bool] = listens) -> Endpoints:
        """Return the endpoints that *env* names, else those of the platform running in *home* or on this host.

        Raises:
            BadInput: *env* names some services but not all.
            ServiceUnavailable: no platform is found.
        """
        named = {service: env[variable] for service, variable in _VARIABLES.items() if env.get(variable)}
        if len(named) == len(_VARIABLES):
            files = (env.get(f"MOSAIC_TLS_{what}_FILE", "") for what in ("CA", "CERT", "KEY"))
            return cls(**named, tls=TlsFiles(*files))
        if named:
            missing = [variable for service, variable in _VARIABLES.items() if service not in named]
            raise BadInput("environment", [f"{variable} is not set, but others are" for variable in missing])
        try:
            return cls.read(home)
        except ServiceUnavailable:
            # Who names a state directory means the platform in it and no other.
            if not env.get("MOSAIC_HOME") and all(listens(address) for address in _PUBLISHED.values()):
                return cls(_PUBLISHED["registry"], _PUBLISHED["scheduler"], _PUBLISHED["telemetry"])
            raise

    @classmethod
    def read(cls, home: Path) -> Endpoints:
        """Return the endpoints of the platform running in *home*.

        Raises:
            ServiceUnavailable: nothing runs there.
        """
        path = home / "endpoints.json"
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            return cls(**{**told, "tls": TlsFiles(**told["tls"])})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ServiceUnavailable("the platform", str(home)) from error

    def write(self, home: Path) -> None:
        """Say in *home* where the platform is; readers see the old file or the new one, never half."""
        path = home / "endpoints.json"
        draft = path.with_suffix(".tmp")
        draft.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        os.replace(draft, path)
