"""How agents come into the fleet: invitations, and the certificates that were issued."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mosaic.ids import AgentId, WorkerName


@dataclass(frozen=True, slots=True, kw_only=True)
class Invite:
    """What is known of an invitation; its secret is shown once and kept nowhere."""

    invite_id: str
    #: How many more agents may join with it.
    uses: int
    created_at: datetime
    expires_at: datetime
    #: Who made it, as histories name them.
    created_by: str
    #: Agents of this worker only; empty = of any.
    worker: WorkerName = WorkerName("")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCertificate:
    """A certificate with which an agent shows who it is."""

    serial: str
    agent_id: AgentId
    issued_at: datetime
    expires_at: datetime
    #: What it was issued for: ``invite:ID``, ``kubernetes:NAMESPACE/ACCOUNT`` or ``certificate:SERIAL``; empty = it was
    #: issued elsewhere.
    via: str = ""
    #: It may register as an agent of this worker only; empty = of any.
    worker: WorkerName = WorkerName("")
    denied_at: datetime | None = None
