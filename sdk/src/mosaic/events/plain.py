"""Lines of the plain form that our own emitter writes, decoded without building what nobody reads.

A line that does not fit exactly is not for this module: `PLAIN` raises, and `read_line` decides.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.json import Decoder

Number = float  # takes integers too
_Count = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
#: No value is one: a key that would add to the payload from beside it makes the line not plain.
_Absent = Annotated[int, Meta(ge=1, le=0)] | UnsetType


class Point(Struct, gc=False, forbid_unknown_fields=True):
    """The payload of a metric."""

    name: str
    step: Number
    value: Number
    unit: str | None = None
    agent: str | None = None


class PlainMetric(Struct, gc=False, tag_field="event", tag="metric"):
    """A metric line. What it says of its run and time is checked to be JSON and skipped."""

    payload: Point
    unit: _Absent = UNSET
    agent: _Absent = UNSET
    agent_id: _Absent = UNSET


class Move(Struct, gc=False):
    """What of a step decides whether it is one; all else in it is skipped."""

    step_index: _Count
    reward: Number | None = None
    terminated: bool | None = None
    truncated: bool | None = None


class PlainStep(Struct, gc=False, tag_field="event", tag="step"):
    """A step line."""

    payload: Move
    reward: _Absent = UNSET
    terminated: _Absent = UNSET
    truncated: _Absent = UNSET


#: Raises `msgspec.DecodeError` for every line that is not a plain metric or step.
PLAIN = Decoder(PlainMetric | PlainStep)
