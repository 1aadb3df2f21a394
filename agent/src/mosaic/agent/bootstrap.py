"""An agent from its settings, as it runs in a worker image."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from mosaic.agent.agent import Agent, AgentOptions
from mosaic.agent.control.celery_listener import CeleryDispatchListener
from mosaic.agent.control.grpc_clients import GrpcRegistry, GrpcScheduler
from mosaic.agent.control.joining import Credentials, identity_of, join
from mosaic.agent.control.probe_cache import read_report
from mosaic.agent.control.profile import choose_worker
from mosaic.agent.control.renewal import Renewal
from mosaic.agent.execution.walls import Walls, read_uids, secret_places
from mosaic.agent.inventory import look_around
from mosaic.agent.ports import WorkerProfile
from mosaic.agent.settings import Settings
from mosaic.errors import BadInput, Refused
from mosaic.installer.provenance import Revisions
from mosaic.messaging.event_messages import BrokerFrameSink
from mosaic.messaging.publisher import Publisher
from mosaic.wire.tls import TlsFiles
from mosaic.worker.probe import ProbeReport, probe

_PROBE_TIMEOUT_S = 300.0
_MEBIBYTE = 1024 * 1024
#: How long a registry that does not answer is waited for before whoever started this agent hears of it.
_JOIN_PATIENCE_S = 60.0
_HOW_TO_JOIN = (
    "this agent has no certificate: set MOSAIC_AGENT_JOIN_URL and MOSAIC_AGENT_JOIN_TOKEN (`mosaic agents invite` "
    "prints it), or MOSAIC_TLS_CA_FILE, MOSAIC_TLS_CERT_FILE and MOSAIC_TLS_KEY_FILE"
)


def build_agent(settings: Settings, env: Mapping[str, str]) -> tuple[Agent, Callable[[], None]]:
    """Return the agent and what closes its connections once it has stopped.

    Raises:
        WorkerBroken: the worker's environment cannot be used.
        WorkerNotFound: the worker named in the settings is not in it.
        BadInput: ``MOSAIC_GPUS`` cannot be read, or the files of TLS cannot be used.
        Refused: another agent uses the same home.
    """
    release = hold_home(Path(settings.home))
    worker = choose_worker(
        _report(settings),
        settings.worker,
        image=settings.image,
        revisions=Revisions(settings.worker_revision, settings.platform_revision),
    )
    options = agent_options(settings, worker, env)
    tls, join_again = _identity(settings, options.agent_id)
    registry = GrpcRegistry(settings.registry_address, tls)
    scheduler = GrpcScheduler(settings.scheduler_address, tls)
    renewal = None
    if join_again is not None:
        renew = partial(registry.renew_certificate, options.agent_id)
        renewal = Renewal(Path(settings.home), renew, join_again)
        renewal.start()
    events_url = settings.events_broker_url or settings.broker_url
    publisher = Publisher(events_url, name=options.agent_id)

    def close() -> None:
        release()
        if renewal is not None:
            renewal.stop()
        publisher.close()
        registry.close()
        scheduler.close()

    agent = Agent(
        options,
        registry=registry,
        scheduler=scheduler,
        sink=BrokerFrameSink(publisher, shards=settings.event_shards),
        listener=CeleryDispatchListener(settings.broker_url),
    )
    return agent, close


def _identity(settings: Settings, agent_id: str) -> tuple[TlsFiles, Callable[[], object] | None]:
    """Return the files of this agent's certificate, and how it gets another; None where somebody else replaces them."""
    if settings.tls_cert_file:
        settings.tls.read()
        return settings.tls, None
    home = Path(settings.home)
    shown = Credentials(
        settings.join_url, settings.join_token, settings.kubernetes_token_file, ca_file=settings.tls_ca_file
    )

    def join_now(patience_s: float = 0.0) -> TlsFiles:
        if not shown.url or not (shown.token or shown.kubernetes_token_file):
            raise BadInput("environment", [_HOW_TO_JOIN])
        return join(home, agent_id, shown, patience_s=patience_s)

    return identity_of(home, agent_id) or join_now(_JOIN_PATIENCE_S), join_now


def agent_options(settings: Settings, worker: WorkerProfile, env: Mapping[str, str]) -> AgentOptions:
    """Return what the agent needs to know about itself, filled in from the machine where nothing is set."""
    machine = look_around(env, node_id=settings.node_id)
    slots = settings.slots or machine.cpus
    hidden = [Path(settings.home), Path(settings.runs_root), *secret_places(env)] if settings.hide_files else []
    return AgentOptions(
        agent_id=settings.agent_id or f"{machine.node_id}-{worker.name}"[:128],
        worker=worker,
        machine=machine,
        # A place that would never be filled must not be offered.
        slots=min(slots, settings.runs or slots),
        home=Path(settings.home),
        runs_root=Path(settings.runs_root),
        environment=env,
        walls=Walls(hidden, uids=read_uids(settings.attempt_uids, min(slots, settings.runs or slots))),
        heartbeat_s=settings.heartbeat_s,
        spool_limit_bytes=settings.spool_limit_mb * _MEBIBYTE,
        stop_timeout_s=settings.stop_timeout_s,
        runs=settings.runs,
        idle_limit_s=settings.idle_limit_s,
    )


def hold_home(home: Path) -> Callable[[], None]:
    """Keep other agents out of *home* until the end of this process; return what lets them in sooner.

    Two that share it would each end the attempts of the other as what a predecessor left behind.
    """
    home.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(PermissionError):
        home.chmod(0o700)
    lock = (home / "agent.lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        advice = "give each agent a home of its own (MOSAIC_AGENT_HOME) and an id of its own (MOSAIC_AGENT_AGENT_ID)"
        raise Refused(f"another agent works in {home}: {advice}") from error
    return lock.close


def _report(settings: Settings) -> ProbeReport:
    if settings.probe_report:
        return read_report(Path(settings.probe_report))
    return probe(settings.python, timeout_s=_PROBE_TIMEOUT_S)
