"""The telemetry service on a real RabbitMQ and PostgreSQL, with things breaking under it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import grpc
import pika
import psycopg
import pytest
from prometheus_client import CollectorRegistry

from mosaic.errors import Unavailable
from mosaic.hosting.database import open_engine
from mosaic.hosting.grpc_server import GrpcServer
from mosaic.hosting.health import check
from mosaic.hosting.settings import variable_of
from mosaic.messaging.connection import declare_once
from mosaic.messaging.event_messages import BrokerFrameSink, frame_message, run_finished_message
from mosaic.messaging.publisher import Message, Publisher
from mosaic.messaging.topology import DEAD_EVENTS, EVENTS, QueueSpec, event_routing_key, event_topology
from mosaic.model.attempt import RunFinished
from mosaic.testing.certificates import certificates, environment
from mosaic.testing.ports import free_port
from mosaic.wire.v1 import telemetry_pb2 as pb
from mosaic.wire.v1.telemetry_pb2_grpc import TelemetryStub
from mosaic_telemetry.adapters.sql_events import SqlEvents
from mosaic_telemetry.domain.manifest import is_genuine
from mosaic_telemetry.entrypoints.service import TelemetryService, build
from mosaic_telemetry.settings import Settings
from tests.fakes.telemetry import EVENT_KEY, KEY, RUN, a_finished_run, encoded, metrics, signed
from tests.servers.answers import plain_postgres_url
from tests.servers.handle import Server
from tests.stack.process import Part

pytestmark = pytest.mark.integration


def settings(database_url: str, broker_url: str, folder: Path) -> Settings:
    return Settings(database_url, str(folder), EVENT_KEY, broker_url=broker_url, prefetch=16)


@contextmanager
def serving(chosen: Settings, metrics: CollectorRegistry | None = None) -> Iterator[TelemetryService]:
    service = build(chosen, metrics=metrics)
    service.start()
    try:
        yield service
    finally:
        service.stop()


@contextmanager
def calling(service: TelemetryService) -> Iterator[TelemetryStub]:
    server = GrpcServer(service.registrations(), "127.0.0.1:0", certificates().service("telemetry"))
    server.start()
    channel = certificates().as_console(server.address, "telemetry")
    try:
        yield TelemetryStub(channel)
    finally:
        channel.close()
        server.stop(0.2)


@contextmanager
def publishing(url: str) -> Iterator[Publisher]:
    declare_once(url, event_topology())
    publisher = Publisher(url)
    try:
        yield publisher
    finally:
        publisher.close()


def publish_frames(publisher: Publisher, count: int, *, first: int = 0, lines: int = 50) -> None:
    """Publish until everything is confirmed, like an agent does."""
    sink = BrokerFrameSink(publisher, timeout_s=5)
    waiting = [
        encoded(metrics(lines, first=number * lines), first_seq=number * lines)
        for number in range(first, first + count)
    ]
    while waiting:
        try:
            confirmed = set(sink.send(waiting[:8]))
        except Unavailable:
            time.sleep(0.2)
            continue
        waiting = [frame for index, frame in enumerate(waiting) if index not in confirmed]


def publish_until(publisher: Publisher, enough: threading.Event) -> int:
    """Publish on and on; return how many frames there were when it was enough."""
    frames = 0
    while not enough.is_set():
        publish_frames(publisher, 8, first=frames)
        frames += 8
    return frames


def publish_end(publisher: Publisher, seal: RunFinished) -> None:
    assert [0] == publisher.publish([run_finished_message(seal, KEY)])


def eventually(look: Callable[[], object], what: str, timeout_s: float = 40.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not look():
        assert time.monotonic() < deadline, f"it did not come true that {what}"
        time.sleep(0.1)


def is_stored(database_url: str, lines: int, run_id: str = RUN) -> Callable[[], bool]:
    def look() -> bool:
        try:
            engine = open_engine(database_url)
            timelines = SqlEvents(engine).timelines(run_id)
            engine.dispose()
        except Unavailable:
            return False
        return bool(timelines) and ((0, lines - 1),) == timelines[0].heard.ranges

    return look


def stored_count(database_url: str) -> int:
    engine = open_engine(database_url)
    timelines = SqlEvents(engine).timelines(RUN)
    engine.dispose()
    return timelines[0].heard.count if timelines else 0


def stores_more_than(database_url: str, count: int) -> bool:
    return stored_count(database_url) > count


def test_from_frames_to_manifest(postgres_url: str, rabbitmq_url: str, tmp_path: Path) -> None:
    with (
        serving(settings(postgres_url, rabbitmq_url, tmp_path)) as service,
        calling(service) as stub,
        publishing(rabbitmq_url) as publisher,
    ):
        following = stub.ReadEvents(pb.ReadEventsRequest(run_id=RUN, follow=True), timeout=30)
        publish_frames(publisher, 10)
        publish_end(publisher, a_finished_run(499))

        chunks = list(following)
        manifest = stub.GetManifest(pb.GetManifestRequest(run_id=RUN))
        curve = stub.ReadSeries(pb.ReadSeriesRequest(run_id=RUN, key=pb.SeriesKey(name="loss"), resolution=50))

    assert list(range(500)) == [line.seq for chunk in chunks for line in chunk.lines]
    assert chunks[-1].finished
    assert is_genuine(json.loads(manifest.json))
    assert json.loads(manifest.json)["is_complete"] is True
    assert manifest.json == Path(manifest.path).read_text(encoding="utf-8")
    assert (500, 32, 249.5) == (curve.total_points, len(curve.steps), curve.maxima[-1])


def test_rubbish_is_dead_lettered_with_the_reason(postgres_url: str, rabbitmq_url: str, tmp_path: Path) -> None:
    with serving(settings(postgres_url, rabbitmq_url, tmp_path)), publishing(rabbitmq_url) as publisher:
        publisher.publish([frame_message(signed(b"rubbish"))])
        headers: dict[str, str | int] = {"kind": "run_finished", "proof": KEY.sign("run_finished", b"{}")}
        publisher.publish([Message(EVENTS, event_routing_key(RUN, 4), b"{}", headers)])
        reasons = sorted(_dead_letters(rabbitmq_url, 2))

    assert "run is missing" in reasons[0]
    assert "not a frame of telemetry" in reasons[1]


def _dead_letters(url: str, count: int) -> list[str]:
    reasons: list[str] = []
    connection = pika.BlockingConnection(pika.URLParameters(url))
    channel = connection.channel()
    for _ in range(100):
        method, properties, _body = channel.basic_get(DEAD_EVENTS, auto_ack=True)
        if method is not None:
            reasons.append(properties.headers["reason"])
        if len(reasons) == count:
            break
        connection.sleep(0.1)
    connection.close()
    return reasons


def test_killed_while_it_stores_it_loses_nothing_and_stores_nothing_twice(
    postgres_url: str, rabbitmq_url: str, tmp_path: Path
) -> None:
    names = {"database_url": postgres_url, "broker_url": rabbitmq_url, "manifest_root": str(tmp_path)}
    names["event_key"] = EVENT_KEY
    ports = {"grpc_address": "127.0.0.1:0", "health_address": "127.0.0.1:0"}
    env = {**os.environ, **environment(certificates().service("telemetry"))}
    env |= {variable_of("MOSAIC_TELEMETRY", name): value for name, value in {**names, **ports}.items()}
    command = [sys.executable, "-m", "mosaic_telemetry"]
    process = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)

    with publishing(rabbitmq_url) as publisher, ThreadPoolExecutor(1) as pool:
        enough = threading.Event()
        sender = pool.submit(publish_until, publisher, enough)
        for _ in range(3):
            known = stored_count(postgres_url)
            eventually(partial(stores_more_than, postgres_url, known), "more events are stored")
            process.send_signal(signal.SIGKILL)
            process.wait()
            process = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)
        enough.set()
        frames = sender.result()
        publish_end(publisher, a_finished_run(frames * 50 - 1))
        eventually((tmp_path / RUN / "manifest.json").exists, "the manifest is written")
    process.terminate()
    process.wait()

    manifest = json.loads((tmp_path / RUN / "manifest.json").read_text(encoding="utf-8"))
    assert {"total": frames * 50, "by_kind": {"metric": frames * 50}, "missing": 0} == manifest["events"]
    assert manifest["metrics"][0]["count"] == frames * 50
    assert process.returncode == 0


def test_a_database_that_goes_away_is_waited_for(postgres_server: Server, rabbitmq_url: str, tmp_path: Path) -> None:
    with (
        serving(settings(postgres_server.url, rabbitmq_url, tmp_path)) as service,
        publishing(rabbitmq_url) as publisher,
    ):
        publish_frames(publisher, 5)
        eventually(is_stored(postgres_server.url, 250), "the first events are stored")
        postgres_server.kill()
        assert "database" in check(service.probes())
        publish_frames(publisher, 20)
        postgres_server.start()

        eventually(is_stored(postgres_server.url, 1000), "every event is stored")


def test_a_database_that_takes_no_writes_is_waited_for(postgres_url: str, rabbitmq_url: str, tmp_path: Path) -> None:
    """As after a failover, while the standby is not yet promoted: the frames are good, and nothing is buried."""
    metrics = CollectorRegistry()
    with (
        serving(settings(postgres_url, rabbitmq_url, tmp_path), metrics) as service,
        publishing(rabbitmq_url) as publisher,
    ):
        _let_write(postgres_url, False)
        publish_frames(publisher, 1)
        tries = "mosaic_telemetry_ingest_seconds_count"
        eventually(
            lambda: (metrics.get_sample_value(tries) or 0) > QueueSpec.max_deliveries, "it was tried again and again"
        )
        _let_write(postgres_url, True)

        eventually(is_stored(postgres_url, 50), "every event is stored")
        assert check(service.probes()) == {}
    assert [] == _dead_letters(rabbitmq_url, 1)


def _let_write(database_url: str, allowed: bool) -> None:
    """Change what new sessions may do, and end the old ones."""
    with psycopg.connect(plain_postgres_url(database_url), autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {not allowed}".encode())
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
            [name],
        )


def test_a_service_that_starts_before_its_database_waits_for_it(
    postgres_server: Server, rabbitmq_url: str, tmp_path: Path
) -> None:
    health = f"127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "mosaic_telemetry"]
    values = {
        "database_url": postgres_server.url,
        "broker_url": rabbitmq_url,
        "event_key": EVENT_KEY,
        "manifest_root": str(tmp_path),
        "grpc_address": "127.0.0.1:0",
        "health_address": health,
    }
    named = {variable_of("MOSAIC_TELEMETRY", name): value for name, value in values.items()}
    named |= environment(certificates().service("telemetry"))
    part = Part("telemetry", command, named, folder=tmp_path, health=health)
    postgres_server.kill()
    part.start()
    eventually(lambda: "waiting for a part that is away" in part.last_words(), "it says that it waits")
    assert "database" in part.faults()["start"]

    postgres_server.start()

    part.wait_until_ready()
    assert part.last_words().count("waiting for a part that is away") == 1
    part.stop()
    assert part.exit_status == 0


def test_a_service_that_waits_for_its_database_can_be_stopped(tmp_path: Path) -> None:
    health = f"127.0.0.1:{free_port()}"
    nowhere = {
        "MOSAIC_REGISTRY_DATABASE_URL": f"postgresql://nobody@127.0.0.1:{free_port()}/nothing",
        "MOSAIC_REGISTRY_GRPC_ADDRESS": "127.0.0.1:0",
        "MOSAIC_REGISTRY_HEALTH_ADDRESS": health,
        **environment(certificates().service("registry")),
    }
    part = Part("registry", [sys.executable, "-m", "mosaic_registry"], nowhere, folder=tmp_path, health=health)
    part.start()
    eventually(lambda: "waiting for a part that is away" in part.last_words(), "it says that it waits")

    part.stop()

    assert part.exit_status == 0


def test_a_broker_that_goes_away_is_found_again(rabbitmq_server: Server, postgres_url: str, tmp_path: Path) -> None:
    with (
        serving(settings(postgres_url, rabbitmq_server.url, tmp_path)) as service,
        publishing(rabbitmq_server.url) as publisher,
    ):
        publish_frames(publisher, 5)
        rabbitmq_server.kill()
        eventually(lambda: "broker" in check(service.probes()), "the broken broker is noticed")
        sender = threading.Thread(target=publish_frames, args=(publisher, 20))
        sender.start()
        rabbitmq_server.start()
        sender.join()

        eventually(is_stored(postgres_url, 1000), "every event is stored")
        eventually(lambda: not check(service.probes()), "the service is ready again")


def test_an_unknown_run_has_no_manifest(postgres_url: str, rabbitmq_url: str, tmp_path: Path) -> None:
    with (
        serving(settings(postgres_url, rabbitmq_url, tmp_path)) as service,
        calling(service) as stub,
        pytest.raises(grpc.RpcError) as caught,
    ):
        stub.GetManifest(pb.GetManifestRequest(run_id="nobody"))

    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
