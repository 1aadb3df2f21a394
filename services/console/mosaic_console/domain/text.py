"""Text of users and workers, made harmless, and numbers, made short."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

#: What colours a terminal, moves its cursor or names its window.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
#: What is no letter: other control characters, and those that turn the direction of what follows them.
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_THOUSAND = 1000
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


def harmless(text: object) -> str:
    """Return *text* without what a terminal or a line of text would obey; the template escapes the rest."""
    return _INVISIBLE.sub("\ufffd", _ESCAPES.sub("", str(text)))


def number(value: float | None) -> str:
    """Return a number short enough for a table."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= _THOUSAND else f"{value:.4g}"


def span(length: timedelta | None) -> str:
    """Return *length* in its two largest units: 42 s, 7 min 5 s, 3 h 2 min, 12 d 1 h."""
    if length is None:
        return ""
    seconds = max(0, int(length.total_seconds()))
    if seconds < _MINUTE_S:
        return f"{seconds} s"
    if seconds < _HOUR_S:
        return f"{seconds // _MINUTE_S} min {seconds % _MINUTE_S} s"
    if seconds < _DAY_S:
        return f"{seconds // _HOUR_S} h {seconds % _HOUR_S // _MINUTE_S} min"
    return f"{seconds // _DAY_S} d {seconds % _DAY_S // _HOUR_S} h"


def moment(when: datetime | None) -> str:
    """Return a time as it stands in tables."""
    return "" if when is None else f"{when:%Y-%m-%d %H:%M:%S} UTC"
