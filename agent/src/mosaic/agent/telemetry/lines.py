"""What a worker prints, read in blocks: pure, and cheap because almost every line passes unread.

A block is whole lines, each ended by a newline. Nothing here splits a block into lines unless
something in it asks for that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mosaic.events import AGENT_KINDS, LogLine, Violation, read_line
from mosaic.events.kinds import KIND_KEYS, LIFECYCLE_KINDS, THINNED_WORDS, kind_of, lifecycle_words

#: Longer lines are clipped: the drain never stops, and no line needs unbounded memory.
LINE_LIMIT_BYTES = 1024 * 1024

#: What stands in a line where a secret stood.
MASKED = b"***"

_REMARK_BYTES = 64

#: Most lines are shorter, so the last newline is found in so many bytes.
_LOOK_BACK_BYTES = 4096

#: Shorter secrets are not masked: they would hide ordinary text and are found by trying anyway.
_SHORTEST_SECRET = 4


def _quoted(words: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(f'"{word}"'.encode() for word in sorted(words))


_LIFECYCLE_WORDS = _quoted(lifecycle_words())
_LIFECYCLE_PATTERN = re.compile(b"|".join(map(re.escape, _LIFECYCLE_WORDS)))
_AGENT_WORDS = _quoted(AGENT_KINDS)
#: The last bytes of every word to look for. They are few, since most words end in ``ed"``, as hardly any metric line
#: does: one short search then spares a block all others. For so short a text a pattern is faster than ``in``.
_ENDINGS = tuple(re.compile(re.escape(end)) for end in {word[-3:] for word in _LIFECYCLE_WORDS + _AGENT_WORDS})
_THINNED_PATTERN = re.compile(
    rf'"(?:{"|".join(KIND_KEYS)})"\s*:\s*"(?:{"|".join(map(re.escape, THINNED_WORDS))})"'.encode(), re.IGNORECASE
)


@dataclass(frozen=True)
class LifecycleLine:
    """A line that matters to the agent itself and not only to the reader of the stream."""

    kind: str
    payload: Mapping[str, Any]


def may_concern_agent(block: bytes) -> bool:
    """Tell whether *block* may hold lifecycle lines or forged events; hardly any block of metrics does."""
    return any(ending.search(block) for ending in _ENDINGS)


def lifecycle_lines(block: bytes) -> list[LifecycleLine]:
    """Return the lines of *block* that the agent itself looks at, in order. Never raises."""
    # Plain searches are ten times faster than one pattern for all.
    if not any(word in block for word in _LIFECYCLE_WORDS):
        return []
    lines = (line for line in block.split(b"\n") if _LIFECYCLE_PATTERN.search(line))
    return [found for found in map(_read_lifecycle_line, lines) if found is not None]


def reject_forged_events(block: bytes, violation: Callable[[str, bytes], bytes]) -> bytes:
    """Return *block* with every line that speaks as the agent replaced by what *violation* makes of kind and line."""
    if not any(word in block for word in _AGENT_WORDS):
        return block
    lines = block[:-1].split(b"\n")
    return b"".join(violation(kind, line) if (kind := _agent_kind(line)) else line + b"\n" for line in lines)


def _agent_kind(line: bytes) -> str:
    """Return as which event of the agent a reader would take *line*, nothing if as none."""
    if not any(word in line for word in _AGENT_WORDS):
        return ""
    reading = read_line(line)
    kind = "" if isinstance(reading, LogLine | Violation) else reading.event
    return kind if kind in AGENT_KINDS else ""


def quiet_s(data: bytes) -> float | None:
    """Return how long the runtime has said nothing, if *data* is heartbeats that tell and nothing else."""
    if b'"quiet_s"' not in data:
        return None
    told = [_quiet_s_of(line) for line in data.splitlines()]
    return None if None in told else told[-1]


def _quiet_s_of(line: bytes) -> float | None:
    payload = _read_heartbeat(line).get("quiet_s")
    return float(payload) if isinstance(payload, int | float) else None


def _read_heartbeat(line: bytes) -> Mapping[str, Any]:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    is_heartbeat = isinstance(event, dict) and _kind_of(event) == "heartbeat"
    return _payload_of(event) if is_heartbeat else {}


def may_be_thinned(line: bytes) -> bool:
    """Tell whether *line* is an event of a kind of which one of many is enough."""
    return _THINNED_PATTERN.search(line) is not None


def _read_lifecycle_line(line: bytes) -> LifecycleLine | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    kind, payload = LIFECYCLE_KINDS.get(_kind_of(event)), _payload_of(event)
    if kind is None or (kind.lifecycle_key and kind.lifecycle_key not in payload):
        return None
    return LifecycleLine(kind.name, payload)


def _payload_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    payload = event.get("payload")
    return payload if isinstance(payload, dict) else event


def _kind_of(event: Mapping[str, Any]) -> str:
    names = (event.get(key) for key in KIND_KEYS)
    return next((kind_of(name) for name in names if isinstance(name, str)), "")


class Mask:
    """Hides secrets in blocks of whole lines, as they are and as JSON would write them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        parts = {part for secret in secrets for part in _maskable_parts(secret)}
        # Longest first: a secret that contains another one is hidden whole.
        self._parts = sorted(parts, key=len, reverse=True)
        #: How many bytes of a secret the end of a cut line may hold at the most.
        self.longest = max(map(len, self._parts), default=0)

    def hide(self, block: bytes) -> bytes:
        """Return *block* with every secret replaced."""
        for part in self._parts:
            if part in block:
                block = block.replace(part, MASKED)
        return block


