"""What cannot even be sent: every fault of a submission that its own values show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any

from mosaic.errors import BadInput
from mosaic.model.resources import Resources
from mosaic.model.run import Priority, RunSpec

_INT32 = 2**31 - 1
_INT64 = 2**63 - 1
#: Longer than any training, and short enough for every clock that has to count it.
_LONGEST_S = 10 * 365 * 86_400
_YEARS = (1970, 9000)
#: Values of a config, counted where they stand: YAML can say a billion in ten lines.
_MOST_VALUES = 100_000
_DEEPEST = 64

_TEXTS = ("worker", "name", "team", "user", "continues")
_PAIRS = ("labels", "secrets", "environment")
_SPANS = ("max_wall", "hang_limit")
_NEEDS_WHOLE = {"memory_mb": _INT64, "gpus": _INT32, "gpu_memory_mb": _INT64}


def checked(spec: RunSpec, *, seeds: Any = (), idempotency_key: Any = "") -> RunSpec:
    """Return *spec* as it can be sent: times that are seconds are understood.

    Raises:
        BadInput: lists everything that is of a wrong type or out of range; the platform judges the rest.
    """
    faults = faults_of(spec, seeds=seeds, idempotency_key=idempotency_key)
    if faults:
        raise BadInput("submission", faults)
    return replace(
        spec,
        max_wall=_span(spec.max_wall),
        hang_limit=_span(spec.hang_limit),
    )


def faults_of(spec: RunSpec, *, seeds: Any = (), idempotency_key: Any = "") -> list[str]:
    """Return everything in *spec* and beside it that cannot be sent."""
    return [fault for fault in _faults(spec, seeds, idempotency_key) if fault]


def _faults(spec: RunSpec, seeds: Any, idempotency_key: Any) -> Iterator[str]:
    for name in _TEXTS:
        yield _text(name, getattr(spec, name))
    yield _text("idempotency_key", idempotency_key)
    if not (spec.worker or spec.continues):
        yield "'worker' is missing"
    urgency: Any = spec.priority
    if not isinstance(urgency, Priority):
        yield _text("priority", urgency)
    for name in _PAIRS:
        yield from _pairs(name, getattr(spec, name))
    if spec.max_retries is not None:
        yield _whole("max_retries", spec.max_retries, 0, _INT32)
    for name in _SPANS:
        yield _span_fault(name, getattr(spec, name))
    yield from _seeds(spec.seed, seeds)
    yield from _resources(spec.resources)
    yield from _moment(spec.not_before)
    yield from _config(spec.config)


def _span(told: Any) -> timedelta | None:
    return told if told is None or isinstance(told, timedelta) else timedelta(seconds=told)


def _span_fault(name: str, told: Any) -> str:
    if told is None:
        return ""
    seconds = told.total_seconds() if isinstance(told, timedelta) else told
    return _number(name, seconds, _LONGEST_S)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        return f"{name} must be text, not {_shown(value)}; write it in quotes"
    # A lone surrogate is text for Python and for nobody else.
    return "" if _is_unicode(value) else f"{name} holds characters that are no text"


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _pairs(name: str, pairs: Any) -> Iterator[str]:
    if not isinstance(pairs, Mapping):
        yield f"{name} must hold keys and values, not {_shown(pairs)}"
        return
    for key, value in pairs.items():
        yield _text(f"key {_shown(key)} of {name}", key) or _text(f"{name}.{key}", value)


def _whole(name: str, value: Any, low: int, high: int) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        return f"{name} must be a whole number, not {_shown(value)}"
    return "" if low <= value <= high else f"{name} must lie between {low} and {high}, not {_shown(value)}"


def _number(name: str, value: Any, high: float) -> str:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return f"{name} must be a number, not {_shown(value)}"
    return "" if 0 <= value <= high else f"{name} must lie between 0 and {high:g}, not {_shown(value)}"


def _seeds(seed: Any, seeds: Any) -> Iterator[str]:
    if seed is not None:
        yield _whole("seed", seed, -_INT64, _INT64)
    if not isinstance(seeds, Sequence) or isinstance(seeds, (str, bytes)):
        yield f"seeds must be a list, not {_shown(seeds)}"
        return
    if seed is not None and seeds:
        yield "ask for a seed or for seeds, not for both"
    yield from (_whole("a seed", each, -_INT64, _INT64) for each in seeds)


def _resources(needs: Any) -> Iterator[str]:
    if not isinstance(needs, Resources):
        yield f"resources must be Resources, not {_shown(needs)}"
        return
    for field in fields(Resources):
        value = getattr(needs, field.name)
        if field.name in _NEEDS_WHOLE:
            yield _whole(field.name, value, 0, _NEEDS_WHOLE[field.name])
        else:
            yield _number(field.name, value, _INT32)


def _moment(moment: Any) -> Iterator[str]:
    if moment is None:
        return
    if not isinstance(moment, datetime):
        yield f"not_before must be a time such as 2030-01-31T12:00:00Z, not {_shown(moment)}"
    elif moment.utcoffset() is None:
        yield f"not_before has no time zone: {moment.isoformat()}; add Z for UTC, or +02:00"
    elif not _YEARS[0] <= moment.year <= _YEARS[1]:
        yield f"not_before must lie between the years {_YEARS[0]} and {_YEARS[1]}, not in {moment.year}"


def _config(config: Any) -> Iterator[str]:
    """Walk through what JSON has to say; stop where it has no end."""
    if not isinstance(config, Mapping):
        yield f"config must hold keys and values, not {_shown(config)}"
        return
    open_values: list[tuple[str, Any, int]] = [("config", config, 0)]
    seen = 0
    while open_values:
        path, value, depth = open_values.pop()
        seen += 1
        if seen > _MOST_VALUES or depth > _DEEPEST:
            yield f"config holds more than {_MOST_VALUES} values, or they stand more than {_DEEPEST} deep"
            return
        if isinstance(value, Mapping):
            yield from (_text(f"key {_shown(key)} of {path}", key) for key in value)
            open_values += ((f"{path}.{_shown(key)}", part, depth + 1) for key, part in value.items())
        elif isinstance(value, (list, tuple)):
            open_values += ((f"{path}[{index}]", part, depth + 1) for index, part in enumerate(value))
        else:
            yield _scalar(path, value)


def _scalar(path: str, value: Any) -> str:
    if isinstance(value, str):
        return _text(path, value)
    if isinstance(value, float) and not math.isfinite(value):
        return f"{path} must be a finite number, not {value}"
    if isinstance(value, int) and abs(value) > _INT64:
        return f"{path} is too large a number"
    if value is None or isinstance(value, (int, float)):
        return ""
    return f"{path} is a {type(value).__name__}, which JSON does not know; write it as text or as a number"


def _shown(value: Any) -> str:
    """Return *value* short enough for a sentence."""
    if isinstance(value, str):
        text = value if value.isidentifier() else ascii(value)
    elif isinstance(value, int) and value.bit_length() > 128:
        return "a number of many digits"
    elif isinstance(value, (int, float)):
        text = str(value)
    else:
        return f"a {type(value).__name__}"
    return text if len(text) <= 40 else text[:39] + "…"
