"""The agent's side of the APIs, over real gRPC."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import grpc
import pytest

from mosaic.agent.control.grpc_clients import GrpcRegistry, GrpcScheduler
from mosaic.agent.health import health_server
from mosaic.agent.ports import PROTOCOL_VERSIONS
from mosaic.errors import ServiceUnavailable, StaleAttempt
from mosaic.hosting.access import needs
from mosaic.hosting.grpc_server import GrpcServer, Registration
from mosaic.ids import AgentId, GpuId, NodeId, RunId, WorkerName
from mosaic.model.attempt import AttemptDirective, Directive, HeldAttempt, Report
from mosaic.model.fleet import Announcement, Gpu, Node, Worker
from mosaic.model.identity import Permission
from mosaic.model.resources import GpuShare
from mosaic.testing.certificates import certificates
from mosaic.wire.v1 import registry_pb2, registry_pb2_grpc, scheduler_pb2, scheduler_pb2_grpc
from tests.fakes.agent import Bench, eventually


class Recorder(registry_pb2_grpc.RegistryServicer, scheduler_pb2_grpc.SchedulerServicer):
    """Keeps what it was asked and gives prepared answers."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.launch = scheduler_pb2.Launch()
        self.directives: list[scheduler_pb2.AttemptDirective] = []
        self.is_stale = False

    @needs(Permission.AGENT)
    def RegisterWorker(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.asked.append(request)
        return registry_pb2.RegisterWorkerResponse(
            accepted_version="MOSAIC/2.0", session_token="token", heartbeat_interval_s=3.0
        )

    @needs(Permission.AGENT)
    def Heartbeat(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.asked.append(request)
        return registry_pb2.HeartbeatResponse(draining=True)

    @needs(Permission.AGENT)
    def Retire(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.asked.append(request)
        return registry_pb2.RetireResponse()

    @needs(Permission.AGENT)
    def Claim(self, request: Any, context: grpc.ServicerContext) -> Any:
        if self.is_stale:
            raise StaleAttempt(request.run_id, request.attempt, "a newer attempt exists")
        return self.launch

    @needs(Permission.AGENT)
    def Renew(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.asked.append(request)
        return scheduler_pb2.RenewResponse(directives=self.directives)

    @needs(Permission.AGENT)
    def Report(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.asked.append(request)
        return scheduler_pb2.ReportResponse()


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def address(recorder: Recorder) -> Iterator[str]:
    registrations = [
        Registration("mosaic.wire.v1.Registry", recorder, registry_pb2_grpc.add_RegistryServicer_to_server),
        Registration("mosaic.wire.v1.Scheduler", recorder, scheduler_pb2_grpc.add_SchedulerServicer_to_server),
    ]
    server = GrpcServer(registrations, "127.0.0.1:0", certificates().every())
    server.start()
    yield server.address
    server.stop(0)


@pytest.fixture
def scheduler(address: str) -> Iterator[GrpcScheduler]:
    service = GrpcScheduler(address, certificates().agent("agent-1"))
    yield service
    service.close()


def test_an_agent_presents_its_machine_and_its_worker(recorder: Recorder, address: str) -> None:
    machine = Node(NodeId("node-1"), "host", 8, 1024, (Gpu(GpuId("GPU-1"), "A100", 40_000),))
    worker = Worker(WorkerName("tabular"), "1.0", versions={"numpy": "2"}, launch=("-m", "x"))

    registry = GrpcRegistry(address, certificates().agent("agent-1"))
    welcome = registry.register(
        Announcement(AgentId("agent-1"), machine, worker, 4, "runs.tabular.agent-1", PROTOCOL_VERSIONS)
    )
    is_draining = registry.heartbeat("agent-1", welcome.session_token, machine.gpus)
    registry.close()

    introduced, beat = recorder.asked
    assert ("token", 3.0) == (welcome.session_token, welcome.heartbeat_interval_s)
    assert ("node-1", "GPU-1") == (introduced.node.node_id, introduced.node.gpus[0].gpu_id)
    assert ["-m", "x"] == list(introduced.worker.launch)
    assert ["MOSAIC/2.0"] == list(introduced.protocol_versions)
    assert ("token", "A100") == (beat.session_token, beat.gpus[0].model)
    assert is_draining


def test_an_agent_can_ask_for_nothing_new(recorder: Recorder, address: str) -> None:
    registry = GrpcRegistry(address, certificates().agent("agent-1"))
    registry.retire("agent-1", "token")
    registry.close()

    assert [registry_pb2.RetireRequest(agent_id="agent-1", session_token="token")] == recorder.asked


def test_a_claim_brings_the_whole_launch(recorder: Recorder, scheduler: GrpcScheduler) -> None:
    recorder.launch = scheduler_pb2.Launch(
        run_id="run-1",
        attempt=2,
        spec=scheduler_pb2.RunSpec(worker="tabular", priority="normal", team="vision", user="ada"),
        lease=scheduler_pb2.Lease(cpus=1, gpus=[scheduler_pb2.GpuShare(gpu_id="GPU-1", share=0.5)]),
        secrets={"KEY": "swordfish"},
        grace_s=3.0,
        lease_for_s=12.0,
        resume_from="checkpoints/1",
    )

    launch = scheduler.claim(RunId("run-1"), 2, "agent-1", "token")

    assert ("run-1", 2, None) == (launch.run_id, launch.attempt, launch.spec.seed)
    assert ("vision", "ada") == (launch.spec.team, launch.spec.user)
    assert (GpuShare(GpuId("GPU-1"), 0.5),) == launch.lease.gpus
    assert {"KEY": "swordfish"} == launch.secrets
    assert "swordfish" not in repr(launch)
    assert "checkpoints/1" == launch.resume_from
    assert (timedelta(seconds=3), timedelta(seconds=12)) == (launch.grace, launch.lease_for)


def test_a_seed_of_nought_is_a_seed(recorder: Recorder, scheduler: GrpcScheduler) -> None:
    spec = scheduler_pb2.RunSpec(worker="tabular", priority="normal", seed=0)
    recorder.launch = scheduler_pb2.Launch(run_id="run-1", attempt=1, spec=spec, lease=scheduler_pb2.Lease())

    assert 0 == scheduler.claim(RunId("run-1"), 1, "agent-1", "token").spec.seed


def test_a_stale_claim_is_our_error_with_the_servers_words(recorder: Recorder, scheduler: GrpcScheduler) -> None:
    recorder.is_stale = True

    with pytest.raises(StaleAttempt, match="a newer attempt exists"):
        scheduler.claim(RunId("run-1"), 1, "agent-1", "token")


def test_renewals_bring_directives(recorder: Recorder, scheduler: GrpcScheduler) -> None:
    recorder.directives = [
        scheduler_pb2.AttemptDirective(run_id="run-1", attempt=1, directive=scheduler_pb2.DIRECTIVE_PREEMPT)
    ]

    told = scheduler.renew([HeldAttempt(RunId("run-1"), 1, "control")], "agent-1", "token")

    assert [AttemptDirective(RunId("run-1"), 1, Directive.PREEMPT)] == told
    assert "control" == recorder.asked[0].held[0].control_token


def test_every_directive_of_the_wire_is_known() -> None:
    names = {name.removeprefix("DIRECTIVE_") for name, _ in scheduler_pb2.Directive.items()}

    assert names == set(Directive.__members__)


def test_a_report_keeps_what_it_says(recorder: Recorder, scheduler: GrpcScheduler) -> None:
    moment = datetime(2030, 1, 1, tzinfo=timezone.utc)

    scheduler.report(
        Report(RunId("run-1"), 1, "control", "failed", "crash", "why", 0, 9, "checkpoints/1", moment, {"a": "1"})
    )

    [asked] = recorder.asked
    assert ("failed", "crash", "why", 9) == (asked.fact, asked.failure_kind, asked.reason, asked.last_seq)
    assert asked.HasField("exit_code")
    assert moment == asked.checkpoint_at.ToDatetime(tzinfo=timezone.utc)


def test_a_service_that_is_away_is_unavailable() -> None:
    scheduler = GrpcScheduler("127.0.0.1:1", certificates().agent("agent-1"))

    with pytest.raises(ServiceUnavailable, match="the scheduler does not answer at"):
        scheduler.report(Report(RunId("run-1"), 1, "control", "started"))

    scheduler.close()


def test_health_says_what_is_not_reached(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    health = health_server("127.0.0.1:0", bench.agent)
    health.start()
    base = f"http://{health.address}"

    with pytest.raises(HTTPError) as caught:
        urllib.request.urlopen(base + "/readyz")
    faults = json.load(caught.value)["faults"]
    caught.value.close()
    bench.agent.start()
    eventually(lambda: not bench.agent.faults())
    with urllib.request.urlopen(base + "/metrics") as answer:
        metrics = answer.read().decode()

    assert {"registry": "not registered yet"} == faults
    assert "mosaic_agent_ready 1.0" in metrics
    assert "mosaic_agent_attempts 0.0" in metrics
    bench.agent.stop()
    health.stop()


def test_an_agent_without_settings_says_what_is_missing_and_exits_with_2() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "mosaic.agent"], capture_output=True, text=True, check=False, env={"PATH": os.defpath}
    )

    assert 2 == answer.returncode
    assert "MOSAIC_BROKER_URL is not set" in answer.stderr
