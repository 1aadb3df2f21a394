"""Frames, beginnings and ends of runs come in here: from this process or from the broker."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from mosaic.errors import BadInput, Unavailable
from mosaic.events.frame import EncodedFrame
from mosaic.messaging.consumer import DONE, Delivery, Settlement, Verdict
from mosaic.messaging.event_messages import (
    PROOF,
    RUN_ACCEPTED,
    RUN_FINISHED,
    kind_of,
    read_frame,
    read_run_accepted,
    read_run_finished,
)
from mosaic.model.attempt import RunFinished
from mosaic.model.run import RunAccepted
from mosaic_telemetry.bootstrap import Parts
from mosaic_telemetry.entrypoints.metrics import Metrics
from mosaic_telemetry.handlers.finish import note_finished
from mosaic_telemetry.handlers.ingest import IngestReport, ingest
from mosaic_telemetry.handlers.owners import note_accepted

log = structlog.get_logger(__name__)


class Intake:
    """Stores what arrives. A `mosaic.events.frame.FrameSink`, and the handler of the broker's messages."""

    def __init__(self, parts: Parts, metrics: Metrics, on_change: Callable[[], None]) -> None:
        """Call *on_change* after everything that may let a manifest be written."""
        self._parts = parts
        self._metrics = metrics
        self._on_change = on_change
        #: Why the newest lines could not be stored, nothing when they could.
        self.fault = ""

    def send(self, frames: Sequence[EncodedFrame]) -> Sequence[int]:
        """Store *frames*; all of them are durable when it returns.

        A frame without proof, or that nobody can read, is dropped with a log line: a spool would keep it for ever.

        Raises:
            DatabaseUnavailable: nothing was kept.

        """
        report = self.ingest(frames)
        for index, reason in report.refused.items():
            frame = frames[index]
            log.error("frame dropped", run_id=frame.run_id, attempt=frame.attempt, reason=reason)
        return range(len(frames))

    def run_finished(self, run: RunFinished) -> None:
        """Note that *run* has ended.

        Raises:
            DatabaseUnavailable: nothing was kept.

        """
        parts = self._parts
        note_finished(run, store=parts.store, clock=parts.clock, patience=parts.finish_patience)
        self._on_change()

    def runs_accepted(self, runs: Sequence[RunAccepted]) -> None:
        """Note whose *runs* are.

        Raises:
            DatabaseUnavailable: nothing was kept.

        """
        note_accepted(runs, store=self._parts.store, feed=self._parts.feed)

    def handle(self, deliveries: Sequence[Delivery]) -> Sequence[Settlement]:
        """Store the broker's messages, all frames in one transaction; see `mosaic.messaging.consumer`."""
        said = {RUN_ACCEPTED: self._handle_run_accepted, RUN_FINISHED: self._handle_run_finished}
        frames = [number for number, one in enumerate(deliveries) if kind_of(one.headers) not in said]
        answers = [DONE] * len(deliveries)
        report = self.ingest([read_frame(deliveries[number].headers, deliveries[number].body) for number in frames])
        for index, reason in report.refused.items():
            answers[frames[index]] = Settlement(Verdict.NEVER, reason)
        for number, delivery in enumerate(deliveries):
            if kind_of(delivery.headers) in said:
                answers[number] = self._handle_signed(delivery, said[kind_of(delivery.headers)])
        self._metrics.refused.inc(sum(answer is not DONE for answer in answers))
        return answers

    def ingest(self, frames: Sequence[EncodedFrame]) -> IngestReport:
        """Store frames and count them."""
        parts = self._parts
        try:
            with self._metrics.ingest_seconds.time():
                report = ingest(frames, key=parts.event_key, store=parts.store, feed=parts.feed)
        except Unavailable as error:
            self.fault = str(error)
            raise
        self.fault = ""
        self._metrics.stored.inc(report.stored_lines)
        self._metrics.repeated.inc(report.repeated_lines)
        self._metrics.forged.inc(report.forged)
        if report.stale_manifests:
            self._on_change()
        return report

    def _handle_signed(self, delivery: Delivery, take: Callable[[bytes], None]) -> Settlement:
        """Let what the scheduler said be taken in, if it did."""
        kind = kind_of(delivery.headers)
        if not self._parts.event_key.is_signed(kind, delivery.body, delivery.headers.get(PROOF)):
            self._metrics.forged.inc()
            return Settlement(Verdict.NEVER, f"this {kind} carries no proof that the scheduler sent it")
        try:
            take(delivery.body)
        except BadInput as error:
            return Settlement(Verdict.NEVER, str(error))
        return DONE

    def _handle_run_accepted(self, body: bytes) -> None:
        self.runs_accepted([read_run_accepted(body)])

    def _handle_run_finished(self, body: bytes) -> None:
        self.run_finished(read_run_finished(body))
