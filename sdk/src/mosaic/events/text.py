"""What worker output is when it is not an event: log text, sometimes with structure in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from mosaic.events.tolerant import as_level, as_number_or_none, as_position

#: More of a line than this is not shown; the stream keeps the line itself.
TEXT_BYTES = 64 * 1024

_CODED = re.compile(r"(?P<code>LOG\d+)\s+\|\s+(?P<message>.+?)\s+\|\s+extra=(?P<extra>.*)\Z", re.DOTALL)
_TAGGED = re.compile(r"\[(?P<tag>PROGRESS|CHECKPOINT|COMPLETE|ERROR)\] ")
_PAIR = re.compile(r"(\w{1,64})=([^\s|]+)")
_PROGRESS_METRICS = ("reward_mean", "episodes")
_MESSAGE_NAMES = ("message", "msg", "text", "event")


@dataclass(frozen=True, slots=True)
class LogLine:
    """Text for people, as printed."""

    text: str
    level: str = "info"
    #: What the line says in a form we could parse.
    fields: Mapping[str, Any] = field(default_factory=dict)
    #: How much of the line is not in ``text``.
    clipped_bytes: int = 0
    #: Values worth a curve that the text mentions: ``(name, value, step)``.
    points: tuple[tuple[str, float, float], ...] = ()


def read_text(line: bytes) -> LogLine:
    """Return *line* as log text; total, like everything here."""
    shown = line[:TEXT_BYTES].strip(b"\r\n")
    clipped_bytes = max(0, len(line) - TEXT_BYTES)
    text = shown.decode("utf-8", "replace").replace("\x00", "\ufffd")
    if text.startswith("LOG"):
        return _coded(text, clipped_bytes)
    if text.startswith("["):
        return _tagged(text, clipped_bytes)
    return LogLine(text, clipped_bytes=clipped_bytes)


def read_object(record: Mapping[str, Any], line: bytes) -> LogLine:
    """Return a JSON object that is no event as log text: its message if it has one, else all of it."""
    raw = read_text(line)
    messages = (record[name] for name in _MESSAGE_NAMES if isinstance(record.get(name), str))
    return LogLine(next(messages, raw.text)[:TEXT_BYTES], as_level(record.get("level")), record, raw.clipped_bytes)


def _coded(text: str, clipped_bytes: int) -> LogLine:
    match = _CODED.match(text)
    if match is None:
        return LogLine(text, clipped_bytes=clipped_bytes)
    fields = {"log_code": match["code"], **_object_in(match["extra"])}
    return LogLine(match["message"], as_level(fields.get("level")), fields, clipped_bytes)


def _tagged(text: str, clipped_bytes: int) -> LogLine:
    match = _TAGGED.match(text)
    if match is None:
        return LogLine(text, clipped_bytes=clipped_bytes)
    fields = dict(_PAIR.findall(text))
    points = _progress_points(fields) if match["tag"] == "PROGRESS" else ()
    return LogLine(text, "error" if match["tag"] == "ERROR" else "info", fields, clipped_bytes, points)


def _progress_points(fields: Mapping[str, str]) -> tuple[tuple[str, float, float], ...]:
    step = as_position(fields.get("timesteps", "").replace(",", ""))
    if step is None:
        return ()
    values = ((name, as_number_or_none(fields.get(name))) for name in _PROGRESS_METRICS)
    return tuple((name, value, step) for name, value in values if value is not None)


def _object_in(text: str) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
