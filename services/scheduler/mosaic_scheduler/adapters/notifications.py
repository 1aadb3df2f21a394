"""Hearing of changes that other schedulers made, through PostgreSQL's LISTEN."""

from __future__ import annotations

import threading
from collections.abc import Callable

import psycopg
import structlog

from mosaic_scheduler.adapters.sql_runs import CHANNEL

log = structlog.get_logger(__name__)

_RETRY_S = 1.0
_POLL_S = 0.5


class Notifications:
    """Calls back after each commit of any scheduler on the same database."""

    def __init__(self, database_url: str, on_change: Callable[[], None]) -> None:
        """Listen on *database_url* (``postgresql://...``)."""
        self._url = database_url.replace("postgresql+psycopg://", "postgresql://")
        self._on_change = on_change
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="notifications", daemon=True)

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
                    connection.execute(f"LISTEN {CHANNEL}")
                    # Whatever happened before LISTEN took effect is covered by one call now.
                    self._on_change()
                    while not self._stopping.is_set():
                        for _ in connection.notifies(timeout=_POLL_S, stop_after=1):
                            self._on_change()
            except psycopg.Error as error:
                log.warning("not hearing other schedulers; trying again", reason=str(error))
                self._stopping.wait(_RETRY_S)
