"""Writes manifests in the background, as soon as they can be written."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

import structlog

from mosaic.errors import Unavailable
from mosaic_telemetry.bootstrap import Parts
from mosaic_telemetry.handlers.finish import write_when_ready
from mosaic_telemetry.ports import FinishedRun

log = structlog.get_logger(__name__)

#: Another replica may have heard that a run ended and died; this often we look without being told.
_LOOK_ANYWAY_S = 15.0
_RETRY_S = 1.0
#: Late events come in bursts: one manifest for each burst is enough.
_GATHER_S = 0.05


class ManifestWriter:
    """A thread that writes manifests whenever it is woken and whenever one is due."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="manifests", daemon=True)

    def wake(self) -> None:
        """Say that the end of a run or an event has come."""
        self._wake.set()

    def start(self) -> None:
        """Write from now on, beginning with what was left undone."""
        self._wake.set()
        self._thread.start()

    def stop(self) -> None:
        """Finish the manifest in hand and end."""
        self._ending.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        pause_s = 0.0
        while not self._ending.is_set():
            self._wake.wait(pause_s)
            self._wake.clear()
            pause_s = self._write()
            self._ending.wait(_GATHER_S)

    def _write(self) -> float:
        """Write what can be written; return how long nothing will be due."""
        parts = self._parts
        try:
            waits = [self._write_one(ended) for ended in parts.store.stale_manifests()]
        except Unavailable as error:
            log.warning("manifests wait", reason=str(error))
            return _RETRY_S
        except Exception:
            # Nobody else writes manifests here: whatever this was, the next look may go well.
            log.exception("manifests wait")
            return _RETRY_S
        dues = [(due_at - parts.clock()).total_seconds() for due_at in waits if due_at is not None]
        return max(0.0, min(dues, default=_LOOK_ANYWAY_S))

    def _write_one(self, ended: FinishedRun) -> datetime | None:
        parts = self._parts
        try:
            return write_when_ready(
                ended, store=parts.store, manifests=parts.manifests, feed=parts.feed, clock=parts.clock
            )
        except Unavailable:
            raise
        except Exception:
            # One run whose manifest cannot be written must not keep all others from theirs.
            log.exception("manifest waits", run_id=ended.finished.run.run_id)
            return parts.clock() + timedelta(seconds=_LOOK_ANYWAY_S)
