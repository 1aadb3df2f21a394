"""``python -m mosaic_scheduler``: one scheduler, configured by ``MOSAIC_SCHEDULER_*``."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry

from mosaic.hosting.process import run_service
from mosaic_scheduler.entrypoints.service import SchedulerService
from mosaic_scheduler.settings import Settings


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    run_service("scheduler", Settings.from_env, _build, os.environ)


def _build(settings: Settings, metrics: CollectorRegistry) -> SchedulerService:
    return SchedulerService(settings, metrics=metrics)


if __name__ == "__main__":
    main()
