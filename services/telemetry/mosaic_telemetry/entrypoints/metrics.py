"""What Prometheus sees of the service."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class Metrics:
    """The service's numbers."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.stored = Counter("mosaic_telemetry_lines_stored", "Lines stored.", registry=registry)
        self.repeated = Counter("mosaic_telemetry_lines_repeated", "Lines that were known already.", registry=registry)
        self.refused = Counter("mosaic_telemetry_messages_refused", "Messages nobody can use.", registry=registry)
        self.forged = Counter(
            "mosaic_telemetry_forged_frames", "Messages without proof of who sent them.", registry=registry
        )
        self.ingest_seconds = Histogram(
            "mosaic_telemetry_ingest_seconds",
            "Time to store one batch of frames.",
            registry=registry,
            buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5),
        )
        self.followers = Gauge("mosaic_telemetry_followers", "Streams that follow a run live.", registry=registry)
