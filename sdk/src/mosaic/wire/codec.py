"""Values of `mosaic.model` as protobuf, driven by their fields; the only module that converts them.

A field has one name. Its type says how it is written:

====================  =================================
in the model          in protobuf
====================  =================================
text, number, bool    the same
datetime              Timestamp
timedelta             double ``NAME_s``
Enum                  enum, or its word
Mapping[str, Any]     JSON text ``NAME_json``
other Mapping         map
tuple, frozenset      repeated
a value of the model  message
``T | None``          unset; zero where nothing can be
====================  =================================

What a reader does not know it leaves out, and what a writer did not say is the field's default, so old messages stay
readable. `EXCEPTIONS` lists every field that is not on the wire.
"""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime, timezone
from enum import Enum
from functools import cache
from typing import Any, NamedTuple, TypeVar, get_args, get_origin

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp

from mosaic.model.codec import Convert, built, form_of, hints_of, is_sequence, or_none, unwrapped

ValueT = TypeVar("ValueT")
MessageT = TypeVar("MessageT", bound=Message)

#: Fields that stay on one side, by class name: they are stored and never sent.
EXCEPTIONS: Mapping[str, AbstractSet[str]] = {"Attempt": {"control_digest"}, "KeptCredential": {"digest"}}


class _Slot(NamedTuple):
    """One field of a class and its place in a message."""

    name: str
    place: FieldDescriptor
    write: Convert
    read: Convert


def to_wire(value: Any, message_class: type[MessageT]) -> MessageT:
    """Return a value of the model as a message."""
    message = message_class()
    for slot in _wire_plan(_key(type(value)), message_class.DESCRIPTOR):
        _put(message, slot.place, slot.write(getattr(value, slot.name)))
    return message


def from_wire(message: Message, kind: type[ValueT]) -> ValueT:
    """Return the value that *message* carries.

    Raises:
        BadInput: lists every field that cannot be read, or that is missing.

    """
    told = (
        (slot.name, slot.place.name, slot.read, getattr(message, slot.place.name))
        for slot in _wire_plan(_key(kind), message.DESCRIPTOR)
        if not slot.place.has_presence or message.HasField(slot.place.name)
    )
    return built(kind, told)


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
    return stamp.ToDatetime(tzinfo=timezone.utc) if stamp.seconds or stamp.nanos else None


def _key(kind: type) -> Any:
    """Return *kind* for a cache; mypy does not know that classes can be hashed."""
    return kind


@cache
def _wire_plan(kind: Any, descriptor: Descriptor) -> tuple[_Slot, ...]:
    places = descriptor.fields_by_name
    left_out = EXCEPTIONS.get(kind.__name__, frozenset())
    slots = []
    for name, hint in hints_of(kind).items():
        found = next((places[name + suffix] for suffix in ("", "_s", "_json") if name + suffix in places), None)
        if found is None:
            assert name in left_out, f"{kind.__name__}.{name} has no place in {descriptor.name}"
            continue
        slots.append(_Slot(name, found, *_wire_form(hint, found)))
    return tuple(slots)


def _wire_form(hint: Any, place: FieldDescriptor) -> tuple[Convert, Convert]:
    inner, is_optional = unwrapped(hint)
    write, read = _plain_wire_form(inner, place)
    if not is_optional:
        return write, read
    # Where the wire cannot leave a field out, its zero says that there is nothing.
    return or_none(write), read if place.has_presence else lambda value: read(value) if value else None


def _plain_wire_form(hint: Any, place: FieldDescriptor) -> tuple[Convert, Convert]:
    if hint is datetime:
        return to_timestamp, from_timestamp
    if place.name.endswith("_json"):
        return lambda value: json.dumps(dict(value), sort_keys=True), _json_object
    if is_sequence(hint):
        write, read = _plain_wire_form(get_args(hint)[0], place)
        container = typing.cast("Convert", get_origin(hint))
        return lambda values: [write(value) for value in values], lambda values: container(map(read, values))
    if dataclasses.is_dataclass(hint):
        kind, message_class = (
            typing.cast("type[Any]", hint),
            GetMessageClass(typing.cast("Descriptor", place.message_type)),
        )
        return lambda value: to_wire(value, message_class), lambda message: from_wire(message, kind)
    if isinstance(hint, type) and issubclass(hint, Enum) and place.enum_type is not None:
        return _enum_form(hint, place.enum_type)
    form = form_of(hint)
    return form.write, form.read


def _enum_form(kind: type[Enum], descriptor: EnumDescriptor) -> tuple[Convert, Convert]:
    """Match members by name; the wire's begin with the name of their enum."""
    prefix = "".join(f"_{letter}" if letter.isupper() else letter.upper() for letter in descriptor.name)[1:] + "_"
    numbers = {member: descriptor.values_by_name[prefix + member.name].number for member in kind}
    members = {number: member for member, number in numbers.items()}
    return numbers.__getitem__, lambda number: _known(members, number)


def _json_object(text: str) -> dict[str, Any]:
    value = json.loads(text or "{}")
    if not isinstance(value, dict):
        raise ValueError(f"is not a JSON object but {type(value).__name__}")
    return value


def _known(members: Mapping[int, Enum], number: int) -> Enum:
    if number not in members:
        listing = ", ".join(f"{known} ({member.name.lower()})" for known, member in members.items())
        raise ValueError(f"{number} is not one of {listing}")
    return members[number]


def _put(message: Message, place: FieldDescriptor, value: Any) -> None:
    if value is None:
        return
    if place.message_type is not None and place.message_type.GetOptions().map_entry:
        getattr(message, place.name).update(value)
    elif place.is_repeated:
        getattr(message, place.name).extend(value)
    elif place.message_type is not None:
        getattr(message, place.name).CopyFrom(value)
    else:
        setattr(message, place.name, value)
