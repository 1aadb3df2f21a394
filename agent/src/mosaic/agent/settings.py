"""All that can be set from outside, read once."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from mosaic.errors import BadInput
from mosaic.hosting.settings import EventSettings, TlsSettings, read_settings
from mosaic.ids import is_id
from mosaic.worker.command import DEFAULT_HEARTBEAT_S


@dataclass(frozen=True)
class Settings(EventSettings, TlsSettings):
    """An agent's settings, from variables ``MOSAIC_AGENT_*`` and those that it shares with others."""

    #: host:port of the registry's gRPC.
    registry_address: str
    #: host:port of the scheduler's gRPC.
    scheduler_address: str
    #: Where dispatches come from: ``amqp://…``.
    broker_url: str
    #: The agent's own directory. On a disk: the spool and the attempts must outlive the process.
    home: str
    #: Where run directories are; the same place on every node that may continue a run.
    runs_root: str
    #: ``https://host:port`` where this agent joins the fleet, when it has no certificate yet.
    join_url: str = ""
    #: An invitation of `mosaic agents invite`; better `MOSAIC_AGENT_JOIN_TOKEN_FILE`. Read only to join.
    join_token: str = field(default="", repr=False)
    #: Instead of an invitation: the token of the pod's service account, for audience `mosaic`. `MOSAIC_TLS_CA_FILE`
    #: then says whom to believe.
    kubernetes_token_file: str = ""
    #: The interpreter of the worker's environment.
    python: str = sys.executable
    #: What that environment said of itself when the image was built; empty = it is asked at every start.
    probe_report: str = ""
    #: Which worker of that environment; may be left out when there is only one.
    worker: str = ""
    #: Stays the same across restarts; empty = made from the node and the worker.
    agent_id: str = ""
    #: Shared by all agents of a host; empty = made from the host's name.
    node_id: str = ""
    #: Attempts at once; 0 = one per CPU.
    slots: int = 0
    #: Leave after so many runs, when all about them is delivered; 0 = stay.
    runs: int = 0
    #: Leave after so long without a run; 0 = stay.
    idle_limit_s: float = 0.0
    #: Image reference with digest, for manifests.
    image: str = ""
    #: Of which commits the image was built, as ``git describe --always --dirty`` says it, for manifests.
    worker_revision: str = ""
    platform_revision: str = ""
    #: How often workers are asked to give a sign of life.
    heartbeat_s: float = DEFAULT_HEARTBEAT_S
    #: ``FIRST-LAST``: each attempt runs under one of these user ids, which nobody else has; empty = under the agent's.
    #: The agent then needs root, or the capabilities CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID and SETUID.
    attempt_uids: str = ""
    #: An attempt sees nothing of `home`, of `runs_root` but its own run, and of what a variable ``MOSAIC_*_FILE`` or
    #: ``MOSAIC_*_DIR`` names. Nothing new can then be made in the folders above them. Needs Landlock (Linux 5.19).
    hide_files: bool = False
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
        names = {name: env.get(name, "") for name in ("MOSAIC_AGENT_AGENT_ID", "MOSAIC_AGENT_NODE_ID")}
        faults = [f"{name}={value!r} is not an id" for name, value in names.items() if value and not is_id(value)]
        try:
            settings = read_settings(cls, "MOSAIC_AGENT", env)
        except BadInput as error:
            raise BadInput("environment", [*error.faults, *faults]) from error
        if faults:
            raise BadInput("environment", faults)
        return settings
