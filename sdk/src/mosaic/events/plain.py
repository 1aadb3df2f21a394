"""Lines of the plain form that our own emitter writes, decoded without building what nobody reads.

A line that does not fit exactly is not for this module: `PLAIN` raises, and `read_line` decides.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.json import Decoder

Number = float  # takes integers too
_Count = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Point(Struct, gc=False, forbid_unknown_fields=True):
    """The payload of a metric."""

    name: str
    step: Number
    value: Number
    unit: str | None = None
    agent: str | None = None


class PlainMetric(Struct, gc=False, forbid_unknown_fields=True, tag_field="event", tag="metric"):
    """A metric line."""

    payload: Point
    run_id: str | None
    timestamp: Number | str | None


class Move(Struct, gc=False):
    """What of a step decides whether it is one; all else in it is skipped."""

    step_index: _Count
    reward: Number | None = None
    terminated: bool | None = None
    truncated: bool | None = None


class PlainStep(Struct, gc=False, forbid_unknown_fields=True, tag_field="event", tag="step"):
    """A step line."""

    payload: Move
    run_id: str | None
    timestamp: Number | str | None


#: Raises `msgspec.DecodeError` for every line that is not a plain metric or step.
PLAIN = Decoder(PlainMetric | PlainStep)
