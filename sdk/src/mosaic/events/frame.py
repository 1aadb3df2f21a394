"""Batches of stamped lines, packed once by the agent and kept as they are to the end.

A frame is the unit of the spool, of the broker and of the store: consecutive lines of one
stream ``(run_id, attempt)``, compressed together. Line *i* has the sequence number
``first_seq + i``. Its bytes are::

    b"MF1"  codec (1 byte)  body

and the body, once unpacked by the codec, is one line of JSON (the header) followed by the
lines themselves, joined by newlines and otherwise untouched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Protocol

from mosaic.events import packing
from mosaic.events.packing import STORED, ZSTD, FrameUnreadable, pack, unpack
from mosaic.ids import is_id

_MAGIC = b"MF1"


@dataclass(frozen=True, slots=True)
class Frame:
    """Consecutive lines of one attempt."""

    run_id: str
    attempt: int
    first_seq: int
    #: Run-length stamps ``(count, unix_seconds)``: one per block read, their counts add up to the lines.
    times: tuple[tuple[int, float], ...]
    lines: list[bytes]

    @property
    def last_seq(self) -> int:
        """The sequence number of the last line."""
        return self.first_seq + len(self.lines) - 1

    def line_times(self) -> Iterator[float]:
        """Yield the stamp of every line, in order."""
        for count, seconds in self.times:
            yield from repeat(seconds, count)


@dataclass(frozen=True, slots=True)
class EncodedFrame:
    """A packed frame with what a router needs to know about it."""

    run_id: str
    attempt: int
    first_seq: int
    count: int
    body: bytes
    #: By the key of the attempt, see `mosaic.events.proof`; empty where it has none.
    proof: str = ""


class FrameSink(Protocol):
    """Where an agent hands its frames. Sending one twice is harmless: the store knows its lines by seq."""

    def send(self, frames: Sequence[EncodedFrame]) -> Sequence[int]:
        """Send *frames* and return the indexes of those that are durable now.

        What is not returned was refused or not confirmed in time; send it again later.

        Raises:
            Unavailable: nothing could be sent at all; try again after a pause.

        """


def encode(frame: Frame) -> bytes:
    """Pack *frame*.

    Raises:
        ValueError: it has no lines, a line has a newline in it, or the stamps do not cover the lines.

    """
    block = b"\n".join(frame.lines)
    if block.count(b"\n") != len(frame.lines) - 1:
        raise ValueError("a frame has at least one line, and no line has a newline in it")
    return encode_block(frame.run_id, frame.attempt, frame.first_seq, frame.times, block)


def encode_block(
    run_id: str,
    attempt: int,
    first_seq: int,
    times: Sequence[tuple[int, float]],
    block: bytes,
    *,
    compressed: bool = True,
) -> bytes:
    """Pack lines that are already joined by newlines, without one after the last.

    Raises:
        ValueError: the stamps do not cover the lines.

    """
    stamped, lines = sum(count for count, _ in times), block.count(b"\n") + 1
    if stamped != lines:
        raise ValueError(f"{stamped} lines are stamped, but {lines} are there")
    header = _header(run_id, attempt, first_seq, times)
    if not compressed:
        return b"".join((_MAGIC, STORED, header, block))
    return b"".join((_MAGIC, ZSTD, pack((header, block))))


def encode_counted(
    run_id: str, attempt: int, first_seq: int, times: Sequence[tuple[int, float]], blocks: Sequence[bytes]
) -> bytes:
    """Pack *blocks* of whole lines, each ended by a newline, whose number *times* is known to say."""
    *others, last = blocks
    header = _header(run_id, attempt, first_seq, times)
    return b"".join((_MAGIC, ZSTD, pack((header, *others, memoryview(last)[:-1]))))


def decode(body: bytes) -> Frame:
    """Unpack what `encode` packed.

    Raises:
        FrameUnreadable: these bytes are not a frame, whatever they are.

    """
    if body[:3] != _MAGIC:
        raise FrameUnreadable(f"it starts with {body[:3]!r}, not {_MAGIC!r}")
    lines = unpack(body[3:4], body[4:]).split(b"\n")
    run_id, attempt, first_seq, times = _read_header(lines.pop(0))
    stamped = sum(count for count, _ in times)
    if stamped != len(lines):
        raise FrameUnreadable(f"{stamped} lines are stamped, but {len(lines)} are there")
    return Frame(run_id, attempt, first_seq, times, lines)


def unpacked_size(body: bytes) -> int:
    """Return how many bytes a frame has at the most once it is unpacked."""
    return packing.unpacked_size(body[3:4], body[4:])


def _header(run_id: str, attempt: int, first_seq: int, times: Sequence[tuple[int, float]]) -> bytes:
    header = {"run_id": run_id, "attempt": attempt, "first_seq": first_seq, "times": list(times)}
    return json.dumps(header, separators=(",", ":")).encode() + b"\n"


def _read_header(line: bytes) -> tuple[str, int, int, tuple[tuple[int, float], ...]]:
    try:
        header = json.loads(line)
        run_id, attempt, first_seq = header["run_id"], header["attempt"], header["first_seq"]
        times = tuple((count, float(seconds)) for count, seconds in header["times"])
        fits = (
            is_id(run_id)
            and _is_count(attempt, least=1)
            and _is_count(first_seq, least=0)
            and all(_is_count(count, least=0) for count, _ in times)
        )
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise FrameUnreadable(f"its header cannot be read ({type(error).__name__}: {error})") from error
    if not fits:
        raise FrameUnreadable("its header names no run, attempt or position that could exist")
    return run_id, attempt, first_seq, times


def _is_count(value: object, *, least: int) -> bool:
    return type(value) is int and least <= value < 2**62
