"""Puts the telemetry service together: the one place that knows which adapter stands behind which port."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import Engine

from mosaic.events.proof import EventKey
from mosaic.hosting.database import open_engine
from mosaic.messaging.topology import Topology, event_topology
from mosaic_telemetry.adapters.file_manifests import FileManifests
from mosaic_telemetry.adapters.live_feed import InProcessFeed, RedisFeed
from mosaic_telemetry.adapters.sql_events import SqlEvents
from mosaic_telemetry.ports import Clock, EventStore, LiveFeed, ManifestStore
from mosaic_telemetry.settings import Settings


@dataclass(frozen=True)
class Parts:
    """The service's parts, connected but not started."""

    engine: Engine
    store: EventStore
    manifests: ManifestStore
    feed: LiveFeed
    clock: Clock
    finish_patience: timedelta
    topology: Topology
    event_key: EventKey


def utc_now() -> datetime:
    """Return the time of day, aware."""
    return datetime.now(UTC)


def connect(settings: Settings, *, live_feed: LiveFeed | None = None, clock: Clock = utc_now) -> Parts:
    """Connect everything and bring the schema up to date."""
    event_key = EventKey(settings.event_key)
    # Followers and charts each hold a connection only while they read.
    engine = open_engine(settings.database_url, pool_size=8)
    return Parts(
        engine=engine,
        store=SqlEvents(engine),
        manifests=FileManifests(Path(settings.manifest_root)),
        feed=live_feed or (RedisFeed(settings.redis_url) if settings.redis_url else InProcessFeed()),
        clock=clock,
        finish_patience=timedelta(seconds=settings.finish_patience_s),
        topology=event_topology(settings.event_shards),
        event_key=event_key,
    )
