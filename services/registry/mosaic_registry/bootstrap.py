"""Puts the registry together: the one place that knows which adapter stands behind which port."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from sqlalchemy import Engine

from mosaic.hosting.changes import ChangeSignal, Notifications
from mosaic.hosting.database import migrate, open_engine
from mosaic.ids import UserName
from mosaic_registry.adapters.argon2_passwords import Argon2Passwords
from mosaic_registry.adapters.cluster_tokens import ClusterTokens, from_cluster, from_file
from mosaic_registry.adapters.fleet_issuer import FleetIssuer
from mosaic_registry.adapters.sql_catalog import CHANNEL, SqlCatalog
from mosaic_registry.adapters.sql_people import SqlPeople
from mosaic_registry.handlers.first_admin import add_first_admin, keep_admin_token
from mosaic_registry.ports import Catalog, Clock, Issuer, Passwords, People, PodTokens
from mosaic_registry.settings import Settings


@dataclass(frozen=True)
class Parts:
    """The registry's parts, connected but not started."""

    engine: Engine
    catalog: Catalog
    people: People
    passwords: Passwords
    #: None where agents get their certificates elsewhere.
    issuer: Issuer | None
    #: None where there is no cluster whose pods may join.
    pods: PodTokens | None
    #: Rings when the fleet may have changed.
    changes: ChangeSignal
    #: None where only this process changes the catalog.
    notifications: Notifications | None
    clock: Clock
    heartbeat_interval: timedelta
    heartbeat_timeout: timedelta
    forget_after: timedelta


def utc_now() -> datetime:
    """Return the time of day, aware."""
    return datetime.now(timezone.utc)


def _pods(settings: Settings) -> PodTokens | None:
    where = settings.kubernetes_jwks
    if not where:
        return None
    accounts = [one.strip() for one in settings.kubernetes_accounts.split(",") if one.strip()]
    source = from_cluster(where) if where.startswith("https://") else from_file(Path(where))
    return ClusterTokens(source, issuer=settings.kubernetes_issuer, accounts=accounts)


def build(settings: Settings, *, clock: Clock = utc_now) -> Parts:
    """Connect everything and bring the schema up to date."""
    engine = open_engine(settings.database_url)
    migrate(engine, "mosaic_registry.adapters.migrations")
    people, passwords = SqlPeople(engine), Argon2Passwords()
    admin = UserName(settings.admin)
    if settings.admin_password:
        add_first_admin(admin, settings.admin_password, people=people, passwords=passwords)
    if settings.admin_token:
        keep_admin_token(admin, settings.admin_token, people=people, now=clock())
    changes = ChangeSignal()
    shared = engine.dialect.name == "postgresql"
    return Parts(
        engine=engine,
        catalog=SqlCatalog(engine),
        people=people,
        passwords=passwords,
        issuer=FleetIssuer(Path(settings.ca_key_file), Path(settings.tls_ca_file)) if settings.ca_key_file else None,
        pods=_pods(settings),
        changes=changes,
        notifications=Notifications(settings.database_url, CHANNEL, changes.notify) if shared else None,
        clock=clock,
        heartbeat_interval=timedelta(seconds=settings.heartbeat_interval_s),
        heartbeat_timeout=timedelta(seconds=settings.heartbeat_timeout_s),
        forget_after=timedelta(seconds=settings.forget_after_s),
    )
