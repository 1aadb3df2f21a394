"""The registry as its callers meet it: over gRPC, on SQLite and on PostgreSQL."""

from __future__ import annotations

import queue
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from prometheus_client import CollectorRegistry

from mosaic.hosting.grpc_server import GrpcServer
from mosaic.hosting.health import HealthServer
from mosaic.testing.certificates import Everybody, certificates
from mosaic.wire.v1 import registry_pb2 as pb
from mosaic.wire.v1 import registry_pb2_grpc
from mosaic_registry.entrypoints.grpc_api import RegistryApi
from mosaic_registry.entrypoints.service import RegistryService
from mosaic_registry.settings import Settings

Stub = Everybody


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.integration)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{tmp_path / 'registry.db'}"


@pytest.fixture
def serve() -> Iterator[Callable[[Settings], Stub]]:
    closing: list[Callable[[], object]] = []

    def start(settings: Settings) -> Stub:
        service = RegistryService(settings, metrics=CollectorRegistry())
        server = GrpcServer(service.registrations(), "127.0.0.1:0", certificates().service("registry"))
        service.start()
        server.start()
        everybody = Everybody(server.address, "registry", registry_pb2_grpc.RegistryStub, RegistryApi)
        closing.extend([lambda: server.stop(1), service.stop, everybody.close])
        return everybody

    yield start
    for close in reversed(closing):
        close()


def a_request(agent_id: str = "a1", **more: object) -> pb.RegisterWorkerRequest:
    request = pb.RegisterWorkerRequest(
        agent_id=agent_id,
        node=pb.Node(node_id="n1", hostname="host", cpus=4, memory_mb=8_000),
        worker=pb.Worker(name="reference", version="1.0.0", launch=["-m", "mosaic_reference"]),
        slots=2,
        queue=f"runs.reference.{agent_id}",
        protocol_versions=["MOSAIC/2.1", "MOSAIC/2.0"],
    )
    request.MergeFrom(pb.RegisterWorkerRequest(**more))  # type: ignore[arg-type]
    return request


def watch(stub: Stub) -> queue.Queue[pb.Fleet]:
    heard: queue.Queue[pb.Fleet] = queue.Queue()

    def follow() -> None:
        try:
            for fleet in stub.WatchFleet(pb.WatchFleetRequest()):
                heard.put(fleet)
        except grpc.RpcError:
            return

    threading.Thread(target=follow, daemon=True).start()
    return heard


def test_an_agent_registers_beats_and_leaves(database_url: str, serve: Callable[[Settings], Stub]) -> None:
    stub = serve(Settings(database_url))

    welcome = stub.RegisterWorker(a_request())
    beat = stub.Heartbeat(pb.HeartbeatRequest(agent_id="a1", session_token=welcome.session_token))
    fleet = stub.GetFleet(pb.GetFleetRequest())
    stub.Leave(pb.LeaveRequest(agent_id="a1", session_token=welcome.session_token))

    assert (
        welcome.accepted_version,
        welcome.heartbeat_interval_s,
        beat.draining,
    ) == ("MOSAIC/2.0", 5.0, False)
    assert [(agent.agent_id, agent.alive, fleet.nodes[0].alive) for agent in fleet.agents] == [("a1", True, True)]
    assert not stub.GetFleet(pb.GetFleetRequest()).agents


def test_a_wrong_token_is_unauthenticated(database_url: str, serve: Callable[[Settings], Stub]) -> None:
    stub = serve(Settings(database_url))
    stub.RegisterWorker(a_request())

    with pytest.raises(grpc.RpcError) as caught:
        stub.Heartbeat(pb.HeartbeatRequest(agent_id="a1", session_token="wrong"))

    assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED


def test_a_watcher_hears_the_fleet_now_and_after_each_change(
    database_url: str, serve: Callable[[Settings], Stub]
) -> None:
    stub = serve(Settings(database_url))
    heard = watch(stub)
    assert not heard.get(timeout=5).agents

    stub.RegisterWorker(a_request())

    assert [agent.agent_id for agent in heard.get(timeout=5).agents] == ["a1"]


def test_a_silent_agent_is_pushed_as_dead(database_url: str, serve: Callable[[Settings], Stub]) -> None:
    stub = serve(Settings(database_url, heartbeat_timeout_s=0.3))
    stub.RegisterWorker(a_request())
    heard = watch(stub)
    assert heard.get(timeout=5).agents[0].alive

    fleet = heard.get(timeout=5)

    assert (fleet.agents[0].alive, fleet.nodes[0].alive) == (False, False)


def test_replicas_on_one_database_hear_each_other(postgres_url: str, serve: Callable[[Settings], Stub]) -> None:
    one, other = serve(Settings(postgres_url)), serve(Settings(postgres_url))
    heard = watch(other)
    heard.get(timeout=5)

    welcome = one.RegisterWorker(a_request())

    assert [agent.agent_id for agent in heard.get(timeout=5).agents] == ["a1"]
    other.Heartbeat(pb.HeartbeatRequest(agent_id="a1", session_token=welcome.session_token))


def test_many_agents_that_announce_at_once_all_stand_in_the_fleet(
    database_url: str, serve: Callable[[Settings], Stub]
) -> None:
    stub = serve(Settings(database_url))
    calls = [stub.RegisterWorker.future(a_request(f"a{number}")) for number in range(20)]

    tokens = {call.result(timeout=30).session_token for call in calls}

    assert 20 == len(tokens) == len(stub.GetFleet(pb.GetFleetRequest()).agents)


def test_a_registry_that_restarts_knows_its_agents(database_url: str, serve: Callable[[Settings], Stub]) -> None:
    welcome = serve(Settings(database_url)).RegisterWorker(a_request())

    again = serve(Settings(database_url))

    again.Heartbeat(pb.HeartbeatRequest(agent_id="a1", session_token=welcome.session_token))
    assert again.DescribeWorker(pb.DescribeWorkerRequest(name="reference")).name == "reference"


def test_stopping_ends_the_watchers_at_once(tmp_path: Path) -> None:
    service = RegistryService(Settings(f"sqlite:///{tmp_path / 'r.db'}"), metrics=CollectorRegistry())
    server = GrpcServer(service.registrations(), "127.0.0.1:0", certificates().service("registry"))
    service.start()
    server.start()
    everybody = Everybody(server.address, "registry", registry_pb2_grpc.RegistryStub, RegistryApi)
    heard = watch(everybody)
    heard.get(timeout=5)

    before = time.monotonic()
    service.stop()
    server.stop(10)

    assert time.monotonic() - before < 5
    everybody.close()


def test_readiness_and_metrics_are_served(tmp_path: Path) -> None:
    metrics = CollectorRegistry()
    service = RegistryService(Settings(f"sqlite:///{tmp_path / 'r.db'}"), metrics=metrics)
    health = HealthServer("127.0.0.1:0", service.probes(), metrics)
    service.start()
    health.start()

    with urllib.request.urlopen(f"http://{health.address}/readyz") as ready:
        assert ready.read() == b'{"status": "ready", "faults": {}}'
    with urllib.request.urlopen(f"http://{health.address}/metrics") as answer:
        assert b"mosaic_registry_heartbeats_total 0.0" in answer.read()

    health.stop()
    service.stop()
