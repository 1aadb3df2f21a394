"""Real servers and real certificates: who gets an answer, and who does not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from mosaic.errors import BadInput
from mosaic.hosting.access import needs, peer_of
from mosaic.hosting.grpc_server import GrpcServer, Registration
from mosaic.hosting.pki import Authority, identity_files, key_pem, new_key, utc_now
from mosaic.model.identity import Permission
from mosaic.testing.certificates import Certificates
from mosaic.wire.channel import open_channel
from mosaic.wire.tls import TlsFiles
from mosaic.wire.v1 import registry_pb2 as pb
from mosaic.wire.v1.registry_pb2_grpc import RegistryServicer, RegistryStub, add_RegistryServicer_to_server

UNAVAILABLE, UNAUTHENTICATED, DENIED = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
)


class Answering(RegistryServicer):
    """Tells services the serial of the certificate they show."""

    def __init__(self) -> None:
        self.released = threading.Event()

    @needs(Permission.SERVICE)
    def GetFleet(self, request: Any, context: Any) -> pb.Fleet:
        peer = peer_of(context)
        assert peer is not None
        return pb.Fleet(workers=[pb.Worker(name=peer.serial)])

    @needs(Permission.SERVICE)
    def WatchFleet(self, request: Any, context: Any) -> Iterator[pb.Fleet]:
        yield pb.Fleet(revision=1)
        self.released.wait(20)
        yield pb.Fleet(revision=2)

    @needs(Permission.FLEET_READ)
    def DescribeWorker(self, request: Any, context: Any) -> pb.Worker:
        return pb.Worker(name="told")

    def Drain(self, request: Any, context: Any) -> pb.DrainResponse:
        return pb.DrainResponse()


@pytest.fixture
def fleet(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path / "pki")


@pytest.fixture
def servicer() -> Answering:
    return Answering()


@pytest.fixture
def server(fleet: Certificates, servicer: Answering) -> Iterator[GrpcServer]:
    registration = Registration("mosaic.wire.v1.Registry", servicer, add_RegistryServicer_to_server)
    server = GrpcServer([registration], "127.0.0.1:0", fleet.service("registry"))
    server.start()
    yield server
    servicer.released.set()
    server.stop(0)


def asked(channel: grpc.Channel, method: str = "GetFleet", request: Any = None) -> grpc.StatusCode:
    """Return how a call on *channel* ends."""
    with channel:
        try:
            getattr(RegistryStub(channel), method)(request or pb.GetFleetRequest(), timeout=10)
        except grpc.RpcError as error:
            return error.code()  # type: ignore[attr-defined,no-any-return]
    return grpc.StatusCode.OK


def files_of(folder: Path, ca: Authority, believed: bytes, lifetime: timedelta = timedelta(hours=1)) -> TlsFiles:
    """Return the files of a console that *ca* has issued and that believes *believed*."""
    key = new_key()
    issued = ca.issue_service("console", key, now=utc_now() - timedelta(days=1), lifetime=timedelta(days=1) + lifetime)
    return identity_files(folder, "console", ca=believed, certificate=issued.pem, key=key_pem(key))


def test_a_service_of_the_fleet_is_answered(server: GrpcServer, fleet: Certificates) -> None:
    assert grpc.StatusCode.OK is asked(open_channel(server.address, "registry", fleet.service("scheduler")))


def test_without_tls_there_is_no_answer(server: GrpcServer) -> None:
    assert UNAVAILABLE is asked(grpc.insecure_channel(server.address))


def test_without_a_certificate_there_is_no_answer(server: GrpcServer, fleet: Certificates) -> None:
    credentials = grpc.ssl_channel_credentials(fleet.authority.ca_pem)
    options = [("grpc.ssl_target_name_override", "registry.mosaic.internal")]

    assert UNAVAILABLE is asked(grpc.secure_channel(server.address, credentials, options))


def test_a_certificate_of_another_ca_is_none(server: GrpcServer, fleet: Certificates, tmp_path: Path) -> None:
    forged = files_of(tmp_path, Authority.new(utc_now()), fleet.authority.ca_pem)

    assert UNAVAILABLE is asked(open_channel(server.address, "registry", forged))


def test_an_expired_certificate_is_none(server: GrpcServer, fleet: Certificates, tmp_path: Path) -> None:
    expired = files_of(tmp_path, fleet.authority, fleet.authority.ca_pem, timedelta(seconds=-1))

    assert UNAVAILABLE is asked(open_channel(server.address, "registry", expired))


def test_an_agent_is_no_service_and_no_console(server: GrpcServer, fleet: Certificates) -> None:
    agent = fleet.agent("console")

    assert DENIED is asked(open_channel(server.address, "registry", agent))
    assert UNAUTHENTICATED is asked(
        open_channel(server.address, "registry", agent), "DescribeWorker", pb.DescribeWorkerRequest()
    )


def test_a_service_with_the_consoles_host_name_is_not_the_console(
    server: GrpcServer, fleet: Certificates, tmp_path: Path
) -> None:
    key = new_key()
    hosts = ["console.mosaic.internal", "mosaic://service/console"]
    issued = fleet.authority.issue_service("telemetry", key, now=utc_now(), hosts=hosts)
    ca = fleet.authority.ca_pem
    disguised = identity_files(tmp_path / "x", "x", ca=ca, certificate=issued.pem, key=key_pem(key))

    channel = open_channel(server.address, "registry", disguised)

    assert UNAUTHENTICATED is asked(channel, "DescribeWorker", pb.DescribeWorkerRequest())


def test_a_method_that_declares_nothing_is_closed(server: GrpcServer, fleet: Certificates) -> None:
    assert DENIED is asked(fleet.as_console(server.address, "registry"), "Drain", pb.DrainRequest())


def test_a_server_is_known_by_its_certificate_not_by_its_address(server: GrpcServer, fleet: Certificates) -> None:
    assert UNAVAILABLE is asked(open_channel(server.address, "scheduler", fleet.service("console")))


def test_an_agent_cannot_serve_as_the_registry(fleet: Certificates) -> None:
    impostor = GrpcServer([], "127.0.0.1:0", fleet.agent("registry.mosaic.internal"))
    impostor.start()

    assert UNAVAILABLE is asked(open_channel(impostor.address, "registry", fleet.service("scheduler")))
    impostor.stop(0)


def test_health_says_whether_it_serves_and_nobody_reads_the_services_from_the_server(
    server: GrpcServer, fleet: Certificates
) -> None:
    with open_channel(server.address, "registry", fleet.agent("a1")) as channel:
        health = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
        reflect = channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
        with pytest.raises(grpc.RpcError) as caught:
            next(reflect(iter([b""])))

    assert health_pb2.HealthCheckResponse.SERVING == health.status
    assert grpc.StatusCode.UNIMPLEMENTED is caught.value.code()


def test_a_renewed_certificate_is_shown_by_the_next_call_and_streams_go_on(
    server: GrpcServer, servicer: Answering, fleet: Certificates
) -> None:
    files = fleet.service("scheduler")
    with open_channel(server.address, "registry", files) as channel:
        stub = RegistryStub(channel)
        stream = stub.WatchFleet(pb.WatchFleetRequest(), timeout=30)
        assert 1 == next(stream).revision
        before = stub.GetFleet(pb.GetFleetRequest()).workers[0].name

        fleet.service("scheduler")
        after = stub.GetFleet(pb.GetFleetRequest()).workers[0].name
        servicer.released.set()

        assert before != after
        assert 2 == next(stream).revision


def test_a_server_shows_its_renewed_certificate_and_believes_a_new_ca(
    server: GrpcServer, fleet: Certificates, tmp_path: Path
) -> None:
    successor = Authority.new(utc_now())
    both = fleet.authority.ca_pem + successor.ca_pem
    joined = files_of(tmp_path / "x", successor, both)
    assert UNAVAILABLE is asked(open_channel(server.address, "registry", joined))

    key = new_key()
    issued = successor.issue_service("registry", key, now=utc_now())
    identity_files(tmp_path / "pki", "registry", ca=both, certificate=issued.pem, key=key_pem(key))

    assert grpc.StatusCode.OK is asked(open_channel(server.address, "registry", joined))


def test_a_half_written_certificate_disturbs_nobody(server: GrpcServer, fleet: Certificates, tmp_path: Path) -> None:
    files = fleet.service("scheduler")
    with open_channel(server.address, "registry", files) as channel:
        stub = RegistryStub(channel)
        stub.GetFleet(pb.GetFleetRequest())
        for name in ("registry.pem", "scheduler.pem"):
            (tmp_path / "pki" / name).write_text("half")

        stub.GetFleet(pb.GetFleetRequest(), timeout=10)
        with open_channel(server.address, "registry", fleet.service("telemetry")) as another:
            RegistryStub(another).GetFleet(pb.GetFleetRequest(), timeout=10)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"ca": ""}, "MOSAIC_TLS_CA_FILE is not set"),
        ({"ca": "/nowhere"}, "MOSAIC_TLS_CA_FILE=/nowhere: cannot be read: No such file"),
        ({"key": "/nowhere"}, "cannot be read: No such file"),
        ({"certificate": "/etc/hostname"}, "they hold no certificate with its key"),
        ({"ca": "/etc/hostname"}, "it holds no certificate"),
    ],
)
def test_files_that_cannot_be_used_are_named(fleet: Certificates, change: dict[str, str], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        replace(fleet.service("registry"), **change).read()
