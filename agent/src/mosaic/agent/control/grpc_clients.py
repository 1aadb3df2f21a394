"""The registry and the scheduler over gRPC, as the agent sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import grpc

from mosaic.agent.ports import Welcome
from mosaic.ids import RunId
from mosaic.model.attempt import AttemptDirective, HeldAttempt, Launch, Report
from mosaic.model.fleet import Announcement, Gpu
from mosaic.wire.channel import open_channel
from mosaic.wire.codec import from_wire, to_wire
from mosaic.wire.status import error_from
from mosaic.wire.tls import TlsFiles
from mosaic.wire.v1 import registry_pb2, registry_pb2_grpc, scheduler_pb2, scheduler_pb2_grpc

_TIMEOUT_S = 10.0

AnswerT = TypeVar("AnswerT")


class _Service:
    def __init__(self, name: str, address: str, tls: TlsFiles) -> None:
        self._name = f"the {name}"
        self._address = address
        self._channel = open_channel(address, name, tls)

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

    def __init__(self, address: str, tls: TlsFiles) -> None:
        super().__init__("registry", address, tls)
        self._stub = registry_pb2_grpc.RegistryStub(self._channel)

    def register(self, announcement: Announcement) -> Welcome:
        """Present this agent; see the port."""
        answer = self._call(self._stub.RegisterWorker, to_wire(announcement, registry_pb2.RegisterWorkerRequest))
        return Welcome(answer.session_token, answer.heartbeat_interval_s, answer.accepted_version)

    def heartbeat(self, agent_id: str, session_token: str, gpus: Sequence[Gpu]) -> bool:
        """Say that we live; see the port."""
        cards = [to_wire(gpu, registry_pb2.Gpu) for gpu in gpus]
        request = registry_pb2.HeartbeatRequest(agent_id=agent_id, session_token=session_token, gpus=cards)
        return bool(self._call(self._stub.Heartbeat, request).draining)

    def retire(self, agent_id: str, session_token: str) -> None:
        """Ask for no new attempts; see the port."""
        request = registry_pb2.RetireRequest(agent_id=agent_id, session_token=session_token)
        self._call(self._stub.Retire, request)

    def renew_certificate(self, agent_id: str, request: bytes) -> tuple[bytes, bytes]:
        """Return the next certificate of this agent, and whom to believe from then on."""
        asked = registry_pb2.RenewCertificateRequest(agent_id=agent_id, request=request.decode())
        answer = self._call(self._stub.RenewCertificate, asked)
        return answer.certificate.encode(), answer.ca.encode()

    def leave(self, agent_id: str, session_token: str) -> None:
        """Say goodbye; see the port."""
        request = registry_pb2.LeaveRequest(agent_id=agent_id, session_token=session_token)
        self._call(self._stub.Leave, request)


class GrpcScheduler(_Service):
    """`mosaic.agent.ports.Scheduler` over gRPC."""

    def __init__(self, address: str, tls: TlsFiles) -> None:
        super().__init__("scheduler", address, tls)
        self._stub = scheduler_pb2_grpc.SchedulerStub(self._channel)

    def claim(self, run_id: RunId, attempt: int, agent_id: str, session_token: str) -> Launch:
        """Take the attempt; see the port."""
        request = scheduler_pb2.ClaimRequest(
            run_id=run_id, attempt=attempt, agent_id=agent_id, session_token=session_token
        )
        return from_wire(self._call(self._stub.Claim, request), Launch)

    def renew(self, held: Sequence[HeldAttempt], agent_id: str, session_token: str) -> Sequence[AttemptDirective]:
        """Keep leases alive; see the port."""
        shown = [to_wire(one, scheduler_pb2.HeldAttempt) for one in held]
        request = scheduler_pb2.RenewRequest(agent_id=agent_id, session_token=session_token, held=shown)
        answer = self._call(self._stub.Renew, request)
        return [from_wire(told, AttemptDirective) for told in answer.directives]

    def report(self, report: Report) -> None:
        """Tell a fact; see the port."""
        self._call(self._stub.Report, to_wire(report, scheduler_pb2.ReportRequest))
