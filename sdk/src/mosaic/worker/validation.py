"""Checking a configuration against its JSON Schema, all faults at once.

This knows the keywords a configuration needs: type, enum, const, required, properties,
additionalProperties, items, prefixItems, minItems, maxItems, minLength, maxLength, pattern, minimum,
maximum, both exclusive ones, anyOf, oneOf, allOf, ``$ref`` within the document, and of the formats
`INSIDE_RUN_DIRECTORY`. Others are passed over.

Schemas come from workers, and services that serve everybody check against them: the work of one check
is bounded, whatever the schema asks for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, TypeGuard

from mosaic.errors import did_you_mean
from mosaic.worker.pattern import Budget, TooMuchWork, matches

#: The ``format`` of a path that a worker joins to its run directory and that may not lead out of it.
INSIDE_RUN_DIRECTORY = "inside-run-directory"

#: A schema that refers to itself stops being followed here.
_MAX_DEPTH = 48
#: More faults than this help nobody.
_MAX_FAULTS = 100
#: A schema of ours takes some hundred steps, and a second is enough for this many.
_MAX_STEPS = 250_000
_TOO_MUCH_WORK = "cannot be checked: the schema takes too much work; simplify its patterns and references to itself"

#: Characters of a value that stand in a fault.
_SHOWN = 60
_encoder = json.JSONEncoder(ensure_ascii=False)

_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
    "number": lambda value: _is_number(value),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, (list, tuple)),
    "object": lambda value: isinstance(value, Mapping),
}

_BOUNDS: tuple[tuple[str, Callable[[Any, Any], bool], str], ...] = (
    ("minimum", lambda value, bound: value >= bound, "at least"),
    ("maximum", lambda value, bound: value <= bound, "at most"),
    ("exclusiveMinimum", lambda value, bound: value > bound, "more than"),
    ("exclusiveMaximum", lambda value, bound: value < bound, "less than"),
)


def validate_config(schema: Mapping[str, Any], data: Any) -> list[str]:
    """Return every fault of *data* under *schema*, each with its path; an empty list is approval.

    Never raises and takes about a second at most, whatever either holds: a part of the schema that makes
    no sense forbids nothing, and one that takes too much work is a fault.
    """
    faults: list[str] = []
    try:
        for fault in _faults(schema, data, "", _Document(schema), 0):
            faults.append(fault)
            if len(faults) == _MAX_FAULTS:
                break
    except TooMuchWork:
        faults.append(_TOO_MUCH_WORK)
    return faults


def inside_run_directory(path: str) -> bool:
    """Tell whether *path*, joined to a run directory, stays in it: it is relative and never goes up."""
    way = PurePosixPath(path)
    return not way.is_absolute() and ".." not in way.parts


class _Document:
    """The whole schema, for references into it, and the work that may still be spent on it."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self.budget = Budget(_MAX_STEPS)

    def follow(self, reference: Any) -> Any:
        node = self._root
        if not isinstance(reference, str) or not reference.startswith("#"):
            return {}
        for part in reference[1:].strip("/").split("/"):
            if part:
                node = node.get(part, {}) if isinstance(node, Mapping) else {}
        return node


def _faults(schema: Any, value: Any, path: str, document: _Document, depth: int) -> Iterator[str]:
    if schema is False:
        yield f"{_at(path)}nothing is allowed here"
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return
    document.budget.spend(1 + len(_list_of(schema, "enum")) + len(_list_of(schema, "required")))
    if "$ref" in schema:
        yield from _faults(document.follow(schema["$ref"]), value, path, document, depth + 1)
    type_fault = _type_fault(schema, value, path)
    if type_fault:
        yield type_fault
        return
    yield from _choice_faults(schema, value, path)
    yield from _combined_faults(schema, value, path, document, depth)
    if isinstance(value, Mapping):
        yield from _object_faults(schema, value, path, document, depth)
    elif isinstance(value, (list, tuple)):
        yield from _array_faults(schema, value, path, document, depth)
    elif isinstance(value, str):
        yield from _text_faults(schema, value, path, document)
    elif _is_number(value):
        yield from _number_faults(schema, value, path)


def _type_fault(schema: Mapping[str, Any], value: Any, path: str) -> str | None:
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(names, list):
        return None
    names = [name for name in names if isinstance(name, str) and name in _TYPES]
    if not names or any(_TYPES[name](value) for name in names):
        return None
    return f"{_at(path)}must be {_either(names)}, is {_shown(value)}"


