"""Whole lines to a stream that others write to as well.

There is one `LineWriter` per stream in a process, so any number of emitters on one stdout keep
their order and never tear each other's lines. Every write holds whole lines, and on a pipe stays
within what the system writes atomically, so lines of several processes do not mix either.

A line may be put in the buffer (`put`) or written at once (`write`). Buffered lines leave with the
first line put 200 ms after the last write, when a block is full, before any line that is written at
once, a second later at most, and when the interpreter exits; a fatal signal and ``os._exit`` lose
them. Only a real pipe or file is buffered: what a test or a terminal shows is there when the call
returns. After ``fork`` the child starts with an empty buffer and writes at once, because it may leave
by ``os._exit``; so does a process that is not allowed another thread.

A stream that fails never raises into the training loop. When its reader has gone the writer says
so once on stderr, drops every later line and counts them in ``lost``; the run goes on, since
the work may still be worth a checkpoint. Whoever stops the reader also stops the worker.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Protocol, TextIO

#: What POSIX promises to write to a pipe in one piece on Linux; smaller elsewhere is rare.
BLOCK_BYTES = 4096
#: How long lines are gathered while more of them come: every write costs a training loop its warm caches.
LINGER_S = 0.2
#: How long a line may wait when no other follows. A thread sees to that, and wakes seldom: each time it does, a
#: training loop in numpy hands the interpreter lock to and fro for milliseconds.
LATEST_S = 1.0

_writers: weakref.WeakValueDictionary[int, LineWriter] = weakref.WeakValueDictionary()
_fork_handlers_registered = False
#: Whoever makes a writer or forks holds this, so that no two forks share the list below.
_registry = threading.RLock()
_held_during_fork: list[LineWriter] = []


class Prologue(Protocol):
    """What must stand in the stream before, or right after, the start of a run."""

    def announce(self) -> None:
        """Say that the run has started, because something else is about to be said."""

    def follow(self) -> None:
        """Say what comes after the start that the runtime itself has just announced."""


class LineWriter:
    """Writes whole lines to one stream; safe from any thread and from signal handlers."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.lock = threading.RLock()
        self.buffered = _is_pipe_or_file(stream)
        #: Lines that could not be written because the stream failed.
        self.lost = 0
        #: (run id, event) of each lifecycle line written so far.
        self.seen: set[tuple[str, str]] = set()
        #: Called once, before the first line, unless that line is the start of the run itself.
        self.prologue: Prologue | None = None
        #: Lines other than the session's own heartbeats accepted so far: what tells a busy worker from a stuck one.
        self.accepted = 0
        self._pending: list[str] = []
        self._pending_bytes = 0
        self._draining = False
        self._written_at = float("-inf")
        self._announced = False
        self._is_awake = False
        self._gone = False
        self._arrived = threading.Event()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        if self.buffered:
            _register_fork_handlers()
            atexit.register(self.close)

    def put(self, line: str) -> None:
        """Accept *line*, which ends in a newline, and let it wait for others."""
        # No lock here: appending to a list is atomic, the list is never replaced, and a byte count
        # that is off by a line only makes a block smaller.
        if self.prologue is not None:
            self.open()
        self._pending_bytes += len(line)
        if self._pending_bytes > BLOCK_BYTES:
            self.flush()
            self._pending_bytes = len(line)
        self._pending.append(line)
        if not self.buffered or time.monotonic() - self._written_at > LINGER_S:
            self.flush()
        elif not self._is_awake:
            self._wake()

    def write(self, line: str) -> None:
        """Write *line* now, after everything that waits."""
        with self.lock:
            if self.prologue is not None:
                self._announce()
            self._pending.append(line)
            self._drain()

    def start(self, run_id: str, line: str) -> None:
        """Write the line that starts *run_id*, unless it was announced already."""
        with self.lock:
            if (run_id, "run_started") in self.seen and self._announced:
                return
            prologue, self.prologue = self.prologue, None
            self.write(line)
            if prologue is not None:
                prologue.follow()

    def open(self) -> None:
        """Let the prologue speak now if nothing has been said yet."""
        with self.lock:
            self._announce()

    def flush(self) -> None:
        """Write everything that waits."""
        with self.lock:
            self._drain()

    def close(self) -> None:
        """Write everything that waits and end the thread; the stream stays open, and so does this."""
        self._stopped.set()
        self._arrived.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        with self.lock:
            self._thread = None
            self.buffered = False
            self._drain()

    def _announce(self) -> None:
        prologue, self.prologue = self.prologue, None
        if prologue is not None:
            prologue.announce()
            self._announced = True

    def _drain(self) -> None:
        # A signal handler may have interrupted a drain of this very thread: that one will
        # find the new line when it goes on.
        if self._draining:
            return
        self._draining = True
        try:
            while self._pending:
                self._write_lines(self._take_block())
            self._written_at = time.monotonic()
        finally:
            self._draining = False

    def _take_block(self) -> list[str]:
        """Take as many lines as go into one write, and one at least."""
        size = count = 0
        for line in self._pending:
            size += len(line)
            if size > BLOCK_BYTES and count:
                break
            count += 1
        lines = self._pending[:count]
        del self._pending[:count]
        self._pending_bytes = 0
        return lines

    def _write_lines(self, lines: list[str]) -> None:
        self.accepted += len(lines)
        if self._gone:
            self.lost += len(lines)
            return
        try:
            # See mosaic.worker.stdout: someone else's line may still be open.
            start = "" if getattr(self.stream, "at_line_start", True) else "\n"
            self.stream.write(start + "".join(lines))
            self.stream.flush()
        except (OSError, ValueError) as error:
            self.lost += len(lines)
            self._lose_stream(error)

    def _lose_stream(self, error: Exception) -> None:
        """Decide whether the stream may come back; a full disk may, a closed pipe will not."""
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            return
        self._gone = True
        if self.buffered:
            # What is still in stdout's own buffer would fail again at exit and change the exit code.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.close(nowhere)
        if sys.stderr is not None:
            message = f"mosaic: nobody reads the telemetry any more ({error}); the run goes on without it\n"
            try:
                sys.stderr.write(message)
            except (OSError, ValueError):
                self._gone = True

    def _wake(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._flush_late_lines, name="mosaic-emitter", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                # No more threads are to be had here, so nothing may wait for one any more.
                self.buffered = False
                self.flush()
                return
            self._thread = thread
        self._is_awake = True
        self._arrived.set()

    def _flush_late_lines(self) -> None:
        while not self._stopped.is_set():
            self._arrived.wait()
            self._arrived.clear()
            self._stopped.wait(LATEST_S)
            # In this order: a line that comes in between is flushed here or wakes the next round.
            self._is_awake = False
            self.flush()

    def _after_fork_in_child(self) -> None:
        self.lock = threading.RLock()
        self.buffered = False
        self._pending.clear()
        self._pending_bytes = 0
        self._draining = False
        # The thread did not survive the fork, and may have held a lock inside these.
        self._thread = None
        self._arrived = threading.Event()
        self._stopped = threading.Event()


def writer_for(stream: TextIO) -> LineWriter:
    """Return the one writer of *stream* in this process."""
    # The writer keeps its stream alive, so no other stream can have the same id meanwhile.
    with _registry:
        writer = _writers.get(id(stream))
        if writer is None:
            writer = LineWriter(stream)
            _writers[id(stream)] = writer
        return writer


@contextlib.contextmanager
def redirected(stream: TextIO, onto: TextIO) -> Iterator[None]:
    """Let the writer of *stream* write through *onto* for a while, and be the writer of both."""
    writer = writer_for(stream)
    writer.stream = onto
    with _registry:
        _writers[id(onto)] = writer
    try:
        yield
    finally:
        writer.flush()
        writer.stream = stream
        with _registry:
            del _writers[id(onto)]


def _is_pipe_or_file(stream: TextIO) -> bool:
    try:
        return stream.fileno() == 1 and not os.isatty(1)
    except (OSError, ValueError, AttributeError):
        return False


def _register_fork_handlers() -> None:
    global _fork_handlers_registered
    if _fork_handlers_registered or not hasattr(os, "register_at_fork"):
        return
    _fork_handlers_registered = True
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


def _before_fork() -> None:
    _registry.acquire()
    for writer in _writers.values():
        writer.lock.acquire()
        _held_during_fork.append(writer)
        writer._drain()


def _after_fork_in_parent() -> None:
    while _held_during_fork:
        _held_during_fork.pop().lock.release()
    _registry.release()


def _after_fork_in_child() -> None:
    global _registry
    _registry = threading.RLock()
    while _held_during_fork:
        _held_during_fork.pop()._after_fork_in_child()
