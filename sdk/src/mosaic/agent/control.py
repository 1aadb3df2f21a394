"""The registry and the scheduler over gRPC, as the agent sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import grpc

from mosaic.agent.inventory import Gpu, Machine
from mosaic.agent.ports import (
    Directive,
    GpuShare,
    Held,
    Introduction,
    Launch,
    Report,
    Welcome,
    Wish,
    WorkerProfile,
)
from mosaic.ids import RunId
from mosaic.wire.channel import open_channel
from mosaic.wire.convert import to_timestamp
from mosaic.wire.status import error_from
from mosaic.wire.v1 import registry_pb2, registry_pb2_grpc, scheduler_pb2, scheduler_pb2_grpc

#: Newest first.
PROTOCOL_VERSIONS = ("MOSAIC/1.0",)

_TIMEOUT_S = 10.0
_DIRECTIVE_PREFIX = "DIRECTIVE_"

AnswerT = TypeVar("AnswerT")


class _Service:
    def __init__(self, name: str, address: str, channel: grpc.Channel | None) -> None:
        self._name = name
        self._address = address
        self._channel = channel or open_channel(address)

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def _call(self, method: Callable[..., AnswerT], request: Any) -> AnswerT:
        try:
            return method(request, timeout=_TIMEOUT_S)
        except grpc.RpcError as error:
            raise error_from(error, service=self._name, address=self._address) from error


class GrpcRegistry(_Service):
    """`mosaic.agent.ports.Registry` over gRPC."""

    def __init__(self, address: str, channel: grpc.Channel | None = None) -> None:
        super().__init__("the registry", address, channel)
        self._stub = registry_pb2_grpc.RegistryStub(self._channel)

    def register(self, introduction: Introduction) -> Welcome:
        """Present this agent; see the port."""
        request = registry_pb2.RegisterWorkerRequest(
            agent_id=introduction.agent_id,
            node=_node(introduction.machine),
            worker=_worker(introduction.worker),
            slots=introduction.slots,
            queue=introduction.queue,
            protocol_versions=PROTOCOL_VERSIONS,
        )
        answer = self._call(self._stub.RegisterWorker, request)
        return Welcome(answer.session_token, answer.heartbeat_interval_s, answer.accepted_version)

    def heartbeat(self, agent_id: str, session_token: str, gpus: Sequence[Gpu]) -> bool:
        """Say that we live; see the port."""
        request = registry_pb2.HeartbeatRequest(agent_id=agent_id, session_token=session_token, gpus=map(_gpu, gpus))
        return bool(self._call(self._stub.Heartbeat, request).draining)

    def retire(self, agent_id: str) -> None:
        """Ask for no new attempts; see the port."""
        self._call(self._stub.Drain, registry_pb2.DrainRequest(agent_id=agent_id, draining=True))

    def leave(self, agent_id: str, session_token: str) -> None:
        """Say goodbye; see the port."""
        request = registry_pb2.LeaveRequest(agent_id=agent_id, session_token=session_token)
        self._call(self._stub.Leave, request)


class GrpcScheduler(_Service):
    """`mosaic.agent.ports.Scheduler` over gRPC."""

    def __init__(self, address: str, channel: grpc.Channel | None = None) -> None:
        super().__init__("the scheduler", address, channel)
        self._stub = scheduler_pb2_grpc.SchedulerStub(self._channel)

    def claim(self, run_id: RunId, attempt: int, agent_id: str, session_token: str) -> Launch:
        """Take the attempt; see the port."""
        request = scheduler_pb2.ClaimRequest(
            run_id=run_id, attempt=attempt, agent_id=agent_id, session_token=session_token
        )
        return launch_from_wire(self._call(self._stub.Claim, request))

    def renew(self, held: Sequence[Held], agent_id: str, session_token: str) -> Sequence[Wish]:
        """Keep leases alive; see the port."""
        attempts = [
            scheduler_pb2.HeldAttempt(run_id=one.run_id, attempt=one.attempt, control_token=one.control_token)
            for one in held
        ]
        request = scheduler_pb2.RenewRequest(agent_id=agent_id, session_token=session_token, held=attempts)
        answer = self._call(self._stub.Renew, request)
        return [Wish(RunId(wish.run_id), wish.attempt, _directive(wish.directive)) for wish in answer.wishes]

    def report(self, report: Report) -> None:
        """Tell a fact; see the port."""
        self._call(self._stub.Report, report_to_wire(report))


def launch_from_wire(launch: scheduler_pb2.Launch) -> Launch:
    """Return our value for what a claim answered."""
    return Launch(
        run_id=RunId(launch.run_id),
        attempt=launch.attempt,
        worker=launch.worker,
        config_json=launch.config_json,
        seed=launch.seed if launch.HasField("seed") else None,
        gpus=tuple(GpuShare(share.gpu_id, share.share) for share in launch.gpus),
        cpus=launch.cpus,
        memory_mb=launch.memory_mb,
        environment=dict(launch.environment),
        secrets=dict(launch.secrets),
        control_token=launch.control_token,
        max_wall_s=launch.max_wall_s,
        hang_limit_s=launch.hang_limit_s,
        grace_s=launch.grace_s,
        lease_s=launch.lease_s or Launch.lease_s,
        resume_from=launch.resume_from,
        config_digest=launch.config_digest,
    )


def report_to_wire(report: Report) -> scheduler_pb2.ReportRequest:
    """Return the message that carries *report*."""
    return scheduler_pb2.ReportRequest(
        run_id=report.run_id,
        attempt=report.attempt,
        control_token=report.control_token,
        fact=report.fact,
        failure_kind=report.failure_kind,
        reason=report.reason,
        exit_code=report.exit_code,
        last_seq=report.last_seq,
        checkpoint=report.checkpoint,
        checkpoint_at=to_timestamp(report.checkpoint_at),
        versions=dict(report.versions),
    )


def _directive(number: int) -> Directive:
    return Directive[scheduler_pb2.Directive.Name(number).removeprefix(_DIRECTIVE_PREFIX)]


def _node(machine: Machine) -> registry_pb2.Node:
    return registry_pb2.Node(
        node_id=machine.node_id,
        hostname=machine.hostname,
        cpus=machine.cpus,
        memory_mb=machine.memory_mb,
        gpus=map(_gpu, machine.gpus),
    )


def _gpu(gpu: Gpu) -> registry_pb2.Gpu:
    return registry_pb2.Gpu(
        gpu_id=gpu.gpu_id, model=gpu.model, memory_mb=gpu.memory_mb, healthy=gpu.healthy, index=gpu.index
    )


def _worker(worker: WorkerProfile) -> registry_pb2.Worker:
    return registry_pb2.Worker(
        name=worker.name,
        version=worker.version,
        description=worker.description,
        upstream_library=worker.upstream_library,
        upstream_version=worker.upstream_version,
        metadata_json=worker.metadata_json,
        capabilities_json=worker.capabilities_json,
        config_schema_json=worker.config_schema_json,
        image=worker.image,
        versions=dict(worker.versions),
        resume_grade=worker.resume_grade,
        launch=worker.launch,
    )
