"""How long a chart of a 1,000,000-point series takes, from the gRPC call to the numbers in hand.

The series is written through the service's own ingest, into SQLite and into PostgreSQL. Each chart asks
for a thousand buckets, of the whole curve and of a tenth of it. The last line is one JSON object;
``chart_ms`` is the slower database's median.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from mosaic.events.frame import EncodedFrame, encode_block
from mosaic.events.proof import EventKey, sign
from mosaic.hosting.grpc_server import GrpcServer
from mosaic.testing.certificates import certificates
from mosaic.wire.v1 import telemetry_pb2 as pb
from mosaic.wire.v1.telemetry_pb2_grpc import TelemetryStub
from mosaic_telemetry.entrypoints.service import TelemetryService, build
from mosaic_telemetry.settings import Settings
from tests.servers.choice import servers

RUN_ID = "01JD00000000000000CHART000"
EVENT_KEY = "0" * 64
_FRAME_LINES = 5_000
_FRAMES_PER_SEND = 20


def fill(service: TelemetryService, points: int) -> None:
    """Store a noisy curve of *points* points."""
    frames = [a_frame(first, min(_FRAME_LINES, points - first)) for first in range(0, points, _FRAME_LINES)]
    for begin in range(0, len(frames), _FRAMES_PER_SEND):
        service.ingest.send(frames[begin : begin + _FRAMES_PER_SEND])


def a_frame(first: int, count: int) -> EncodedFrame:
    """Return *count* metric lines from *first* on, packed."""
    lines = [
        b'{"event":"metric","payload":{"name":"charts/episodic_return","step":%d,"value":%.6f},'
        b'"run_id":"%s","timestamp":1763265600.5}' % (step, math.sin(step / 5e4) + step % 101, RUN_ID.encode())
        for step in range(first, first + count)
    ]
    body = encode_block(RUN_ID, 1, first, [(count, 1763265600.5)], b"\n".join(lines))
    return EncodedFrame(RUN_ID, 1, first, count, body, sign(EventKey(EVENT_KEY).of_attempt(RUN_ID, 1), body))


@contextmanager
def serving(database_url: str) -> Iterator[tuple[TelemetryService, TelemetryStub]]:
    """Run the service on *database_url* and connect to it."""
    with tempfile.TemporaryDirectory() as folder:
        service = build(Settings(database_url=database_url, manifest_root=folder, event_key=EVENT_KEY))
        server = GrpcServer(service.registrations(), "127.0.0.1:0", certificates().service("telemetry"))
        server.start()
        with certificates().as_console(server.address, "telemetry") as channel:
            yield service, TelemetryStub(channel)
        server.stop(0)
        service.stop()


def measure(database_url: str, points: int, rounds: int) -> dict[str, float]:
    """Return median milliseconds per chart."""
    with serving(database_url) as (service, stub):
        fill(service, points)
        key = pb.SeriesKey(name="charts/episodic_return")
        whole = pb.ReadSeriesRequest(run_id=RUN_ID, key=key, resolution=1000)
        part = pb.ReadSeriesRequest(
            run_id=RUN_ID, key=key, resolution=1000, from_step=points * 0.45, to_step=points * 0.55
        )
        return {"whole_ms": _time(stub, whole, points, rounds), "tenth_ms": _time(stub, part, points, rounds)}


def _time(stub: TelemetryStub, request: pb.ReadSeriesRequest, points: int, rounds: int) -> float:
    spans: list[float] = []
    for _ in range(rounds):
        started = time.perf_counter()
        curve = stub.ReadSeries(request)
        numbers = list(curve.steps), list(curve.minima), list(curve.maxima), list(curve.means)
        spans.append((time.perf_counter() - started) * 1000)
        assert curve.total_points == points
        assert 500 <= len(numbers[0]) <= 1000
    return median(spans)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=15)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, servers(["postgres"]) as running:
        results = {
            "sqlite": measure(f"sqlite:///{Path(folder, 'chart.db')}", chosen.points, chosen.rounds),
            "postgresql": measure(running.postgres.url, chosen.points, chosen.rounds),
        }
    for name, spans in results.items():
        print(f"{name:12} whole curve {spans['whole_ms']:7.1f} ms   a tenth of it {spans['tenth_ms']:7.1f} ms")
    slowest = max(spans["whole_ms"] for spans in results.values())
    tenth = max(spans["tenth_ms"] for spans in results.values())
    print(json.dumps({"chart_ms": round(slowest, 1), "tenth_ms": round(tenth, 1), "points": chosen.points}))


if __name__ == "__main__":
    main()
