"""Waiting for SIGTERM and SIGINT."""

from __future__ import annotations

import queue
import signal


class StopSignal:
    """Set by SIGTERM or SIGINT from the moment it is made, which only the main thread can do.

    The handler runs in the thread that waits. A lock would be taken twice there, as that of `threading.Event` is
    when the signal comes in the instant in which the wait begins or ends: such a process could only be killed.
    """

    def __init__(self) -> None:
        self._heard: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _frame: self._heard.put(number))

    def is_set(self) -> bool:
        """Tell whether a signal has come."""
        return not self._heard.empty()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until a signal has come, or for *timeout_s*; tell whether one has."""
        try:
            self._heard.put(self._heard.get(timeout=timeout_s))
        except queue.Empty:
            return False
        return True
