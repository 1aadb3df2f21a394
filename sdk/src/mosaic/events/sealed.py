"""The scheduler's last word about a run, from which its manifest is written."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mosaic.errors import BadInput


class SealedAttempt(BaseModel):
    """What the scheduler knows of one attempt of an ended run."""

    model_config = ConfigDict(frozen=True, extra="allow")

    attempt: int = Field(ge=1)
    #: A terminal value of `mosaic.lifecycle.AttemptState`.
    state: str
    agent_id: str = ""
    node_id: str = ""
    gpu_ids: tuple[str, ...] = ()
    started_at: datetime | None = None
    ended_at: datetime | None = None
    failure_kind: str = ""
    reason: str = ""
    exit_code: int | None = None
    #: Highest sequence number the agent stamped; -1 when nobody knows, as for a lost machine.
    last_seq: int = -1
    versions: dict[str, str] = Field(default_factory=dict)
    resumed_from: str = ""


class RunSealed(BaseModel):
    """A run has ended. A retried run is sealed again, with more attempts; the newest seal counts."""

    model_config = ConfigDict(frozen=True, extra="allow")

    run_id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$")
    #: A terminal value of `mosaic.lifecycle.RunState`.
    outcome: str
    reason_code: str = ""
    reason: str = ""
    #: What was asked for: worker, config (an object), seed, name, team, user, resources, labels; no secrets.
    spec: dict[str, Any] = Field(default_factory=dict)
    config_digest: str = ""
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    attempts: tuple[SealedAttempt, ...] = ()

    def to_json(self) -> bytes:
        """Return the message body."""
        return self.model_dump_json().encode()

    @classmethod
    def from_json(cls, body: bytes) -> RunSealed:
        """Read a message body.

        Raises:
            BadInput: lists everything that is wrong with it.

        """
        try:
            return cls.model_validate_json(body)
        except ValidationError as error:
            faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
            raise BadInput("seal of a run", faults) from error
