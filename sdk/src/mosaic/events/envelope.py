"""What every event has around its payload, and the stamp an agent puts on it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, field_serializer

from mosaic.ids import RunId

if TYPE_CHECKING:
    from mosaic.events import Event


class Payload(BaseModel):
    """What an event says. Frozen; keys we do not know are kept, in ``model_extra``."""

    model_config = ConfigDict(frozen=True, extra="allow", ser_json_inf_nan="strings")


class Envelope(BaseModel):
    """The four keys of a line: ``event``, ``payload``, ``run_id``, ``timestamp``."""

    model_config = ConfigDict(frozen=True, extra="allow", ser_json_inf_nan="strings")

    #: What the worker believes its run is called; the stamp, not this, says whose event it is.
    run_id: str | None = None
    #: The worker's clock, aware UTC; seconds since 1970 on the wire.
    timestamp: datetime | None = None

    @field_serializer("timestamp")
    def _in_seconds(self, timestamp: datetime | None) -> float | None:
        return None if timestamp is None else timestamp.timestamp()


@dataclass(frozen=True, order=True, slots=True)
class Stamp:
    """Where an event belongs: the agent's word, which a worker cannot influence.

    ``(run_id, attempt)`` names the stream and is the fencing token; ``seq`` counts its lines from
    0 without holes, so that loss and repetition are both visible.
    """

    run_id: RunId
    attempt: int
    seq: int
    time: datetime  #: the agent's clock when the line was read, aware UTC


@dataclass(frozen=True, slots=True)
class StampedEvent:
    """An event with its place in the stream."""

    stamp: Stamp
    event: Event
