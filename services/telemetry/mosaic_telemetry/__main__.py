"""``python -m mosaic_telemetry``: one replica, configured by ``MOSAIC_TELEMETRY_*``."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry

from mosaic.hosting.process import run_service
from mosaic_telemetry.entrypoints.service import TelemetryService, build
from mosaic_telemetry.settings import Settings


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    run_service("telemetry", Settings.from_env, _build, os.environ)


def _build(settings: Settings, metrics: CollectorRegistry) -> TelemetryService:
    return build(settings, metrics=metrics)


if __name__ == "__main__":
    main()
