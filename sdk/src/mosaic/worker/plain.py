"""Turning whatever a training loop holds into strict JSON, without ever failing.

A float that JSON cannot say is written as the string ``"NaN"``, ``"Infinity"`` or
``"-Infinity"``, which ``float()`` reads back. Arrays and tensors become lists, their scalars
numbers; paths, dates and bytes become text; sets become sorted lists; anything else its ``str``.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from enum import Enum
from os import PathLike, fspath
from typing import Any

#: Deeper than this a value is cut off; only a cycle gets there.
MAX_DEPTH = 64

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def to_json(value: Any) -> str:
    """Return *value* as one line of strict ASCII JSON with sorted keys; never raises."""
    try:
        text = _encode(value)
    except Exception:
        # Not a type JSON knows, NaN, a cycle, or a mapping of the caller's that fails when it is read.
        return _encode(plain(value))
    # A lone surrogate passes Python's encoder and is refused by every strict reader.
    return _encode(plain(value)) if "\\ud" in text else text


def plain(value: Any, depth: int = 0) -> Any:
    """Return *value* as nothing but dicts with text keys, lists, text, finite numbers, bools and None.

    Never raises: what fails when it is read becomes a word that names its type.
    """
    if value is None or value is True or value is False:
        return value
    if depth > MAX_DEPTH:
        return "..."
    try:
        return _plain(value, depth)
    except Exception:
        return f"<unprintable {type(value).__name__}>"


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, Enum):
        return plain(value.value, depth + 1)
    if isinstance(value, str):
        return str.encode(value, "utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, int):
        return _plain_int(value)
    if isinstance(value, float):
        return number_or_name(value)
    return _plain_container(value, depth)


def number_or_name(value: float) -> float | str:
    """Return a finite float as it is, and any other by the name JSON readers agree on."""
    if math.isfinite(value):
        return float(value)
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _plain_int(value: int) -> int | str:
    # Python refuses to print an int of more than 4300 digits in base ten.
    return int(value) if value.bit_length() < 8192 else hex(value)


def _plain_container(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {_key(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item, depth + 1) for item in value), key=lambda item: (str(type(item)), str(item)))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "backslashreplace")
    return _plain_object(value, depth)


def _plain_object(value: Any, depth: int) -> Any:
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, PathLike):
        return plain(fspath(value), depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), depth + 1) for field in dataclasses.fields(value)}
    return _plain_foreign(value, depth)


def _plain_foreign(value: Any, depth: int) -> Any:
    """Unwrap arrays and tensors by the two methods that every array library gives them."""
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    for unwrap in ("tolist", "item"):
        method = getattr(value, unwrap, None)
        if callable(method):
            return plain(method(), depth + 1)
    if isinstance(value, complex):
        return str(value)
    return plain(str(value), depth + 1)


def _key(key: Any) -> str:
    if isinstance(key, str):
        text = plain(key)
    elif key is None or isinstance(key, bool):
        text = json.dumps(key)
    else:
        text = plain(key)
    return text if isinstance(text, str) else str(text)
