"""Values that arrive from anywhere, and what of them a database can keep."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any


def unstorable(value: Any, where: str) -> Iterator[str]:
    """Yield what of *value*, a JSON value that stands *where*, PostgreSQL would refuse."""
    if isinstance(value, str):
        if "\0" in value:
            yield f"{where} holds a NUL character; leave it out"
        if any("\ud800" <= character <= "\udfff" for character in value):
            yield f"{where} holds half of a surrogate pair; leave it out"
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{where} is {value}, which JSON has no word for"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            place = f"{where}.{ascii(key)[1:-1]}"
            yield from unstorable(key, f"the name {place}")
            yield from unstorable(item, place)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from unstorable(item, f"{where}[{index}]")


def sanitize(text: str) -> str:
    """Return *text* with a mark where PostgreSQL would refuse a character."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
