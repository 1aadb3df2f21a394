"""The spool of one attempt: what was read is on disk before anybody is told, and goes when it is confirmed.

A directory with three kinds of content:

- segments ``<first_seq>.segment``: frames, each behind a small header with its checksum. When every frame of a
  segment is confirmed it is deleted, or, if it is the last, emptied and named anew: its name keeps the numbering.
- ``open.journal``: the lines of the frame that is still being filled, as they were read.
- nothing else: a torn record at the end of either is the trace of a crash and is cut off.
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mosaic.events.frame import EncodedFrame, encode_counted
from mosaic.events.proof import sign

#: A frame is closed when its lines reach this size; sooner when the agent wants them seen.
FRAME_BYTES = 512 * 1024
SEGMENT_BYTES = 8 * 1024 * 1024
#: What is confirmed of the last segment is given back to the disk when it is more than this.
REUSE_BYTES = 1024 * 1024

_RECORD = struct.Struct(">IIQI")  # length, crc32, first_seq, lines
_JOURNAL = struct.Struct(">IIQId")  # length, crc32, first_seq, lines, seconds
_JOURNAL_NAME = "open.journal"
_SUFFIX = ".segment"


@dataclass
class _Segment:
    path: Path
    descriptor: int
    size: int = 0
    #: Frames not yet confirmed.
    waiting: int = 0


@dataclass(frozen=True)
class _Stored:
    segment: _Segment = field(repr=False)
    offset: int
    length: int
    first_seq: int
    count: int


class Spool:
    """Lines in, frames out. One thread appends; another takes and confirms.

    Opening a directory that is there already continues after its last whole line.
    """

    def __init__(
        self,
        directory: Path,
        run_id: str,
        attempt: int,
        *,
        event_key: str = "",
        frame_bytes: int = FRAME_BYTES,
        segment_bytes: int = SEGMENT_BYTES,
        on_growth: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.run_id = run_id
        self.attempt = attempt
        self._event_key = event_key
        #: The number the next line gets.
        self.next_seq = 0
        self._directory = directory
        self._frame_bytes = frame_bytes
        self._segment_bytes = segment_bytes
        self._on_growth = on_growth
        self._lock = threading.Lock()
        self._waiting: deque[_Stored] = deque()
        self._lent: dict[int, _Stored] = {}
        self._open_blocks: list[bytes] = []
        self._open_times: list[tuple[int, float]] = []
        self._open_bytes = 0
        self._journalled = False
        directory.mkdir(parents=True, exist_ok=True)
        self._segments = self._read_segments()
        if not self._segments:
            self._segments.append(self._new_segment(0))
        self._journal = os.open(directory / _JOURNAL_NAME, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._replay_journal()

    @property
    def last_seq(self) -> int:
        """The number of the last line, -1 when there is none."""
        return self.next_seq - 1

    @property
    def has_open_lines(self) -> bool:
        """Whether lines wait for their frame to be closed."""
        return bool(self._open_blocks)

    @property
    def open_bytes(self) -> int:
        """How large the lines are that wait for their frame to be closed."""
        return self._open_bytes

    @property
    def is_confirmed(self) -> bool:
        """Whether nothing is left that somebody would miss."""
        with self._lock:
            return not (self._waiting or self._lent or self._open_blocks)

    def append(self, block: bytes, seconds: float) -> bool:
        """Number and keep the lines of *block* (each with its newline); tell whether that closed a frame.

        Raises:
            OSError: the disk does not take them. They are numbered and kept in memory; `flush` tries again.

        """
        count = _lines_in(block)
        first_seq, self.next_seq = self.next_seq, self.next_seq + count
        self._open_blocks.append(block)
        self._open_bytes += len(block)
        self._open_times.append((count, seconds))
        if self._open_bytes >= self._frame_bytes:
            self.flush()
            return True
        header = _JOURNAL.pack(len(block), zlib.crc32(block), first_seq, count, seconds)
        _write_whole(self._journal, [header, block])
        self._journalled = True
        return False

    def flush(self) -> bool:
        """Close the frame that is being filled; tell whether there was one.

        Raises:
            OSError: the disk does not take it; nothing is lost, call again.

        """
        if not self._open_blocks:
            return False
        count = sum(lines for lines, _ in self._open_times)
        first_seq = self.next_seq - count
        body = encode_counted(self.run_id, self.attempt, first_seq, self._open_times, self._open_blocks)
        stored = self._store(body, first_seq, count)
        with self._lock:
            self._open_blocks, self._open_times, self._open_bytes = [], [], 0
            self._waiting.append(stored)
        if self._journalled:
            os.ftruncate(self._journal, 0)
            self._journalled = False
        self._on_growth(len(body))
        return True

    def take(self, *, frames: int, size_bytes: int) -> list[EncodedFrame]:
        """Lend the oldest frames that nobody holds, at least one if there is one.

        Each must come back through `confirm` or `give_back`.
        """
        lent: list[EncodedFrame] = []
        with self._lock:
            while self._waiting and len(lent) < frames and size_bytes > 0:
                stored = self._waiting.popleft()
                self._lent[stored.first_seq] = stored
                size_bytes -= stored.length
                body = os.pread(stored.segment.descriptor, stored.length, stored.offset)
                proof = sign(self._event_key, body)
                lent.append(EncodedFrame(self.run_id, self.attempt, stored.first_seq, stored.count, body, proof))
        return lent

    def confirm(self, first_seqs: Iterable[int]) -> None:
        """Forget the lent frames that begin at *first_seqs*: they are safe elsewhere."""
        with self._lock:
            confirmed = [self._lent.pop(first_seq) for first_seq in first_seqs]
            for stored in confirmed:
                stored.segment.waiting -= 1
            self._drop_confirmed_segments()
        self._on_growth(-sum(stored.length for stored in confirmed))

    def give_back(self, first_seqs: Iterable[int]) -> None:
        """Put the lent frames that begin at *first_seqs* back, to be taken again in order."""
        with self._lock:
            returned = [self._lent.pop(first_seq) for first_seq in first_seqs]
            self._waiting.extendleft(reversed(returned))

    def close(self) -> None:
        """Close the files; what is in them stays. Lines of an open frame stay in the journal."""
        with self._lock:
            for segment in self._segments:
                os.close(segment.descriptor)
            self._segments = []
            os.close(self._journal)

    def _store(self, body: bytes, first_seq: int, count: int) -> _Stored:
        segment = self._segments[-1]
        self._empty_if_confirmed(segment, first_seq, REUSE_BYTES)
        if segment.size >= self._segment_bytes:
            segment = self._new_segment(first_seq)
            with self._lock:
                self._segments.append(segment)
                self._drop_confirmed_segments()
        header = _RECORD.pack(len(body), zlib.crc32(body), first_seq, count)
        try:
            _write_whole(segment.descriptor, [header, body])
        except OSError:
            os.ftruncate(segment.descriptor, segment.size)
            # A full disk may be full of what nobody needs any more.
            self._empty_if_confirmed(segment, first_seq, 0)
            raise
        stored = _Stored(segment, segment.size + _RECORD.size, len(body), first_seq, count)
        segment.size += _RECORD.size + len(body)
        with self._lock:
            segment.waiting += 1
        return stored

    def _empty_if_confirmed(self, segment: _Segment, first_seq: int, least_bytes: int) -> None:
        """Give the last segment's place back to the disk; a full one could not take a new segment beside it.

        Only who appends may call this: nobody else adds to a segment that waits for nothing.
        """
        with self._lock:
            if segment.waiting or segment.size <= least_bytes:
                return
            # In this order: a crash in between leaves frames that are sent once more, which is harmless.
            segment.path = segment.path.rename(self._segment_path(first_seq))
            os.ftruncate(segment.descriptor, 0)
            segment.size = 0

    def _segment_path(self, first_seq: int) -> Path:
        return self._directory / f"{first_seq:020d}{_SUFFIX}"

    def _new_segment(self, first_seq: int) -> _Segment:
        path = self._segment_path(first_seq)
        return _Segment(path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))

    def _drop_confirmed_segments(self) -> None:
        while len(self._segments) > 1 and not self._segments[0].waiting:
            segment = self._segments.pop(0)
            os.close(segment.descriptor)
            segment.path.unlink(missing_ok=True)

    def _read_segments(self) -> list[_Segment]:
        segments = []
        for path in sorted(self._directory.glob("*" + _SUFFIX)):
            segment = _Segment(path, os.open(path, os.O_RDWR | os.O_APPEND))
            segments.append(segment)
            self.next_seq = max(self.next_seq, int(path.name.removesuffix(_SUFFIX)))
            self._read_segment(segment)
        return segments

    def _read_segment(self, segment: _Segment) -> None:
        content = os.pread(segment.descriptor, os.fstat(segment.descriptor).st_size, 0)
        for offset, body, (first_seq, count) in _records(content, _RECORD):
            self._waiting.append(_Stored(segment, offset, len(body), first_seq, count))
            self.next_seq = max(self.next_seq, first_seq + count)
            segment.size = offset + len(body)
            segment.waiting += 1
            self._on_growth(len(body))
        os.ftruncate(segment.descriptor, segment.size)

    def _replay_journal(self) -> None:
        content = os.pread(self._journal, os.fstat(self._journal).st_size, 0)
        for _, block, (first_seq, count, seconds) in _records(content, _JOURNAL):
            # A crash between writing a frame and emptying the journal leaves lines that are framed already.
            if first_seq == self.next_seq:
                self._open_blocks.append(block)
                self._open_times.append((count, seconds))
                self.next_seq += count
        self._journalled = True
        if not self.flush():
            os.ftruncate(self._journal, 0)
        self._journalled = False


def _lines_in(block: bytes) -> int:
    # Three times as fast as `bytes.count`, which looks at every byte by itself.
    return len(block) - len(block.replace(b"\n", b""))


def _records(content: bytes, layout: struct.Struct) -> Iterator[tuple[int, bytes, tuple[int, ...]]]:
    """Yield the whole records of *content* as ``(offset, body, facts)``; stop at the first torn one."""
    position = 0
    while position + layout.size <= len(content):
        length, checksum, *facts = layout.unpack_from(content, position)
        offset = position + layout.size
        body = content[offset : offset + length]
        if len(body) < length or zlib.crc32(body) != checksum:
            return
        yield offset, body, tuple(facts)
        position = offset + length


def _write_whole(descriptor: int, parts: list[bytes]) -> None:
    written, total = os.writev(descriptor, parts), sum(map(len, parts))
    if written < total:
        rest = memoryview(b"".join(parts))[written:]
        while rest:
            rest = rest[os.write(descriptor, rest) :]
