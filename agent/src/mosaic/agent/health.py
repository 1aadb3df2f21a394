"""/healthz, /readyz and /metrics of an agent."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Gauge

from mosaic.agent.agent import Agent
from mosaic.hosting.health import HealthServer


def agent_metrics(agent: Agent) -> CollectorRegistry:
    """Return the gauges of *agent*, read when they are asked for."""
    registry = CollectorRegistry()
    gauges: dict[str, tuple[str, Callable[[], float]]] = {
        "mosaic_agent_attempts": ("Attempts executed now.", lambda: float(agent.running())),
        "mosaic_agent_spool_bytes": (
            "Telemetry not confirmed yet.",
            lambda: float(agent.backlog.size_bytes),
        ),
        "mosaic_agent_starved": ("1 while steps are thinned.", lambda: float(agent.backlog.is_starved)),
        "mosaic_agent_missing_walls": (
            "Walls around attempts that this machine does not have.",
            lambda: float(len(agent.missing_walls())),
        ),
        "mosaic_agent_ready": ("1 while everything is reached.", lambda: float(not agent.faults())),
    }
    for name, (text, read) in gauges.items():
        Gauge(name, text, registry=registry).set_function(read)
    return registry


def health_server(address: str, agent: Agent) -> HealthServer:
    """Return the server that answers for *agent*: ready while nothing it needs is missing."""
    return HealthServer(address, agent.probes(), agent_metrics(agent))
