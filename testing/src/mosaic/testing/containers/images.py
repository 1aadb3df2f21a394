"""What the images are called. ``docker-compose.yml`` uses the same names; a test keeps them equal."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

PREFIX = "mosaic-fleet"

SERVICES = ("registry", "scheduler", "telemetry", "console")

#: The official images under the platform, by the name that a stack gives them.
BROKERS = {
    "rabbitmq": "rabbitmq:4-management",
    "redis": "redis:7",
    "postgres": "postgres:16",
}

_DISTRIBUTION = "mosaic-sdk"
_UNRELEASED = "latest"


def image_of(name: str, tag: str = "") -> str:
    """Return the image of a service or a worker, of the same version as this SDK unless *tag* says otherwise."""
    return f"{PREFIX}/{name}:{tag or _own_version()}"


def _own_version() -> str:
    try:
        return version(_DISTRIBUTION)
    except PackageNotFoundError:
        return _UNRELEASED
