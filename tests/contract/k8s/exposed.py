"""The metrics that our processes really expose, asked of the real things."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import CollectorRegistry

from mosaic.agent.health import agent_metrics
from mosaic.hosting.health import process_metrics
from mosaic_registry.entrypoints.service import RegistryService
from mosaic_registry.settings import Settings as RegistrySettings
from mosaic_scheduler.entrypoints.service import SchedulerService
from mosaic_scheduler.settings import Settings as SchedulerSettings
from mosaic_telemetry.entrypoints.metrics import Metrics as TelemetryMetrics
from tests.fakes.agent import Bench, running
from tests.fakes.scheduler import HeardTelemetry
from tests.fakes.telemetry import EVENT_KEY


def exposed_names(folder: Path) -> set[str]:
    """Return the name of every sample on /metrics of the services and the agent."""
    services = process_metrics()
    RegistryService(RegistrySettings(f"sqlite:///{folder}/registry.db"), metrics=services)
    scheduler = SchedulerSettings(f"sqlite:///{folder}/scheduler.db", "memory://", "127.0.0.1:1", EVENT_KEY)
    SchedulerService(scheduler, metrics=services, telemetry=HeardTelemetry())
    TelemetryMetrics(services)
    (of_agent,) = [_names(agent_metrics(bench.agent)) for bench in running(Bench(folder))]
    return _names(services) | of_agent


def _names(registry: CollectorRegistry) -> set[str]:
    families = list(registry.collect())
    # A family that has no sample yet, for want of workers, will have some under its own name.
    empty = {family.name for family in families if not family.samples}
    return empty | {sample.name for family in families for sample in family.samples}
