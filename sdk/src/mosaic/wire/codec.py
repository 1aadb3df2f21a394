"""Values of `mosaic.model` as protobuf and as JSON, driven by their fields; the only module that converts them.

A field has one name. Its type says how it is written:

====================  =================================  ==============================
in the model          in protobuf                        in JSON
====================  =================================  ==============================
text, number, bool    the same                           the same
datetime              Timestamp                          seconds since 1970
timedelta             double ``NAME_s``                  number ``NAME_s``
Enum                  enum, or its word                  its word
Mapping[str, Any]     JSON text ``NAME_json``            object
other Mapping         map                                object
tuple, frozenset      repeated                           list
a value of the model  message                            object
``T | None``          unset; zero where nothing can be   null
====================  =================================  ==============================

What a reader does not know it leaves out, and what a writer did not say is the field's default, so old rows and
old messages stay readable. `EXCEPTIONS` lists every field that is not on the wire.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta, timezone
from enum import Enum, IntEnum
from functools import cache
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp

from mosaic.errors import BadInput

ValueT = TypeVar("ValueT")
MessageT = TypeVar("MessageT", bound=Message)

#: Fields that stay on one side, by class name: they are stored and never sent.
EXCEPTIONS: Mapping[str, AbstractSet[str]] = {"Attempt": {"control_digest"}}

Convert = Callable[[Any], Any]


class _Form(NamedTuple):
    """How a type is written in JSON: the suffix of its name, and both ways."""

    suffix: str
    write: Convert
    read: Convert


class _Slot(NamedTuple):
    """One field of a class and its place in a message."""

    name: str
    place: FieldDescriptor
    write: Convert
    read: Convert


def to_json(value: Any) -> dict[str, Any]:
    """Return a value of the model as JSON values."""
    return {key: write(getattr(value, name)) for name, (key, write, _) in _json_plan(_key(type(value))).items()}


def from_json(kind: type[ValueT], data: Mapping[str, Any]) -> ValueT:
    """Return the value that `to_json` wrote, in this release or in an older or newer one.

    Raises:
        BadInput: a field without a default is missing, or one cannot be read.

    """
    told = ((name, key, read, data[key]) for name, (key, _, read) in _json_plan(_key(kind)).items() if key in data)
    return _built(kind, told)


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
    return _built(kind, told)


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


def _built(kind: type[ValueT], told: Iterable[tuple[str, str, Convert, Any]]) -> ValueT:
    given, faults = {}, []
    for name, key, read, written in told:
        try:
            given[name] = read(written)
        except BadInput as error:
            faults += [f"{key}.{fault}" for fault in error.faults]
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            faults.append(f"{key}: {error}")
    needed = [field.name for field in dataclasses.fields(typing.cast("Any", kind)) if _is_needed(field)]
    faults += [f"{name} is missing" for name in needed if name not in given and not faults]
    if faults:
        raise BadInput(kind.__name__, faults)
    return kind(**given)


def _key(kind: type) -> Any:
    """Return *kind* for a cache; mypy does not know that classes can be hashed."""
    return kind


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    return field.init and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


@cache
def _json_plan(kind: Any) -> dict[str, tuple[str, Convert, Convert]]:
    plan = {}
    for name, hint in _hints(kind).items():
        form = _json_form(hint)
        plan[name] = (name + form.suffix, form.write, form.read)
    return plan


@cache
def _wire_plan(kind: Any, descriptor: Descriptor) -> tuple[_Slot, ...]:
    places = descriptor.fields_by_name
    left_out = EXCEPTIONS.get(kind.__name__, frozenset())
    slots = []
    for name, hint in _hints(kind).items():
        found = next((places[name + suffix] for suffix in ("", "_s", "_json") if name + suffix in places), None)
        if found is None:
            assert name in left_out, f"{kind.__name__}.{name} has no place in {descriptor.name}"
            continue
        slots.append(_Slot(name, found, *_wire_form(hint, found)))
    return tuple(slots)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}


def _json_form(hint: Any) -> _Form:
    inner, is_optional = _unwrapped(hint)
    form = _plain_form(inner)
    if not is_optional:
        return form
    return _Form(form.suffix, _or_none(form.write), _or_none(form.read))


def _plain_form(hint: Any) -> _Form:
    if hint is datetime:
        return _Form("", datetime.timestamp, lambda stamp: datetime.fromtimestamp(stamp, timezone.utc))
    if hint is timedelta:
        return _Form("_s", timedelta.total_seconds, lambda seconds: timedelta(seconds=seconds))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _Form("", _word, lambda word: _member(hint, word))
    if dataclasses.is_dataclass(hint):
        return _Form("", to_json, lambda data: from_json(typing.cast("type[Any]", hint), data))
    if _is_sequence(hint):
        item = _json_form(get_args(hint)[0])
        container = typing.cast("Convert", get_origin(hint))
        order: Convert = sorted if container is frozenset else list
        return _Form("", lambda values: order(map(item.write, values)), lambda data: container(map(item.read, data)))
    if get_origin(hint) is not None and issubclass(get_origin(hint), Mapping):
        value = _json_form(get_args(hint)[1])
        return _Form("", lambda pairs: _mapped(value.write, pairs), lambda data: _mapped(value.read, data))
    return _Form("", _same, _same)


def _wire_form(hint: Any, place: FieldDescriptor) -> tuple[Convert, Convert]:
    inner, is_optional = _unwrapped(hint)
    write, read = _plain_wire_form(inner, place)
    if not is_optional:
        return write, read
    # Where the wire cannot leave a field out, its zero says that there is nothing.
    return _or_none(write), read if place.has_presence else lambda value: read(value) if value else None


def _plain_wire_form(hint: Any, place: FieldDescriptor) -> tuple[Convert, Convert]:
    if hint is datetime:
        return to_timestamp, from_timestamp
    if place.name.endswith("_json"):
        return lambda value: json.dumps(dict(value), sort_keys=True), _json_object
    if _is_sequence(hint):
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
    form = _plain_form(hint)
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


def _unwrapped(hint: Any) -> tuple[Any, bool]:
    """Return the type inside ``T | None`` and inside a name for it, and whether None is allowed."""
    is_optional = False
    if get_origin(hint) in (Union, types.UnionType):
        inner = [part for part in get_args(hint) if part is not type(None)]
        is_optional = len(inner) < len(get_args(hint))
        hint = inner[0]
    return getattr(hint, "__supertype__", hint), is_optional


def _is_sequence(hint: Any) -> bool:
    return get_origin(hint) in (tuple, frozenset)


def _word(member: Enum) -> Any:
    return member.name.lower() if isinstance(member, IntEnum) else member.value


def _member(kind: type[Enum], word: Any) -> Enum:
    return kind[str(word).upper()] if issubclass(kind, IntEnum) else kind(word)


def _mapped(convert: Convert, pairs: Mapping[str, Any]) -> dict[str, Any]:
    return {key: convert(value) for key, value in dict(pairs).items()}


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _same(value: Any) -> Any:
    return value
