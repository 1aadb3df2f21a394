"""Hearing of changes: from this process through a signal, from other replicas through PostgreSQL's LISTEN."""

from __future__ import annotations

import threading
from collections.abc import Callable

import psycopg
import structlog

log = structlog.get_logger(__name__)

_RETRY_S = 1.0
#: How long a stop may wait for the listener.
_LISTEN_S = 0.5


class ChangeSignal:
    """Wakes every waiter; a change between two waits of one waiter is not missed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._rings = 0

    def notify(self) -> None:
        """Wake every waiter."""
        with self._changed:
            self._rings += 1
            self._changed.notify_all()

    def count(self) -> int:
        """Return how many changes there were; what `wait` wants to know."""
        with self._changed:
            return self._rings

    def wait(self, after: int, timeout_s: float | None = None) -> int:
        """Return the number of changes once it is above *after*, or when *timeout_s* has passed."""
        with self._changed:
            self._changed.wait_for(lambda: self._rings > after, timeout_s)
            return self._rings


class Notifications:
    """Calls back after each commit that any process announced on the channel of a PostgreSQL database."""

    def __init__(self, database_url: str, channel: str, on_change: Callable[[], None]) -> None:
        """Listen on *channel* of *database_url* once started."""
        self._url = database_url.replace("postgresql+psycopg://", "postgresql://")
        self._channel = channel
        self._on_change = on_change
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._listen, name=f"listen {channel}", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def stop(self) -> None:
        """Stop listening."""
        self._stopping.set()
        self._thread.join(timeout=5)

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                with psycopg.connect(self._url, autocommit=True) as connection:
                    connection.execute(f"LISTEN {self._channel}".encode())
                    # One call now covers what happened before LISTEN took effect.
                    self._on_change()
                    while not self._stopping.is_set():
                        for _ in connection.notifies(timeout=_LISTEN_S, stop_after=1):
                            self._on_change()
            except psycopg.Error as error:
                log.warning("not hearing other replicas; trying again", channel=self._channel, reason=str(error))
                self._stopping.wait(_RETRY_S)
            except Exception:
                # Whoever is called back may fail; what is never heard again would be worse.
                log.exception("a change of another replica was lost on us; listening anew", channel=self._channel)
                self._stopping.wait(_RETRY_S)
