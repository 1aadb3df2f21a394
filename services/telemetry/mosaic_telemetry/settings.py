"""All that can be set from outside, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mosaic.hosting.settings import EventSettings, TlsSettings, read_settings


@dataclass(frozen=True)
class Settings(EventSettings, TlsSettings):
    """The telemetry service's settings, from variables ``MOSAIC_TELEMETRY_*`` and those that it shares with others."""

    database_url: str  #: ``sqlite:///file`` or ``postgresql://...``
    manifest_root: str  #: directory of the manifests, one folder per run
    #: Shared with the scheduler alone: proves who sent an event. ``openssl rand -hex 32`` makes one.
    event_key: str
    #: ``amqp://...``; without any broker agents hand over their frames in this process.
    broker_url: str = ""
    #: ``redis://...``, so that a follower of one replica hears what another stored; empty for one replica.
    redis_url: str = ""
    grpc_address: str = "0.0.0.0:50053"
    health_address: str = "0.0.0.0:8083"
    #: Frames taken from a queue before they are stored.
    prefetch: int = 64
    #: How long a manifest waits for events that are on their way.
    finish_patience_s: float = 30.0
    log_level: str = "info"

    @property
    def events_url(self) -> str:
        """Where events come from; empty when no broker carries them."""
        return self.events_broker_url or self.broker_url

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        """Build from *env*; every missing or unreadable variable is reported in one error."""
        return read_settings(cls, "MOSAIC_TELEMETRY", env)
