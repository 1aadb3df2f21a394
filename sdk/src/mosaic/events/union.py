"""`Event`: everything that crosses the broker, as one discriminated union."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, get_args

from pydantic import Field, TypeAdapter

from mosaic.events.attempt import (
    AttemptEnded,
    AttemptStarted,
    ProtocolViolated,
    TelemetryResumed,
    TelemetryStarved,
)
from mosaic.events.envelope import Envelope
from mosaic.events.lifecycle import (
    CheckpointLoaded,
    CheckpointSaved,
    Heartbeat,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
)
from mosaic.events.training import Artifact, Custom, Episode, Log, Metric, Step

LifecycleEvent = RunStarted | RunCompleted | RunFailed | RunCancelled | Heartbeat | CheckpointSaved | CheckpointLoaded
TrainingEvent = Metric | Episode | Step | Log | Artifact | Custom
AttemptEvent = AttemptStarted | AttemptEnded | TelemetryStarved | TelemetryResumed | ProtocolViolated
Event = LifecycleEvent | TrainingEvent | AttemptEvent

#: Validates the canonical form: the four keys of a line with our payload names.
EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="event")])

#: kind -> model, in the order the reference lists them.
KINDS: MappingProxyType[str, type[Envelope]] = MappingProxyType(
    {model.model_fields["event"].default: model for model in get_args(Event)}
)

#: Kinds only the agent may speak; from a worker's mouth they are violations.
AGENT_KINDS = frozenset(model.model_fields["event"].default for model in get_args(AttemptEvent))