def _maskable_parts(secret: str) -> set[bytes]:
    # A block is cut at newlines, so a secret of several lines is hidden line by line.
    lines = [line for line in secret.splitlines() if len(line) >= _SHORTEST_SECRET]
    written = {json.dumps(text)[1:-1] for text in (secret, *lines) if len(text) >= _SHORTEST_SECRET}
    return {text.encode("utf-8", "surrogateescape") for text in (*lines, *written)}


def _end_of_lines(view: memoryview) -> int:
    """Return where the last whole line of *view* ends, 0 when there is none."""
    # A view cannot be searched, and copying all of it costs more than looking at its end.
    reach = _LOOK_BACK_BYTES
    while reach < len(view):
        found = bytes(view[-reach:]).rfind(b"\n")
        if found >= 0:
            return len(view) - reach + found + 1
        reach *= 8
    return bytes(view).rfind(b"\n") + 1


class LineCutter:
    """Cuts a stream of bytes into blocks of whole lines, masked, with overlong lines clipped."""

    def __init__(self, mask: Mask, *, limit: int = LINE_LIMIT_BYTES) -> None:
        self._mask = mask
        self._limit = limit
        self._carry: list[bytes] = []
        self._carried = 0
        #: Bytes of the current line already thrown away; 0 while it is kept whole.
        self._dropped = 0

    def feed(self, data: bytes | memoryview) -> bytes:
        """Take what was read; return the lines it completed (each with its newline), or nothing.

        Nothing of *data* is kept but copies: its buffer may be used again.
        """
        view = memoryview(data)
        cut = _end_of_lines(view)
        if not cut:
            self._keep(bytes(view))
            return b""
        block = self._completed(view[:cut])
        self._carry, self._carried = [], 0
        if cut < len(view):
            self._keep(bytes(view[cut:]))
        return self._clip_inside(block) if len(block) > self._limit else block

    def finish(self) -> bytes:
        """Return the last line when the stream ended without a newline, or nothing."""
        if self._dropped:
            block = self._clipped() + b"\n"
        else:
            rest = b"".join(self._carry)
            block = self._mask.hide(rest) + b"\n" if rest else b""
        self._carry, self._carried = [], 0
        return block

    def _completed(self, head: memoryview) -> bytes:
        if not self._dropped:
            return self._mask.hide(b"".join([*self._carry, head]))
        rest, _, lines = bytes(head).partition(b"\n")
        self._dropped += len(rest)
        return self._clipped() + b"\n" + self._mask.hide(lines)

    def _keep(self, data: bytes) -> None:
        if self._dropped:
            self._dropped += len(data)
            return
        self._carry.append(data)
        self._carried += len(data)
        if self._carried > self._limit:
            line = b"".join(self._carry)
            self._carry, self._carried = [line[: self._limit]], self._limit
            self._dropped = len(line) - self._limit

    def _clipped(self) -> bytes:
        line, dropped = b"".join(self._carry), self._dropped
        self._dropped = 0
        return self._clip(line, dropped)

    def _clip(self, line: bytes, dropped: int) -> bytes:
        # The cut may have gone through a secret: what could be the beginning of one goes too.
        kept = self._mask.hide(line)[: -self._mask.longest or None]
        return kept + b" [clipped: %d more bytes]" % (dropped + len(line) - len(kept))

    def _clip_inside(self, block: bytes) -> bytes:
        # A line that is clipped already is a little longer than the limit, by its own remark.
        most = self._limit + _REMARK_BYTES
        return b"\n".join(
            self._clip(line[: self._limit], len(line) - self._limit) if len(line) > most else line
            for line in block.split(b"\n")
        )


@dataclass(frozen=True)
class Thinned:
    """What is left of a block, and how many steps are not."""

    block: bytes
    dropped: int


class StepThinner:
    """Keeps one step event of many and everything else."""

    def __init__(self, keep_every: int) -> None:
        self.keep_every = keep_every
        self._seen = 0

    def thin(self, block: bytes) -> Thinned:
        """Return *block* without the steps that are too many."""
        lines = block[:-1].split(b"\n")
        kept = [line for line in lines if not may_be_thinned(line) or self._has_its_turn()]
        if len(kept) == len(lines):
            return Thinned(block, 0)
        return Thinned(b"".join(line + b"\n" for line in kept), len(lines) - len(kept))

    def _has_its_turn(self) -> bool:
        self._seen += 1
        return self._seen % self.keep_every == 1 % self.keep_every
