"""Keeping this agent's certificate good: renewed at two thirds of its time, and asked for anew if that failed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import structlog

from mosaic.agent.control.joining import Renew, renewed
from mosaic.errors import MosaicError
from mosaic.hosting.pki import AGENT_FILE, tls_files, utc_now, validity_of

log = structlog.get_logger()

_SHORTEST_PAUSE_S = 5.0
_LONGEST_PAUSE_S = 300.0


class Renewal:
    """Renews in a thread of its own. While the registry is away, the certificate at hand serves until it expires."""

    def __init__(
        self, home: Path, renew: Renew, join_again: Callable[[], object], *, clock: Callable[[], datetime] = utc_now
    ) -> None:
        """Renew the certificate in *home*; one that has expired is replaced by *join_again*."""
        self._home = home
        self._renew = renew
        self._join_again = join_again
        self._clock = clock
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="certificate", daemon=True)
        #: Why the certificate could not be renewed, None while all is well.
        self.fault: str | None = None

    def start(self) -> None:
        """Begin to watch its time."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stopping.set()
        self._thread.join(timeout=5)

    def due_in_s(self) -> float:
        """Return how long the certificate need not be renewed yet; not above 0 when it should be now."""
        start, end = self._validity()
        return (start + (end - start) * 2 / 3 - self._clock()).total_seconds()

    def renew_if_due(self) -> bool:
        """Renew the certificate if it is time; tell whether it is not due any more.

        An agent whose certificate has expired cannot ask for another with it, and joins as it did at first.
        """
        if self.due_in_s() > 0:
            return True
        try:
            if self._validity()[1] > self._clock():
                renewed(self._home, self._renew)
            else:
                self._join_again()
        except MosaicError as error:
            self.fault = f"the certificate is not renewed: {error}"
            log.warning("the certificate is not renewed", until=self._validity()[1].isoformat(), reason=str(error))
            return False
        self.fault = None
        log.info("certificate renewed", until=self._validity()[1].isoformat())
        return True

    def _validity(self) -> tuple[datetime, datetime]:
        return validity_of(Path(tls_files(self._home, AGENT_FILE).certificate).read_bytes())

    def _run(self) -> None:
        pause_s = self._first_pause_s()
        while not self._stopping.wait(pause_s):
            try:
                is_done = self.renew_if_due()
            except Exception:
                log.exception("the certificate is not renewed")
                is_done = False
            pause_s = self._first_pause_s() if is_done else min(_LONGEST_PAUSE_S, pause_s * 2)

    def _first_pause_s(self) -> float:
        # A machine that slept wakes up with its clock moved on: nobody waits longer than this without looking.
        return min(_LONGEST_PAUSE_S, max(_SHORTEST_PAUSE_S, self.due_in_s()))
