"""Reads the pipes of one child into its stream, as seldom as it can and as soon as it must."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import structlog

from mosaic.agent.telemetry.lines import LifecycleLine, quiet_s
from mosaic.agent.telemetry.spool import FRAME_BYTES
from mosaic.agent.telemetry.stream import Stream
from mosaic.agent.timers import Timers

log = structlog.get_logger()

#: Lines that come after a silence are shown to the world so soon after they were read,
LINGER_S = 0.05
#: those of a worker that talks on, only this often: every frame costs the training a little.
FLUSH_S = 0.5
#: A pipe is left alone between two reads: to be woken for every line would take the worker off its core each time.
#: So long when it fills fast,
SHORTEST_REST_S = 0.005
#: so long at most,
LONGEST_REST_S = 0.1
#: and in between as long as it takes for about this much to gather.
REST_BYTES = 32 * 1024
#: After a full disk, so long until the next try.
DISK_RETRY_S = 1.0
#: What a worker that is to end says to a full disk is kept in memory up to this size.
KEPT_BYTES = 16 * 1024 * 1024

#: One read of a full pipe closes a frame, which spares the journal.
_READ_BYTES = FRAME_BYTES + 64 * 1024
#: Whoever says more than this at once does more than beat.
_FEW_BEATS_BYTES = 4096


class Listener:
    """Two pipes in, one stream out. Runs in the loop's thread; every method returns at once.

    When the disk does not take the lines, the pipes are left alone until it does: the worker waits,
    and nothing is lost. One that is to end is heard on, up to `KEPT_BYTES`.
    """

    def __init__(
        self,
        stream: Stream,
        loop: asyncio.AbstractEventLoop,
        *,
        on_lifecycle_line: Callable[[LifecycleLine], None],
        on_first_line: Callable[[], None],
        on_frames: Callable[[], None],
    ) -> None:
        self._stream = stream
        self._loop = loop
        self._timers = Timers(loop)
        self._on_lifecycle_line = on_lifecycle_line
        self._on_first_line = on_first_line
        self._on_frames = on_frames
        self._readers: dict[int, Callable[[memoryview], None]] = {}
        # Read into again and again: fresh memory for every read would cost more than the reading.
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._roomy: int | None = None
        self._has_heard_worker = False
        self._is_ending = False
        self._flushed_at = float("-inf")
        self._rest_s = SHORTEST_REST_S
        #: When more than heartbeats was heard last, in the loop's time.
        self.heard_at = loop.time()
        #: Why what is heard cannot be written down, None while it can.
        self.disk_fault: str | None = None

    def listen(self, stdout: int, stderr: int, *, is_roomy: bool) -> None:
        """Read from these descriptors from now on; *is_roomy*: stdout may be left to fill for a while."""
        self._readers = {stdout: self._hear_stdout, stderr: self._hear_stderr}
        self._roomy = stdout if is_roomy else None
        self.heard_at = self._loop.time()
        self._resume()

    def say(self, event: str, **payload: object) -> None:
        """Add an event of the agent's own."""
        self._guard(lambda: self._stream.say(event, payload))

    def hear_out(self) -> None:
        """Read on even while the disk takes nothing: a worker that waits for us cannot end by itself."""
        self._is_ending = True
        if self.disk_fault is not None:
            self._resume()

    def drain(self) -> None:
        """Read what the dead left in the pipes, to the end, and listen no more.

        Raises:
            OSError: the disk is full; call again.
        """
        for descriptor, hear in list(self._readers.items()):
            self._loop.remove_reader(descriptor)
            while data := self._read(descriptor):
                hear(data)
            self._readers.pop(descriptor, None)
        self._notice(self._stream.finish())
        self._timers.cancel_all()

    def _on_readable(self, descriptor: int) -> None:
        data = self._read(descriptor)
        if data and self._guard(lambda: self._readers[descriptor](data)) and descriptor == self._roomy:
            self._rest(descriptor, len(data))

    def _read(self, descriptor: int) -> memoryview:
        """Return what is in the pipe, good until the next read; nothing at its end, or when it is empty."""
        try:
            count = os.readv(descriptor, [self._buffer])
        except BlockingIOError:
            return self._buffer[:0]
        if not count:
            self._loop.remove_reader(descriptor)
            self._readers.pop(descriptor, None)
        return self._buffer[:count]

    def _rest(self, descriptor: int, count: int) -> None:
        rest_s = self._rest_s * min(2.0, REST_BYTES / count)
        self._rest_s = min(LONGEST_REST_S, max(SHORTEST_REST_S, rest_s))
        # A pipe that holds more than one read is read on at once.
        if count < _READ_BYTES:
            self._loop.remove_reader(descriptor)
            self._timers.after("rest", self._rest_s, self._resume)

    def _resume(self) -> None:
        for descriptor in self._readers:
            self._loop.add_reader(descriptor, self._on_readable, descriptor)

    def _hear_stdout(self, data: memoryview) -> None:
        self._note_life(data)
        lifecycle_lines = self._stream.hear_stdout(data)
        if not self._has_heard_worker:
            self._has_heard_worker = True
            self._on_first_line()
            self._flush()
        self._notice(lifecycle_lines)

    def _note_life(self, data: memoryview) -> None:
        """Take words for life, but not the beats of a thread that outlives a deadlock in the training."""
        quiet = quiet_s(bytes(data)) if len(data) <= _FEW_BEATS_BYTES else None
        self.heard_at = max(self.heard_at, self._loop.time() - (quiet or 0.0))

    def _hear_stderr(self, data: memoryview) -> None:
        self.heard_at = self._loop.time()
        self._stream.hear_stderr(data)

    def _notice(self, lifecycle_lines: list[LifecycleLine]) -> None:
        for lifecycle_line in lifecycle_lines:
            self._on_lifecycle_line(lifecycle_line)
        if any(lifecycle_line.kind != "checkpoint_saved" for lifecycle_line in lifecycle_lines):
            self._flush()

    def _guard(self, write: Callable[[], None]) -> bool:
        """Run *write* and see to it that its lines leave in time; tell whether the disk took them."""
        try:
            write()
        except OSError as error:
            self._wait_for_disk(error)
            return False
        if self._stream.spool.has_open_lines:
            wait_s = max(LINGER_S, self._flushed_at + FLUSH_S - self._loop.time())
            self._timers.after("flush", wait_s, self._flush_on_time)
        else:
            self._on_frames()
        return True

    def _flush(self) -> None:
        self._flushed_at = self._loop.time()
        self._stream.spool.flush()

    def _flush_on_time(self) -> None:
        self._guard(self._flush)

    def _wait_for_disk(self, error: OSError) -> None:
        spool = self._stream.spool
        log.error("worker waits: its lines cannot be written", run_id=spool.run_id, reason=str(error))
        self.disk_fault = f"run {spool.run_id} waits, its lines cannot be written: {error}"
        for descriptor in self._readers:
            self._loop.remove_reader(descriptor)
        self._timers.cancel("rest", "flush")
        self._timers.after("disk", DISK_RETRY_S, self._try_disk)
        if self._is_ending and spool.open_bytes < KEPT_BYTES:
            self._timers.after("rest", LONGEST_REST_S, self._resume)

    def _try_disk(self) -> None:
        # The silence of a worker that we do not listen to is not its fault.
        self.heard_at = self._loop.time()
        if self._guard(self._flush):
            self.disk_fault = None
            self._resume()
