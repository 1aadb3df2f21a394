"""How much waits in all spools of an agent, and whether that is too much."""

from __future__ import annotations

import threading


class Backlog:
    """Counts the bytes that no one has confirmed yet. Safe to use from every thread.

    Above the limit the agent is starved; it is relieved at half of it, so that it does not flicker.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._size_bytes = 0
        self._starved = False

    @property
    def size_bytes(self) -> int:
        """Bytes that wait now."""
        return self._size_bytes

    @property
    def is_starved(self) -> bool:
        """Whether steps must be thinned."""
        return self._starved

    def change(self, delta_bytes: int) -> None:
        """Note that *delta_bytes* more (or less) wait."""
        with self._lock:
            self._size_bytes += delta_bytes
            if self._size_bytes > self.limit_bytes:
                self._starved = True
            elif self._size_bytes <= self.limit_bytes // 2:
                self._starved = False
