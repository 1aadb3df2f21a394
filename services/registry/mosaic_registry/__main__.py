"""``python -m mosaic_registry``: one registry, configured by ``MOSAIC_REGISTRY_*``."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry

from mosaic.hosting.process import run_service
from mosaic_registry.entrypoints.service import RegistryService
from mosaic_registry.settings import Settings


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    run_service("registry", Settings.from_env, _build, os.environ)


def _build(settings: Settings, metrics: CollectorRegistry) -> RegistryService:
    return RegistryService(settings, metrics=metrics)


if __name__ == "__main__":
    main()
