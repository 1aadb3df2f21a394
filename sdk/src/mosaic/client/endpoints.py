"""Where the services are: named by the environment, or found in the state directory of ``mosaic up``."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from mosaic.errors import BadInput, ServiceUnavailable

_VARIABLES = {
    "registry": "MOSAIC_ENDPOINT_REGISTRY",
    "scheduler": "MOSAIC_ENDPOINT_SCHEDULER",
    "telemetry": "MOSAIC_ENDPOINT_TELEMETRY",
}


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The gRPC address (``host:port``) of each service."""

    registry: str
    scheduler: str
    telemetry: str

    @classmethod
    def find(cls, env: Mapping[str, str], home: Path) -> Endpoints:
        """Return the endpoints that *env* names, else those of the platform running in *home*.

        Raises:
            BadInput: *env* names some services but not all.
            ServiceUnavailable: neither says where the platform is.
        """
        named = {service: env[variable] for service, variable in _VARIABLES.items() if env.get(variable)}
        if len(named) == len(_VARIABLES):
            return cls(**named)
        if named:
            missing = [variable for service, variable in _VARIABLES.items() if service not in named]
            raise BadInput("environment", [f"{variable} is not set, but others are" for variable in missing])
        return cls.read(home)

    @classmethod
    def read(cls, home: Path) -> Endpoints:
        """Return the endpoints of the platform running in *home*.

        Raises:
            ServiceUnavailable: nothing runs there.
        """
        path = home / "endpoints.json"
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise ServiceUnavailable("the platform", str(home)) from error

    def write(self, home: Path) -> None:
        """Say in *home* where the platform is; readers see the old file or the new one, never half."""
        path = home / "endpoints.json"
        draft = path.with_suffix(".tmp")
        draft.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        os.replace(draft, path)
