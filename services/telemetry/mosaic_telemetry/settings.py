"""All that can be set from outside, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mosaic.hosting.settings import read_settings


@dataclass(frozen=True)
class Settings:
    """The telemetry service's settings, from variables ``MOSAIC_TELEMETRY_*``."""

    database_url: str  #: ``sqlite:///file`` or ``postgresql://...``
    manifest_root: str  #: directory of the manifests, one folder per run
    #: ``amqp://...``; empty where agents hand over their frames in this process.
    broker_url: str = ""
    #: ``redis://...``, so that a follower of one replica hears what another stored; empty for one replica.
    redis_url: str = ""
    grpc_address: str = "0.0.0.0:50053"
    health_address: str = "0.0.0.0:8083"
    #: Queues over which events are spread; agents and the scheduler must say the same.
    event_shards: int = 4
    #: Frames taken from a queue before they are stored.
    prefetch: int = 64
    #: How long a manifest waits for events that are on their way.
    seal_patience_s: float = 30.0
    log_level: str = "info"

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        """Build from *env*; every missing or unreadable variable is reported in one error."""
        return read_settings(cls, "MOSAIC_TELEMETRY", env)
