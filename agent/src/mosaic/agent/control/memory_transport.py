"""Kombu's in-memory transport without its polling: a message wakes whoever waits for one.

Senders and consumers must be threads of one process and use this transport by name, `TRANSPORT`.
"""

from __future__ import annotations

import threading
import time
from queue import Empty
from typing import Any

from kombu.transport import memory

#: What to give Celery as ``broker_transport``.
TRANSPORT = "mosaic.agent.control.memory_transport:Transport"

_arrivals = threading.Condition()
_arrived = 0
_interrupted = 0


def interrupt() -> None:
    """Make everybody who waits look up, as if their time had run out."""
    global _interrupted
    with _arrivals:
        _interrupted += 1
        _arrivals.notify_all()


class Channel(memory.Channel):
    """A channel that announces what is put into it."""

    def _put(self, queue: str, message: Any, **options: Any) -> None:
        global _arrived
        super()._put(queue, message, **options)  # type: ignore[no-untyped-call]
        with _arrivals:
            _arrived += 1
            _arrivals.notify_all()


class Transport(memory.Transport):
    """A transport whose consumers sleep until something arrives."""

    Channel = Channel

    def drain_events(self, connection: Any, timeout: float | None = None, **_: Any) -> None:
        """Deliver one message, waiting up to *timeout* seconds for it.

        Raises:
            TimeoutError: none came.
        """
        assert self.cycle is not None
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            seen = _arrived
            try:
                self.cycle.get(self._deliver, timeout=timeout)
                return
            except Empty:
                self._sleep(seen, deadline)

    def _sleep(self, seen: int, deadline: float | None) -> None:
        remaining_s = None if deadline is None else deadline - time.monotonic()
        with _arrivals:
            before = _interrupted
            _arrivals.wait_for(lambda: _arrived != seen or _interrupted != before, remaining_s)
            if _arrived == seen:
                raise TimeoutError
