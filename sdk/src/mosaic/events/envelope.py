"""What every event has around its payload."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, field_serializer


class Payload(BaseModel):
    """What an event says. Frozen; keys we do not know are kept, in ``model_extra``."""

    model_config = ConfigDict(frozen=True, extra="allow", ser_json_inf_nan="strings")


class Event(BaseModel):
    """The four keys of a line: ``event``, ``payload``, ``run_id``, ``timestamp``."""

    model_config = ConfigDict(frozen=True, extra="allow", ser_json_inf_nan="strings")

    #: The kind.
    event: str
    payload: Any
    #: What the worker believes its run is called; the stamp, not this, says whose event it is.
    run_id: str | None = None
    #: The worker's clock, aware UTC; seconds since 1970 on the wire.
    timestamp: datetime | None = None

    @field_serializer("timestamp")
    def _in_seconds(self, timestamp: datetime | None) -> float | None:
        return None if timestamp is None else timestamp.timestamp()
