"""The whole service in one object, to be started alone or inside a bigger process."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import structlog
from prometheus_client import CollectorRegistry

from mosaic.hosting.grpc_server import Registration
from mosaic.hosting.health import Probe
from mosaic.messaging.consumer import consume
from mosaic.messaging.topology import event_queue
from mosaic.model.attempt import RunFinished
from mosaic.model.run import RunAccepted
from mosaic.wire.v1 import telemetry_pb2_grpc
from mosaic_telemetry.bootstrap import Parts, connect, utc_now
from mosaic_telemetry.entrypoints.grpc_api import TelemetryApi
from mosaic_telemetry.entrypoints.intake import Intake
from mosaic_telemetry.entrypoints.manifest_writer import ManifestWriter
from mosaic_telemetry.entrypoints.metrics import Metrics
from mosaic_telemetry.ports import Clock, LiveFeed
from mosaic_telemetry.settings import Settings

log = structlog.get_logger(__name__)

SERVICE_NAME = "mosaic.wire.v1.Telemetry"


def build(
    settings: Settings,
    *,
    metrics: CollectorRegistry | None = None,
    live_feed: LiveFeed | None = None,
    clock: Clock = utc_now,
) -> TelemetryService:
    """Connect the service; nothing runs before `TelemetryService.start`."""
    parts = connect(settings, live_feed=live_feed, clock=clock)
    return TelemetryService(settings, parts, Metrics(metrics or CollectorRegistry()))


class TelemetryService:
    """Every event once, every run a manifest."""

    def __init__(self, settings: Settings, parts: Parts, metrics: Metrics) -> None:
        self._settings = settings
        #: What it is made of, for those who host it.
        self.parts = parts
        self._ending = threading.Event()
        self._metrics = metrics
        self._manifest_writer = ManifestWriter(parts)
        #: Takes frames within the process. A `mosaic.events.frame.FrameSink`.
        self.ingest = Intake(parts, self._metrics, self._manifest_writer.wake)
        self._consumers: list[threading.Thread] = []
        self._broker_faults: dict[int, str] = {}

    def run_finished(self, run: RunFinished) -> None:
        """Note that *run* has ended; durable when it returns."""
        self.ingest.run_finished(run)

    def runs_accepted(self, runs: Sequence[RunAccepted]) -> None:
        """Note whose *runs* are; durable when it returns."""
        self.ingest.runs_accepted(runs)

    def servicer(self) -> TelemetryApi:
        """Return the gRPC API."""
        return TelemetryApi(self.parts, self._metrics, self._ending.is_set, lambda: self.ingest.fault)

    def registrations(self) -> Sequence[Registration]:
        """Return the gRPC APIs for a `mosaic.hosting.grpc_server.GrpcServer`."""
        return [Registration(SERVICE_NAME, self.servicer(), telemetry_pb2_grpc.add_TelemetryServicer_to_server)]

    def probes(self) -> dict[str, Probe]:
        """Return what ``/readyz`` asks."""
        probes: dict[str, Probe] = {"database": self.parts.store.fault}
        if self._settings.events_url:
            probes["broker"] = lambda: next(iter(list(self._broker_faults.values())), None)
        return probes

    def start(self) -> None:
        """Write manifests and, when there is a broker, consume it."""
        self._manifest_writer.start()
        if self._settings.events_url:
            for shard in range(self._settings.event_shards):
                self._broker_faults[shard] = "not connected yet"
                thread = threading.Thread(target=self._consume, args=(shard,), name=f"shard {shard}", daemon=True)
                self._consumers.append(thread)
                thread.start()

    def stop(self) -> None:
        """Store what is in hand, give back the rest, end every stream."""
        self._ending.set()
        for thread in self._consumers:
            thread.join()
        self._manifest_writer.stop()
        self.parts.feed.close()
        self.parts.engine.dispose()

    def _consume(self, shard: int) -> None:
        consume(
            self._settings.events_url,
            self.parts.topology,
            event_queue(self.parts.topology, shard),
            self.ingest.handle,
            prefetch=self._settings.prefetch,
            stop=self._ending,
            # One batch is read while the one before it is being committed.
            lanes=2,
            name=f"mosaic-telemetry shard {shard}",
            listener=lambda fault: self._note_broker(shard, fault),
        )

    def _note_broker(self, shard: int, fault: str | None) -> None:
        if fault is None:
            self._broker_faults.pop(shard, None)
            log.info("events are consumed", shard=shard)
        else:
            self._broker_faults[shard] = fault
            log.warning("events wait in the broker", shard=shard, reason=fault)
