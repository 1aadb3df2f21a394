"""How workers spell the same fact, and what each spelling means."""

from __future__ import annotations

import math
import re
from datetime import datetime, timezone
from typing import Any

import orjson

Fields = dict[str, Any]

LABEL_CHARS = 256
#: Stands for a value that is nested too deep to be written again.
TOO_DEEP = "..."
_NUMBER_CHARS = 64
_ISO_CHARS = 40
_EPISODE_ID = re.compile(r"(?:.*[^a-z0-9])?(?:ep(?:isode)?[_-]?)?([0-9]{1,18})", re.IGNORECASE | re.DOTALL)
_INT64 = 2**63
_LEVELS = {"warn": "warning", "fatal": "critical", "err": "error", "10": "debug", "20": "info"}
_LEVELS |= {"30": "warning", "40": "error", "50": "critical", "trace": "debug", "notice": "info"}
_LEVELS |= {level: level for level in ("debug", "info", "warning", "error", "critical")}


def as_number(value: Any) -> float | None:
    """Read a float; null, ``"NaN"`` and ``"inf"`` are numbers here, an array of one is its element."""
    if value is None:
        return math.nan
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str) and len(value) > _NUMBER_CHARS:
        return None
    return _number_in(value) if isinstance(value, (str, bool, int, float)) else None


def as_number_or_none(value: Any) -> float | None:
    """Read a float where a missing or unreadable one does not matter."""
    return None if value is None else as_number(value)


def as_position(value: Any) -> float | None:
    """Read a finite float: a place on an axis."""
    number = as_number_or_none(value)
    return number if number is not None and math.isfinite(number) else None


def as_count(value: Any) -> int | None:
    """Read an integer that fits 64 bits; ``3.0`` and ``"3"`` are integers, True is not."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if -_INT64 <= value < _INT64 else None
    number = None if isinstance(value, bool) else as_position(value)
    if number is None or not number.is_integer() or not -_INT64 <= number < _INT64:
        return None
    return int(number)


def as_flag(value: Any) -> bool | None:
    """Read a truth value; 0, 1 and their words in text count."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str):
        return {"true": True, "false": False, "1": True, "0": False}.get(value.strip().lower())
    return bool(value) if isinstance(value, (bool, int, float)) and value in (0, 1) else None


def as_text(value: Any) -> str:
    """Return text as it is and anything else as compact JSON."""
    if isinstance(value, str):
        return value
    return orjson.dumps(value).decode() if is_writable(value) else TOO_DEEP


def is_writable(value: Any) -> bool:
    """Tell whether *value* can be written as JSON again inside an event: encoders have a depth limit."""
    try:
        orjson.dumps([[[value]]])
    except TypeError:
        return False
    return True


def as_text_or_none(value: Any) -> str | None:
    """Return None for null, else the text of *value*."""
    return None if value is None else as_text(value)


def as_label(value: Any) -> str | None:
    """Read a name: printable, not empty, at most 256 characters."""
    return value if isinstance(value, str) and is_label(value) else None


def is_label(text: str) -> bool:
    """Tell whether *text* can name a series or an agent."""
    return 0 < len(text) <= LABEL_CHARS and text.isprintable()


def as_agent(value: Any) -> str | None:
    """Read who acted, in whatever type the environment names its agents; nothing is None."""
    text = "" if value is None else as_text(value)[:LABEL_CHARS]
    return "".join(char if char.isprintable() else "\ufffd" for char in text) or None


def as_level(value: Any) -> str:
    """Read the level of a log line, in the words of `logging` or its numbers; unknown is ``info``."""
    return _LEVELS.get(str(value).strip().lower(), "info") if isinstance(value, (str, int)) else "info"


def as_time(value: Any) -> datetime | None:
    """Read seconds since 1970 or ISO 8601; without an offset it is UTC."""
    if isinstance(value, str):
        return _time_in(value) if len(value) <= _ISO_CHARS else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return datetime.fromtimestamp(value, timezone.utc)
    except (ValueError, OverflowError, OSError):
        return None


def as_time_from_ns(value: Any) -> datetime | None:
    """Read whole nanoseconds since 1970."""
    count = as_count(value)
    return None if count is None else as_time(count / 1e9)


def take_time(record: Fields) -> datetime | None:
    """Remove and return the time of a line: ``timestamp``, ``ts_unix_ns`` or ``ts``."""
    readers = {"timestamp": as_time, "ts_unix_ns": as_time_from_ns, "ts": as_time}
    for name, read in readers.items():
        time = read(record.get(name))
        if time is not None:
            del record[name]
            return time
    return None


def take_episode_index(fields: Fields) -> int | None:
    """Remove and return the number of the episode, wherever the worker keeps it."""
    for name in ("episode_index", "episode", "episode_number"):
        if name == "episode":
            nested = _nested_episode_index(fields)
            if nested is not None:
                return nested
        index = as_count(fields.get(name))
        if index is not None:
            del fields[name]
            return index
    return episode_index_in(fields.get("episode_id"))


def episode_index_in(episode_id: Any) -> int | None:
    """Return the number at the end of an episode id such as ``run-ep000012``."""
    if not isinstance(episode_id, str) or len(episode_id) > LABEL_CHARS:
        return as_count(episode_id)
    match = _EPISODE_ID.fullmatch(episode_id)
    return int(match[1]) if match else None


def _nested_episode_index(fields: Fields) -> int | None:
    for name in ("metadata", "metadata_json"):
        metadata = fields.get(name)
        if isinstance(metadata, str):
            metadata = _json_in(metadata)
        index = as_count(metadata.get("episode_index")) if isinstance(metadata, dict) else None
        if index is not None:
            return index
    return None


def _json_in(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        return None


def _number_in(value: str | float) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, int(value))
    except ValueError:
        return None


def _time_in(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text.strip().removesuffix("Z"))
        return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        number = _number_in(text)
        return None if number is None else as_time(number)


def shown(value: Any) -> str:
    """Return the beginning of *value* for a message."""
    text = as_text(value) if not isinstance(value, str) else repr(value)
    return text if len(text) <= _NUMBER_CHARS else f"{text[:_NUMBER_CHARS]}..."
