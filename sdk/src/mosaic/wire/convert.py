"""Between protobuf's types and Python's: the only module that knows both."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from mosaic.lifecycle import AttemptState, RunState
from mosaic.wire.v1 import scheduler_pb2

_RUN_PREFIX: Final = "RUN_STATE_"
_ATTEMPT_PREFIX: Final = "ATTEMPT_STATE_"


def to_timestamp(moment: datetime | None) -> Timestamp | None:
    """Return *moment* (aware) for the wire; None stays unset."""
    if moment is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(moment.astimezone(timezone.utc))
    return stamp


def from_timestamp(stamp: Timestamp) -> datetime | None:
    """Return the aware UTC time of *stamp*; an unset stamp is None.

    Raises:
        ValueError: it names no time between the years 1 and 9999.

    """
    if not stamp.seconds and not stamp.nanos:
        return None
    return stamp.ToDatetime(tzinfo=timezone.utc)


def run_state_to_wire(state: RunState) -> int:
    """Return the wire's number for *state*."""
    return scheduler_pb2.RunState.Value(_RUN_PREFIX + state.name)


def run_state_from_wire(number: int) -> RunState:
    """Return our state for the wire's *number*."""
    return RunState[scheduler_pb2.RunState.Name(number).removeprefix(_RUN_PREFIX)]


def attempt_state_to_wire(state: AttemptState) -> int:
    """Return the wire's number for *state*."""
    return scheduler_pb2.AttemptState.Value(_ATTEMPT_PREFIX + state.name)


def attempt_state_from_wire(number: int) -> AttemptState:
    """Return our state for the wire's *number*."""
    return AttemptState[scheduler_pb2.AttemptState.Name(number).removeprefix(_ATTEMPT_PREFIX)]
