"""Puts the scheduler together: the one place that knows which adapter stands behind which port."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from celery import Celery
from sqlalchemy import Engine

from mosaic.events.proof import EventKey
from mosaic.hosting.changes import Notifications
from mosaic.hosting.database import migrate, open_engine
from mosaic.messaging.publisher import Publisher
from mosaic.messaging.topology import event_routing_key
from mosaic.model.variables import names_of
from mosaic_scheduler.adapters.aes_vault import AesVault
from mosaic_scheduler.adapters.broker_telemetry import BrokerTelemetry
from mosaic_scheduler.adapters.celery_dispatcher import CeleryDispatcher, producer_app
from mosaic_scheduler.adapters.leadership import AdvisoryLock, SoleLeader
from mosaic_scheduler.adapters.registry_fleet import RegistryFleet
from mosaic_scheduler.adapters.secret_files import SecretFiles
from mosaic_scheduler.adapters.sql_runs import CHANNEL, SqlRuns
from mosaic_scheduler.adapters.sql_secrets import SqlSecrets
from mosaic_scheduler.domain.retry import RetrySettings
from mosaic_scheduler.domain.snapshot import PolicySettings
from mosaic_scheduler.handlers.round_settings import RoundSettings
from mosaic_scheduler.handlers.rounds import Rounds
from mosaic_scheduler.handlers.submit import DEFAULT_TEAM
from mosaic_scheduler.ports import Clock, Secrets, Telemetry, Vault
from mosaic_scheduler.settings import Settings


@dataclass(frozen=True)
class Parts:
    """The scheduler's parts, connected but not started."""

    engine: Engine
    store: SqlRuns
    fleet: RegistryFleet
    secrets: Secrets
    vault: Vault
    event_key: EventKey
    rounds: Rounds
    round_settings: RoundSettings
    leadership: SoleLeader | AdvisoryLock
    #: None where only this process changes the store.
    notifications: Notifications | None
    #: None where telemetry is in this process.
    publisher: Publisher | None
    clock: Clock


def utc_now() -> datetime:
    """Return the time of day, aware."""
    return datetime.now(timezone.utc)


def build(
    settings: Settings,
    *,
    on_change: Callable[[], None],
    clock: Clock = utc_now,
    celery: Celery | None = None,
    telemetry: Telemetry | None = None,
) -> Parts:
    """Connect everything and bring the schema up to date.

    *on_change* is called when the fleet, or another scheduler on the same database, changed something.
    *celery* and *telemetry* are given where agents and telemetry live in the same process.
    """
    event_key = EventKey(settings.event_key)
    engine = open_engine(settings.database_url)
    migrate(engine, "mosaic_scheduler.adapters.migrations")
    shared = engine.dialect.name == "postgresql"
    store = SqlRuns(engine)
    vault = AesVault(settings.secrets_key)
    secrets = SqlSecrets(engine, vault, SecretFiles(settings.secrets_dir, top_of=DEFAULT_TEAM))
    secrets.seal_anew()
    variables = names_of(settings.environment_names)
    fleet = RegistryFleet(settings.registry_address, settings.tls, on_change=on_change, variables=variables)
    publisher, told = (None, telemetry) if telemetry else _over_the_broker(settings, event_key)
    round_settings = RoundSettings(
        lease=timedelta(seconds=settings.lease_s),
        grace=timedelta(seconds=settings.grace_s),
        hang_limit=timedelta(seconds=settings.hang_limit_s),
        policy=PolicySettings(min_runtime=timedelta(seconds=settings.min_runtime_s)),
        retry=RetrySettings().with_waits(settings.retry_wait_factor),
    )
    rounds = Rounds(
        store=store,
        fleet=fleet,
        dispatcher=CeleryDispatcher(celery or producer_app(settings.broker_url)),
        telemetry=told,
        route=lambda run_id: event_routing_key(run_id, settings.event_shards),
        clock=clock,
        settings=round_settings,
    )
    return Parts(
        engine=engine,
        store=store,
        fleet=fleet,
        secrets=secrets,
        vault=vault,
        event_key=event_key,
        rounds=rounds,
        round_settings=round_settings,
        leadership=AdvisoryLock(engine) if shared else SoleLeader(),
        notifications=Notifications(settings.database_url, CHANNEL, on_change) if shared else None,
        publisher=publisher,
        clock=clock,
    )


def _over_the_broker(settings: Settings, event_key: EventKey) -> tuple[Publisher, Telemetry]:
    url = settings.events_broker_url or settings.broker_url
    publisher = Publisher(url, name="mosaic-scheduler")
    return publisher, BrokerTelemetry(publisher, event_key, shards=settings.event_shards)