def _choice_faults(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    choices = schema.get("enum")
    if isinstance(choices, (list, tuple)) and not any(_same(value, choice) for choice in choices):
        near = (
            did_you_mean(value, [choice for choice in choices if isinstance(choice, str)])
            if isinstance(value, str)
            else ""
        )
        yield f"{_at(path)}must be one of {', '.join(map(_shown, choices))}, is {_shown(value)}{near}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{_at(path)}must be {_shown(schema['const'])}, is {_shown(value)}"


def _combined_faults(
    schema: Mapping[str, Any], value: Any, path: str, document: _Document, depth: int
) -> Iterator[str]:
    for part in _list_of(schema, "allOf"):
        yield from _faults(part, value, path, document, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        choices = _list_of(schema, keyword)
        if not choices:
            continue
        outcomes = [list(_faults(choice, value, path, document, depth + 1)) for choice in choices]
        if all(outcomes):
            # The choice that came closest says most about what was meant.
            yield from min(outcomes, key=_distance)
        elif keyword == "oneOf" and sum(not outcome for outcome in outcomes) > 1:
            yield f"{_at(path)}fits more than one of the allowed forms"


def _distance(faults: list[str]) -> tuple[bool, int]:
    return (any(" must be null, is " in fault for fault in faults), len(faults))


def _object_faults(
    schema: Mapping[str, Any], value: Mapping[Any, Any], path: str, document: _Document, depth: int
) -> Iterator[str]:
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    for name in _list_of(schema, "required"):
        if isinstance(name, str) and name not in value:
            yield f"{_at(_joined(path, name))}is required"
    for name, item in value.items():
        below = _joined(path, name)
        if name in properties:
            yield from _faults(properties[name], item, below, document, depth + 1)
        elif schema.get("additionalProperties") is False:
            document.budget.spend(len(properties))
            near = (
                did_you_mean(name, [known for known in properties if isinstance(known, str)])
                if isinstance(name, str)
                else ""
            )
            yield f"{_at(below)}is not a known field{near}"
        else:
            yield from _faults(schema.get("additionalProperties"), item, below, document, depth + 1)


def _array_faults(
    schema: Mapping[str, Any], value: list[Any] | tuple[Any, ...], path: str, document: _Document, depth: int
) -> Iterator[str]:
    yield from _size_faults(schema, "Items", "items", len(value), path)
    leading = _list_of(schema, "prefixItems")
    for index, item in enumerate(value):
        member = leading[index] if index < len(leading) else schema.get("items")
        yield from _faults(member, item, f"{path}[{index}]", document, depth + 1)


def _text_faults(schema: Mapping[str, Any], value: str, path: str, document: _Document) -> Iterator[str]:
    if not value and schema.get("minLength") == 1:
        yield f"{_at(path)}must not be empty"
    else:
        yield from _size_faults(schema, "Length", "characters", len(value), path)
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and not matches(pattern, value, document.budget):
        yield f"{_at(path)}must match {pattern}, is {_shown(value)}"
    if schema.get("format") == INSIDE_RUN_DIRECTORY and not inside_run_directory(value):
        yield f"{_at(path)}must stay inside the run directory, is {_shown(value)}"


def _size_faults(schema: Mapping[str, Any], what: str, noun: str, size: int, path: str) -> Iterator[str]:
    least, most = schema.get(f"min{what}"), schema.get(f"max{what}")
    if _is_number(least) and size < least:
        yield f"{_at(path)}must have at least {least} {noun}, has {size}"
    if _is_number(most) and size > most:
        yield f"{_at(path)}must have at most {most} {noun}, has {size}"


def _number_faults(schema: Mapping[str, Any], value: float, path: str) -> Iterator[str]:
    for keyword, holds, words in _BOUNDS:
        bound = schema.get(keyword)
        if _is_number(bound) and not holds(value, bound):
            yield f"{_at(path)}must be {words} {_shown(bound)}, is {_shown(value)}"


def _list_of(schema: Mapping[str, Any], keyword: str) -> list[Any]:
    value = schema.get(keyword)
    return list(value) if isinstance(value, (list, tuple)) else []


def _is_number(value: Any) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, int) or not math.isnan(value)


def _same(left: Any, right: Any) -> bool:
    # In Python True == 1; in JSON it is not.
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _joined(path: str, name: Any) -> str:
    return f"{path}.{name}" if path else str(name)


def _at(path: str) -> str:
    return f"{path}: " if path else ""


def _either(names: list[str]) -> str:
    words = [name if name == "null" else f"{'an' if name[0] in 'aeiou' else 'a'} {name}" for name in names]
    return " or ".join(words)


def _shown(value: Any) -> str:
    text = ""
    try:
        # Only as much as is shown, however long the value is.
        for piece in _encoder.iterencode(value[:_SHOWN] if isinstance(value, str) else value):
            text += piece
            if len(text) > _SHOWN:
                break
    except (TypeError, ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
