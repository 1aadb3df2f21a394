"""Spools to wherever frames are safe: in batches, forgetting only what is confirmed."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

from mosaic.agent.telemetry.spool import Spool
from mosaic.errors import Unavailable
from mosaic.events.frame import EncodedFrame, FrameSink

log = structlog.get_logger()

_BATCH_FRAMES = 64
_BATCH_BYTES = 8 * 1024 * 1024
_SHORTEST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0


class Shipper:
    """Sends what is in the spools, in its own thread, and goes on for ever when nobody takes it.

    Frames of one spool are sent in order. A spool that was closed with `last` is handed to *on_shipped*
    once everything in it is confirmed.
    """

    def __init__(self, sink: FrameSink, on_shipped: Callable[[Spool], None] = lambda _: None) -> None:
        self._sink = sink
        self._on_shipped = on_shipped
        self._wake = threading.Condition()
        self._spools: list[Spool] = []
        self._closed: set[Spool] = set()
        self._has_news = False
        self._is_stopping = False
        self._fault: str | None = None
        self._thread = threading.Thread(target=self._run, name="shipper", daemon=True)

    @property
    def fault(self) -> str | None:
        """Why nothing is taken at the moment, None when all is well."""
        return self._fault

    def start(self) -> None:
        """Send from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Send no more and close the spools; what is not confirmed stays in them."""
        with self._wake:
            self._is_stopping = True
            self._wake.notify_all()
        if self._thread.is_alive():
            self._thread.join()
        for spool in self._spools:
            spool.close()

    def add(self, spool: Spool) -> None:
        """Ship *spool* too."""
        with self._wake:
            self._spools.append(spool)
        self.wake()

    def last(self, spool: Spool) -> None:
        """Note that nothing more will be appended to *spool*."""
        with self._wake:
            self._closed.add(spool)
        self.wake()

    def wake(self) -> None:
        """Say that there may be something to send."""
        with self._wake:
            self._has_news = True
            self._wake.notify_all()

    def wait_until_empty(self, timeout_s: float) -> bool:
        """Wait until everything is confirmed; tell whether that came true in time."""
        with self._wake:
            return self._wake.wait_for(lambda: all(spool.is_confirmed for spool in self._spools), timeout_s)

    def _run(self) -> None:
        pause_s = 0.0
        while self._sleep(pause_s):
            try:
                pause_s = self._ship_round(pause_s)
            except Unavailable as error:
                pause_s = self._note_fault(str(error), pause_s)
            except Exception as error:
                # Whatever a sink does, the frames are given back and tried again: nothing is lost.
                log.exception("telemetry waits in the spool")
                pause_s = self._note_fault(f"{type(error).__name__}: {error}", pause_s)

    def _sleep(self, pause_s: float) -> bool:
        """Wait for news, or for *pause_s* after a fault; tell whether to go on."""
        with self._wake:
            if pause_s:
                self._wake.wait_for(lambda: self._is_stopping, pause_s)
            else:
                self._wake.wait_for(lambda: self._has_news or self._is_stopping)
            self._has_news = False
            return not self._is_stopping

    def _ship_round(self, pause_s: float) -> float:
        while batch := self._gather():
            if not self._send(batch):
                return self._note_fault("nothing was confirmed", pause_s)
            self._release_finished()
            with self._wake:
                self._wake.notify_all()
                if self._is_stopping:
                    break
        self._release_finished()
        if self._fault is not None:
            log.info("telemetry flows again")
            self._fault = None
        return 0.0

    def _gather(self) -> list[tuple[Spool, EncodedFrame]]:
        """Take turns between spools, so that a chatty run does not keep a quiet one waiting."""
        with self._wake:
            spools = list(self._spools)
            if self._spools:
                self._spools.append(self._spools.pop(0))
        batch: list[tuple[Spool, EncodedFrame]] = []
        room_bytes = _BATCH_BYTES
        for spool in spools:
            for frame in spool.take(frames=_BATCH_FRAMES - len(batch), size_bytes=room_bytes):
                batch.append((spool, frame))
                room_bytes -= len(frame.body)
        return batch

    def _send(self, batch: list[tuple[Spool, EncodedFrame]]) -> bool:
        confirmed: set[int] = set()
        try:
            confirmed = set(self._sink.send([frame for _, frame in batch]))
        finally:
            self._settle(batch, confirmed)
        return bool(confirmed)

    def _settle(self, batch: list[tuple[Spool, EncodedFrame]], confirmed: set[int]) -> None:
        for spool in {spool for spool, _ in batch}:
            own = [(index, frame.first_seq) for index, (owner, frame) in enumerate(batch) if owner is spool]
            spool.confirm(first_seq for index, first_seq in own if index in confirmed)
            spool.give_back([first_seq for index, first_seq in own if index not in confirmed])

    def _release_finished(self) -> None:
        with self._wake:
            finished = [spool for spool in self._closed if spool.is_confirmed]
            for spool in finished:
                self._closed.discard(spool)
                self._spools.remove(spool)
            if finished:
                self._wake.notify_all()
        for spool in finished:
            self._on_shipped(spool)

    def _note_fault(self, why: str, pause_s: float) -> float:
        if self._fault is None:
            log.warning("telemetry waits in the spool", reason=why)
        self._fault = why
        return min(_LONGEST_PAUSE_S, max(_SHORTEST_PAUSE_S, pause_s * 2))
