"""All that can be set from outside, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mosaic.hosting.settings import EventSettings, TlsSettings, read_settings


@dataclass(frozen=True)
class Settings(EventSettings, TlsSettings):
    """The scheduler's settings, from variables ``MOSAIC_SCHEDULER_*`` and those that it shares with others."""

    database_url: str  #: ``sqlite:///file`` or ``postgresql://...``
    broker_url: str  #: ``amqp://...``, or ``memory://`` inside one process
    registry_address: str  #: host:port of the registry's gRPC
    #: Shared with telemetry alone: proves who sent an event. ``openssl rand -hex 32`` makes one.
    event_key: str
    grpc_address: str = "0.0.0.0:50052"
    health_address: str = "0.0.0.0:8082"
    #: Where secrets of teams are mounted: ``NAME`` for the team default, ``TEAM/NAME`` for another; empty = none are.
    secrets_dir: str = ""
    #: Seals the secrets that people set: 32 bytes in base64 a line, the newest first; empty = none can be set.
    #: What an older line sealed is sealed anew at the start; then that line can go.
    secrets_key: str = ""
    #: Variables that submissions may set beside those of ``docs/reference/submission.md``: ``HF_HOME, MY_LIBRARY_*``.
    environment_names: str = ""
    lease_s: float = 30.0
    #: Time between SIGTERM and SIGKILL.
    grace_s: float = 20.0
    #: Nothing but heartbeats for so long means hung, unless the run says otherwise.
    hang_limit_s: float = 1800.0
    #: An attempt is left alone this long before it may be asked to leave for another run.
    min_runtime_s: float = 60.0
    #: Stretches (or, below 1, shortens) every wait before another attempt.
    retry_wait_factor: float = 1.0
    log_level: str = "info"

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        """Build from *env*; every missing or unreadable variable is reported in one error."""
        return read_settings(cls, "MOSAIC_SCHEDULER", env)
