"""An agent from its settings, as it runs in a worker image."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from mosaic.agent.agent import Agent, AgentOptions
from mosaic.agent.celery_app import CeleryDoorbell
from mosaic.agent.control import GrpcRegistry, GrpcScheduler
from mosaic.agent.inventory import look_around
from mosaic.agent.kept_probe import read_report
from mosaic.agent.ports import WorkerProfile
from mosaic.agent.profile import choose_worker
from mosaic.agent.settings import Settings
from mosaic.messaging.event_messages import BrokerFrameSink
from mosaic.messaging.publisher import Publisher
from mosaic.messaging.topology import event_topology
from mosaic.worker.probe import ProbeReport, probe

_PROBE_TIMEOUT_S = 300.0
_MEBIBYTE = 1024 * 1024


def build_agent(settings: Settings, env: Mapping[str, str]) -> tuple[Agent, Callable[[], None]]:
    """Return the agent and what closes its connections once it has stopped.

    Raises:
        WorkerBroken: the worker's environment cannot be used.
        WorkerNotFound: the worker named in the settings is not in it.
        BadInput: ``MOSAIC_GPUS`` cannot be read.
    """
    report = _report(settings)
    options = agent_options(settings, choose_worker(report, settings.worker, image=settings.image), env)
    registry = GrpcRegistry(settings.registry_address)
    scheduler = GrpcScheduler(settings.scheduler_address)
    events_url = settings.events_url or settings.broker_url
    publisher = Publisher(events_url, event_topology(settings.shards), name=options.agent_id)

    def close() -> None:
        publisher.close()
        registry.close()
        scheduler.close()

    agent = Agent(
        options,
        registry=registry,
        scheduler=scheduler,
        sink=BrokerFrameSink(publisher, shards=settings.shards),
        doorbell=CeleryDoorbell(settings.broker_url),
    )
    return agent, close


def agent_options(settings: Settings, worker: WorkerProfile, env: Mapping[str, str]) -> AgentOptions:
    """Return what the agent needs to know about itself, filled in from the machine where nothing is set."""
    machine = look_around(env, node_id=settings.node_id)
    slots = settings.slots or machine.cpus
    return AgentOptions(
        agent_id=settings.agent_id or f"{machine.node_id}-{worker.name}"[:128],
        worker=worker,
        machine=machine,
        # A place that would never be filled must not be offered.
        slots=min(slots, settings.runs or slots),
        home=Path(settings.home),
        runs_root=Path(settings.runs_root),
        environment=env,
        heartbeat_s=settings.heartbeat_s,
        spool_limit_bytes=settings.spool_limit_mb * _MEBIBYTE,
        stop_timeout_s=settings.stop_timeout_s,
        runs=settings.runs,
        idle_limit_s=settings.idle_limit_s,
    )


def _report(settings: Settings) -> ProbeReport:
    if settings.probe_report:
        return read_report(Path(settings.probe_report))
    return probe(settings.python, timeout_s=_PROBE_TIMEOUT_S)
