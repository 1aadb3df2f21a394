"""All that can be set from outside, read once."""

from __future__ import annotations

import sys
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from mosaic.errors import BadInput, did_you_mean
from mosaic.ids import is_id

PREFIX = "MOSAIC_AGENT_"


@dataclass(frozen=True)
class Settings:
    """An agent's settings; each is the variable ``MOSAIC_AGENT_<FIELD>``."""

    registry_address: str
    scheduler_address: str
    #: Where rings come from: ``amqp://…``.
    broker_url: str
    #: The agent's own directory. On a disk: the spool and the ledger must outlive the process.
    home: str
    #: Where run directories are; the same place on every node that may continue a run.
    runs_root: str
    #: A second broker for telemetry, so that a flood of events cannot delay a ring; empty = the same one.
    events_url: str = ""
    #: How many queues the events are spread over; the telemetry service must agree.
    shards: int = 4
    #: The interpreter of the worker's environment.
    python: str = sys.executable
    #: Which worker of that environment; may be left out when there is only one.
    worker: str = ""
    #: Stays the same across restarts; empty = made from the node and the worker.
    agent_id: str = ""
    #: Shared by all agents of a host; empty = made from the host's name.
    node_id: str = ""
    #: Attempts at once; 0 = one per CPU.
    slots: int = 0
    #: Image reference with digest, for manifests.
    image: str = ""
    #: How often workers are asked to give a sign of life.
    heartbeat_s: float = 10.0
    spool_limit_mb: int = 1024
    stop_timeout_s: float = 60.0
    #: ``host:port`` of /healthz, /readyz and /metrics; empty = none.
    health_address: str = "0.0.0.0:8080"
    log_level: str = "info"

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        """Build from *env*.

        Raises:
            BadInput: lists every missing, unreadable and misspelt variable.
        """
        hints = typing.get_type_hints(cls)
        known = {PREFIX + field.name.upper(): field for field in fields(cls)}
        values: dict[str, Any] = {}
        faults = [
            f"{name} is not a setting{did_you_mean(name, known)}"
            for name in sorted(env)
            if name.startswith(PREFIX) and name not in known
        ]
        for variable, field in known.items():
            if variable in env:
                try:
                    values[field.name] = hints[field.name](env[variable])
                except ValueError:
                    faults.append(f"{variable}={env[variable]!r} is not a number")
            elif field.default is MISSING:
                faults.append(f"{variable} is not set")
        faults += [
            f"{PREFIX}{name.upper()}={values[name]!r} is not an id"
            for name in ("agent_id", "node_id")
            if values.get(name) and not is_id(values[name])
        ]
        if faults:
            raise BadInput("environment", faults)
        return cls(**values)
