"""Whatever arrives at a service, its answer names the fault: "internal" is for faults of our own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from prometheus_client import CollectorRegistry

from mosaic.hosting.grpc_server import GrpcServer, Registration
from mosaic.model.resources import Resources
from mosaic.testing.certificates import Everybody, certificates
from mosaic.wire.v1 import (
    registry_pb2,
    registry_pb2_grpc,
    scheduler_pb2,
    scheduler_pb2_grpc,
    telemetry_pb2,
    telemetry_pb2_grpc,
)
from mosaic_registry.entrypoints.service import RegistryService
from mosaic_registry.settings import Settings as RegistrySettings
from mosaic_telemetry.entrypoints.service import build as build_telemetry
from mosaic_telemetry.settings import Settings as TelemetrySettings
from tests.fakes.scheduler import Desk, a_fleet
from tests.fakes.telemetry import EVENT_KEY, RUN, a_finished_run, encoded, episode, metrics

TEXTS = ["nonsense", "", "\0", "\N{SNOWMAN}", "x" * 5000]
REALS = [math.nan, math.inf, -math.inf, -1.0, 1e308]
GARBAGE: dict[int, list[Any]] = {
    FieldDescriptor.CPPTYPE_STRING: TEXTS,
    FieldDescriptor.CPPTYPE_DOUBLE: REALS,
    FieldDescriptor.CPPTYPE_INT32: [-(2**31), -1, 2**31 - 1],
    FieldDescriptor.CPPTYPE_INT64: [-(2**63), -1, 2**63 - 1],
    FieldDescriptor.CPPTYPE_ENUM: [0, 99, -1],
    FieldDescriptor.CPPTYPE_BOOL: [True],
}
STAMPS = [Timestamp(seconds=seconds) for seconds in (-(2**63), 2**62, 253_402_300_799, -62_135_596_800)]


def mutations(good: Callable[[], Message]) -> Iterator[tuple[str, Any, Message]]:
    """Yield where garbage is, what it is, and a request that is good but for it."""
    for path, value, spoil in _spoilers(good()):
        request = good()
        spoil(request)
        yield path, value, request


def _spoilers(message: Message) -> Iterator[tuple[str, Any, Callable[[Message], None]]]:
    for field in message.DESCRIPTOR.fields:
        if _is_nested(field):
            for path, value, spoil in _spoilers(_example(field, message)):
                inner = _example(field, message)
                spoil(inner)
                yield f"{field.name}.{path}", value, partial(_put, field=field, value=inner)
        else:
            for value in _garbage(field):
                yield field.name, value, partial(_put, field=field, value=value)


def _is_nested(field: FieldDescriptor) -> bool:
    kind = field.message_type
    return kind is not None and not kind.GetOptions().map_entry and kind.full_name != Timestamp.DESCRIPTOR.full_name


def _garbage(field: FieldDescriptor) -> list[Any]:
    if field.message_type is None:
        return GARBAGE[field.cpp_type]
    if field.message_type.GetOptions().map_entry:
        return [entry for text in TEXTS for entry in ({text: "value"}, {"name": text})]
    return STAMPS


def _example(field: FieldDescriptor, message: Message) -> Any:
    """Return a copy of what *message* holds in *field*, or an empty one."""
    copy = type(message)()
    copy.CopyFrom(message)
    held = getattr(copy, field.name)
    return (held[0] if held else held.add()) if field.is_repeated else held


def _put(request: Message, field: FieldDescriptor, value: Any) -> None:
    place = getattr(request, field.name)
    request.ClearField(field.name)  # type: ignore[arg-type]
    if isinstance(value, dict):
        place.update(value)
    elif field.is_repeated:
        getattr(request, field.name).append(value)
    elif field.message_type:
        getattr(request, field.name).CopyFrom(value)
    else:
        setattr(request, field.name, value)


@dataclass(frozen=True)
class Served:
    """A service behind a port: its stub, and how to make a request of each call that is good."""

    stub: Any
    good: Mapping[str, Callable[[], Message]]


Url = Callable[[str], str]


def announcement() -> registry_pb2.RegisterWorkerRequest:
    gpu = registry_pb2.Gpu(gpu_id="gpu", healthy=True)
    return registry_pb2.RegisterWorkerRequest(
        agent_id="agent",
        node=registry_pb2.Node(node_id="node", hostname="host", cpus=4, memory_mb=8000, gpus=[gpu]),
        worker=registry_pb2.Worker(name="toy", version="1.0", launch=["-m", "toy"]),
        slots=2,
        queue="runs.toy.agent",
        protocol_versions=["MOSAIC/2.0"],
    )


@contextmanager
def registry(url: Url, folder: Path) -> Iterator[Served]:
    service = RegistryService(RegistrySettings(url("mosaic_registry.adapters.migrations")), metrics=CollectorRegistry())
    service.start()
    with served(service.registrations(), registry_pb2_grpc.RegistryStub) as stub:

        def display(message: Any) -> Callable[[], Message]:
            """Return how *message* is made for an agent that has just registered."""

            def make() -> Message:
                token = stub.RegisterWorker(announcement()).session_token
                made: Message = message(agent_id="agent", session_token=token)
                return made

            return make

        good: dict[str, Callable[[], Message]] = {
            "RegisterWorker": announcement,
            "Heartbeat": display(registry_pb2.HeartbeatRequest),
            "Retire": display(registry_pb2.RetireRequest),
            "Leave": display(registry_pb2.LeaveRequest),
            "RenewCertificate": lambda: registry_pb2.RenewCertificateRequest(agent_id="agent", request="x"),
            "Invite": lambda: registry_pb2.InviteRequest(uses=1, ttl_s=60),
            "ListAdmitted": registry_pb2.ListAdmittedRequest,
            "RevokeAgent": lambda: registry_pb2.RevokeAgentRequest(agent_id="agent"),
            "DescribeWorker": lambda: registry_pb2.DescribeWorkerRequest(name="toy"),
            "GetFleet": registry_pb2.GetFleetRequest,
            "WatchFleet": registry_pb2.WatchFleetRequest,
            "Drain": lambda: registry_pb2.DrainRequest(agent_id="agent", draining=True),
        }
        yield Served(stub, good)
    service.stop()


@contextmanager
def scheduler(url: Url, folder: Path) -> Iterator[Served]:
    desk = Desk(folder, a_fleet(cpus=1000, slots=1000), url=url("mosaic_scheduler.adapters.migrations"))
    api = desk.api()

    def admitted() -> str:
        run = desk.submit(max_retries=0, resources=Resources(memory_mb=1))
        desk.rounds.plan()
        return run.run_id

    def command() -> Message:
        return scheduler_pb2.RunCommand(run_id=admitted(), reason="because")

    def claim() -> Any:
        return scheduler_pb2.ClaimRequest(run_id=admitted(), attempt=1, agent_id="agent-1", session_token="session")

    def renew() -> Message:
        launch = stub.Claim(claim())
        held = scheduler_pb2.HeldAttempt(run_id=launch.run_id, attempt=1, control_token=launch.control_token)
        return scheduler_pb2.RenewRequest(agent_id="agent-1", session_token="session", held=[held])

    def report() -> Message:
        launch = stub.Claim(claim())
        return scheduler_pb2.ReportRequest(
            run_id=launch.run_id, attempt=1, control_token=launch.control_token, fact="failed", failure_kind="crash"
        )

    def submission() -> Message:
        return scheduler_pb2.SubmitRequest(spec=scheduler_pb2.RunSpec(worker="toy", priority="low"))

    add = scheduler_pb2_grpc.add_SchedulerServicer_to_server
    registration = Registration("mosaic.wire.v1.Scheduler", api, add)
    with served([registration], scheduler_pb2_grpc.SchedulerStub) as stub:
        run_id = admitted()
        good: dict[str, Callable[[], Message]] = {
            "Submit": submission,
            **dict.fromkeys(("Cancel", "Pause", "Resume", "Retry"), command),
            "GetRun": lambda: scheduler_pb2.GetRunRequest(run_id=run_id),
            "ListRuns": scheduler_pb2.ListRunsRequest,
            "WatchRuns": lambda: scheduler_pb2.WatchRunsRequest(run_ids=[run_id]),
            "Explain": lambda: scheduler_pb2.GetRunRequest(run_id=run_id),
            "SetTeam": lambda: scheduler_pb2.SetTeamRequest(
                team=scheduler_pb2.Team(name="vision", weight=2), terms=["weight"]
            ),
            "ListTeams": scheduler_pb2.ListTeamsRequest,
            "SetSecret": lambda: scheduler_pb2.SetSecretRequest(name="hub", value="x", team="vision"),
            "ListSecrets": scheduler_pb2.ListSecretsRequest,
            "DeleteSecret": lambda: scheduler_pb2.DeleteSecretRequest(name="hub", team="vision"),
            "Claim": claim,
            "Renew": renew,
            "Report": report,
        }
        yield Served(stub, good)
        api.end_streams()
    desk.engine.dispose()


@contextmanager
def telemetry(url: Url, folder: Path) -> Iterator[Served]:
    database = url("mosaic_telemetry.adapters.migrations")
    service = build_telemetry(TelemetrySettings(database_url=database, manifest_root=str(folder), event_key=EVENT_KEY))
    service.start()
    service.ingest.send([encoded([*metrics(5), episode(1, 2.0)])])
    service.run_finished(a_finished_run(5))
    key = telemetry_pb2.SeriesKey(name="loss")
    good: dict[str, Callable[[], Message]] = {
        "ReadEvents": lambda: telemetry_pb2.ReadEventsRequest(run_id=RUN),
        "ListSeries": lambda: telemetry_pb2.ListSeriesRequest(run_id=RUN),
        "ReadSeries": lambda: telemetry_pb2.ReadSeriesRequest(run_id=RUN, key=key, resolution=10),
        "ReadEpisodes": lambda: telemetry_pb2.ReadEpisodesRequest(run_id=RUN),
        "ReadLogs": lambda: telemetry_pb2.ReadLogsRequest(run_id=RUN),
        "Summarise": lambda: telemetry_pb2.SummariseRequest(run_ids=[RUN]),
        "GetManifest": lambda: telemetry_pb2.GetManifestRequest(run_id=RUN),
    }
    with served(service.registrations(), telemetry_pb2_grpc.TelemetryStub) as stub:
        yield Served(stub, good)
    service.stop()


@contextmanager
def served(registrations: Sequence[Registration], stub: Any) -> Iterator[Any]:
    server = GrpcServer(registrations, "127.0.0.1:0", certificates().service("any"))
    server.start()
    everybody = Everybody(server.address, "any", stub, type(registrations[0].servicer))
    yield everybody
    everybody.close()
    server.stop(grace_s=0)


def answer(stub: Any, method: MethodDescriptor, request: Message) -> grpc.StatusCode:
    """Return how the call ends; of a stream, how its first message comes."""
    call = getattr(stub, method.name)
    try:
        if method.server_streaming:
            stream = call(request, timeout=20)
            next(stream, None)
            stream.cancel()
        else:
            call(request, timeout=20)
    except grpc.RpcError as error:
        return error.code()  # type: ignore[attr-defined,no-any-return]
    return grpc.StatusCode.OK


SERVICES = {
    registry: registry_pb2.DESCRIPTOR.services_by_name["Registry"],
    scheduler: scheduler_pb2.DESCRIPTOR.services_by_name["Scheduler"],
    telemetry: telemetry_pb2.DESCRIPTOR.services_by_name["Telemetry"],
}

#: How a call may end whatever is asked: an honest answer, or a refusal that says what is wrong.
FAIR = {
    grpc.StatusCode.OK,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
}


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize(
    ("service", "method"),
    [
        pytest.param(service, method, id=method.full_name.removeprefix("mosaic.wire.v1."))
        for service, descriptor in SERVICES.items()
        for method in descriptor.methods
    ],
)
def test_nothing_that_is_asked_is_an_internal_error(
    service: Any, method: MethodDescriptor, database: str, migrated_url: Callable[[str, str], str], tmp_path: Path
) -> None:
    with service(lambda migrations: migrated_url(database, migrations), tmp_path) as tried:
        good = tried.good[method.name]
        assert answer(tried.stub, method, good()) in FAIR

        unfair = [
            f"{path}={value!r:.40}: {code.name}"
            for path, value, request in mutations(good)
            if (code := answer(tried.stub, method, request)) not in FAIR
        ]

    assert not unfair, "\n".join(unfair)
