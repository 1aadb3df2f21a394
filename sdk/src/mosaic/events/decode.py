"""From the bytes of one line to a JSON object, for everything that workers print as JSON.

Python's own encoder writes ``NaN``, ``Infinity`` and lone surrogates, and child processes write broken
UTF-8: none of it is JSON, all of it was meant. Such a line is repaired in one pass and read again.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from mosaic.events.tolerant import TOO_DEEP, is_writable

_TOKEN = re.compile(
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'  # a string, closed or not: an unclosed one must not be tried again
    r"|-?Infinity|NaN"
    r"|-?\d[\d.]*+(?:[eE][+-]?\d++)?+",
    re.DOTALL,
)
_IN_STRING = re.compile(
    r"\\u([dD][89abAB]..)\\u([dD][c-fC-F]..)"  # a surrogate pair
    r"|\\u([dD][89a-fA-F]..|0000)"
    r"|\\u"
    r"|(?:\\[^u])++"  # all that stand together, because a call for each is what takes time
    r"|[\x00-\x1f]",
    re.DOTALL,
)
_REPLACEMENT = "\\ufffd"
#: No shorter run of digits is beyond a double.
_SAFE_NUMBER_CHARS = 300
#: With no more brackets than this, nothing is nested too deep.
_SAFE_DEPTH = 200


def decode_object(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object that *line* is, or None when it is anything else.

    Never raises. The last of duplicate keys wins. What strict JSON cannot say arrives as text
    (``"NaN"``, ``"Infinity"``); what no text can hold (NUL, half a surrogate pair, broken UTF-8)
    arrives as U+FFFD, and a field nested beyond what encoders write arrives as ``"..."``; so every
    value found here can be stored and written again.
    """
    stripped = line.strip().removeprefix(b"\xef\xbb\xbf")
    if not (stripped.startswith(b"{") and stripped.endswith(b"}")):
        return None
    value = None if b"\\u0000" in stripped else _parsed(stripped)
    if value is None:
        value = _parsed(_repaired(stripped))
    if value is not None and stripped.count(b"[") + stripped.count(b"{") > _SAFE_DEPTH:
        _prune(value)
    return value


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        value = orjson.loads(line)
    except ValueError:
        return None
    return value if type(value) is dict else None


def _prune(record: dict[str, Any]) -> None:
    """Replace what no encoder would write again, in the record and in its payload."""
    for fields in (record.get("payload"), record):
        if isinstance(fields, dict):
            fields.update({name: TOO_DEEP for name, value in fields.items() if not is_writable(value)})


def _repaired(line: bytes) -> bytes:
    return _TOKEN.sub(_repaired_token, line.decode("utf-8", "replace")).encode()


def _repaired_token(match: re.Match[str]) -> str:
    token = match[0]
    if token.startswith('"'):
        return _IN_STRING.sub(_repaired_escape, token)
    if token.lstrip("-").startswith(("N", "I")):
        return f'"{token}"'
    if len(token) < _SAFE_NUMBER_CHARS and "e" not in token.lower():
        return token
    return _finite_or_named(token)


def _finite_or_named(token: str) -> str:
    try:
        size = abs(float(token))
    except ValueError:
        return token
    return token if size != float("inf") else f'"{"-" if token.startswith("-") else ""}Infinity"'


def _repaired_escape(match: re.Match[str]) -> str:
    if match[1] and _is_hex(match[1]) and _is_hex(match[2]):
        return match[0]
    if match[1]:
        return _REPLACEMENT * 2
    if match[3]:
        return _REPLACEMENT
    if match[0].startswith("\\"):
        return match[0]
    return _REPLACEMENT if match[0] == "\x00" else f"\\u{ord(match[0]):04x}"


def _is_hex(digits: str) -> bool:
    return all(digit in "0123456789abcdefABCDEF" for digit in digits)
