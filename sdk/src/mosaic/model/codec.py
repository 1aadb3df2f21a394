"""Values as JSON, driven by their fields: how they are stored, and how the API and ``--json`` write them.

A field has one name. Its type says how it is written:

====================  ==============================
in Python             in JSON
====================  ==============================
text, number, bool    the same
datetime              seconds since 1970, or ISO 8601
timedelta             number ``NAME_s``
Enum                  its word
Mapping               object
tuple, frozenset      list
a value with fields   object
``T | None``          null
====================  ==============================

What a reader does not know it leaves out, and what a writer did not say is the field's default, so old rows and
old messages stay readable.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta, timezone
from enum import Enum, IntEnum
from functools import cache
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin

from mosaic.errors import BadInput

ValueT = TypeVar("ValueT")

Convert = Callable[[Any], Any]


class Form(NamedTuple):
    """How a type is written in JSON: the suffix of its name, and both ways."""

    suffix: str
    write: Convert
    read: Convert


def to_json(value: Any, *, iso: bool = False) -> dict[str, Any]:
    """Return a value as JSON values: times in seconds, or with *iso* as people read them."""
    return {key: write(getattr(value, name)) for name, (key, write, _) in _plan(_key(type(value)), iso).items()}


def from_json(kind: type[ValueT], data: Mapping[str, Any]) -> ValueT:
    """Return the value that `to_json` wrote, in this release or in an older or newer one.

    Raises:
        BadInput: a field without a default is missing, or one cannot be read.

    """
    told = ((name, key, read, data[key]) for name, (key, _, read) in _plan(_key(kind), False).items() if key in data)
    return built(kind, told)


def built(kind: type[ValueT], told: Iterable[tuple[str, str, Convert, Any]]) -> ValueT:
    """Return the value of *told*: field, key, how it is read, and what was written.

    Raises:
        BadInput: lists every field that cannot be read, or that is missing.

    """
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
def hints_of(kind: Any) -> dict[str, Any]:
    """Return the type of each field of *kind*."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}


@cache
def _plan(kind: Any, iso: bool) -> dict[str, tuple[str, Convert, Convert]]:
    plan = {}
    for name, hint in hints_of(kind).items():
        form = _form(hint, iso)
        plan[name] = (name + form.suffix, form.write, form.read)
    return plan


def _form(hint: Any, iso: bool) -> Form:
    inner, is_optional = unwrapped(hint)
    form = form_of(inner, iso=iso)
    if not is_optional:
        return form
    return Form(form.suffix, or_none(form.write), or_none(form.read))


def form_of(hint: Any, *, iso: bool = False) -> Form:
    """Return how a type that is not optional is written."""
    if hint is float:
        return Form("", _same, float)  # "NaN" and "Infinity" are read, too
    if hint is datetime:
        return Form("", datetime.isoformat if iso else datetime.timestamp, _moment)
    if hint is timedelta:
        return Form("_s", timedelta.total_seconds, lambda seconds: timedelta(seconds=seconds))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return Form("", _word, lambda word: _member(hint, word))
    if dataclasses.is_dataclass(hint):
        kind = typing.cast("type[Any]", hint)
        return Form("", lambda value: to_json(value, iso=iso), lambda data: from_json(kind, data))
    if is_sequence(hint):
        item = _form(get_args(hint)[0], iso)
        container = typing.cast("Convert", get_origin(hint))
        order: Convert = sorted if container is frozenset else list
        return Form("", lambda values: order(map(item.write, values)), lambda data: container(map(item.read, data)))
    if get_origin(hint) is not None and issubclass(get_origin(hint), Mapping):
        value = _form(get_args(hint)[1], iso)
        return Form("", lambda pairs: _mapped(value.write, pairs), lambda data: _mapped(value.read, data))
    return Form("", _same, _same)


def unwrapped(hint: Any) -> tuple[Any, bool]:
    """Return the type inside ``T | None`` and inside a name for it, and whether None is allowed."""
    is_optional = False
    if get_origin(hint) in (Union, types.UnionType):
        inner = [part for part in get_args(hint) if part is not type(None)]
        is_optional = len(inner) < len(get_args(hint))
        hint = inner[0]
    return getattr(hint, "__supertype__", hint), is_optional


def is_sequence(hint: Any) -> bool:
    """Tell whether *hint* is written as a list."""
    return get_origin(hint) in (tuple, frozenset)


def or_none(convert: Convert) -> Convert:
    """Return what leaves None as it is and else does *convert*."""
    return lambda value: None if value is None else convert(value)


def _moment(told: Any) -> datetime:
    return datetime.fromisoformat(told) if isinstance(told, str) else datetime.fromtimestamp(told, timezone.utc)


def _word(member: Enum) -> Any:
    return member.name.lower() if isinstance(member, IntEnum) else member.value


def _member(kind: type[Enum], word: Any) -> Enum:
    return kind[str(word).upper()] if issubclass(kind, IntEnum) else kind(word)


def _mapped(convert: Convert, pairs: Mapping[str, Any]) -> dict[str, Any]:
    return dict(pairs) if convert is _same else {key: convert(value) for key, value in dict(pairs).items()}


def _same(value: Any) -> Any:
    return value
