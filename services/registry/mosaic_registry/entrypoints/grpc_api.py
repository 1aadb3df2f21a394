"""The registry over gRPC: parse, call the handler, answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter

from mosaic.errors import BadInput
from mosaic.hosting.access import Peer, caller_of, needs, peer_of
from mosaic.hosting.audit import by, refusals_noted
from mosaic.ids import AgentId, WorkerName
from mosaic.model.fleet import Announcement, Fleet, Gpu
from mosaic.model.identity import Permission
from mosaic.wire.codec import from_wire, to_wire
from mosaic.wire.v1 import registry_pb2 as pb
from mosaic.wire.v1.registry_pb2_grpc import RegistryServicer
from mosaic_registry.bootstrap import Parts
from mosaic_registry.domain.fleet import with_liveness, without_sessions
from mosaic_registry.handlers import admission
from mosaic_registry.handlers import fleet as handlers


class RegistryApi(RegistryServicer):
    """One method per call of ``registry.proto``; errors become statuses in the server's interceptor."""

    def __init__(self, parts: Parts, metrics: CollectorRegistry) -> None:
        self._parts = parts
        self._catalog = parts.catalog
        self._stopping = False
        self._heartbeats = Counter("mosaic_registry_heartbeats", "Heartbeats accepted.", registry=metrics)
        self._registrations = Counter("mosaic_registry_registrations", "Agents registered.", registry=metrics)

    @needs(Permission.AGENT)
    def RegisterWorker(self, request: pb.RegisterWorkerRequest, context: Any) -> pb.RegisterWorkerResponse:
        """Take an agent into the fleet."""
        announcement = from_wire(request, Announcement)
        peer, now = peer_of(context), self._parts.clock()
        welcome = handlers.register(announcement, catalog=self._catalog, now=now, peer=peer)
        self._parts.changes.notify()
        self._registrations.inc()
        return pb.RegisterWorkerResponse(
            accepted_version=welcome.accepted_version,
            session_token=welcome.session_token,
            heartbeat_interval_s=self._parts.heartbeat_interval.total_seconds(),
        )

    @needs(Permission.AGENT)
    def Heartbeat(self, request: pb.HeartbeatRequest, context: Any) -> pb.HeartbeatResponse:
        """Note that an agent lives."""
        answer = handlers.heartbeat(
            AgentId(request.agent_id),
            request.session_token,
            [from_wire(gpu, Gpu) for gpu in request.gpus],
            catalog=self._catalog,
            now=self._parts.clock(),
        )
        if answer.changed_fleet:
            self._parts.changes.notify()
        self._heartbeats.inc()
        return pb.HeartbeatResponse(draining=answer.draining)

    @needs(Permission.AGENT)
    def Retire(self, request: pb.RetireRequest, context: Any) -> pb.RetireResponse:
        """Take an agent that wants no more out of planning."""
        handlers.retire(AgentId(request.agent_id), request.session_token, catalog=self._catalog)
        self._parts.changes.notify()
        return pb.RetireResponse()

    @needs(Permission.AGENT)
    def Leave(self, request: pb.LeaveRequest, context: Any) -> pb.LeaveResponse:
        """Forget an agent that ends on purpose."""
        handlers.leave(AgentId(request.agent_id), request.session_token, catalog=self._catalog)
        self._parts.changes.notify()
        return pb.LeaveResponse()

    @needs(Permission.AGENT)
    def RenewCertificate(self, request: pb.RenewCertificateRequest, context: Any) -> pb.RenewCertificateResponse:
        """Give an agent its next certificate."""
        peer, issuer = peer_of(context), self._parts.issuer
        assert peer is not None
        now = self._parts.clock()
        issued = admission.renew(peer, request.request.encode(), catalog=self._catalog, issuer=issuer, now=now)
        return pb.RenewCertificateResponse(certificate=issued.pem.decode(), ca=issuer.ca().decode() if issuer else "")

    @needs(Permission.AGENTS_ADMIT)
    def Invite(self, request: pb.InviteRequest, context: Any) -> pb.InviteResponse:
        """Invite agents."""
        token, known = admission.invite(
            caller_of(context),
            uses=request.uses,
            ttl_s=request.ttl_s,
            worker=WorkerName(request.worker),
            catalog=self._catalog,
            issuer=self._parts.issuer,
            now=self._parts.clock(),
        )
        return pb.InviteResponse(token=token.text, invite=to_wire(known, pb.Invite))

    @needs(Permission.AGENTS_ADMIT)
    def ListAdmitted(self, request: pb.ListAdmittedRequest, context: Any) -> pb.ListAdmittedResponse:
        """List invitations and certificates."""
        found = admission.admitted(caller_of(context), catalog=self._catalog, now=self._parts.clock())
        return pb.ListAdmittedResponse(
            invites=[to_wire(one, pb.Invite) for one in found.invites],
            certificates=[to_wire(one, pb.AgentCertificate) for one in found.certificates],
        )

    @needs(Permission.AGENTS_ADMIT)
    def RevokeAgent(self, request: pb.RevokeAgentRequest, context: Any) -> pb.RevokeAgentResponse:
        """Deny an agent, or withdraw an invitation."""
        caller, now = caller_of(context), self._parts.clock()
        kind = request.WhichOneof("target")
        if kind is None:
            raise BadInput("revoke", ["name an agent or an invitation"])
        target = getattr(request, kind)
        end: Any = admission.revoke if kind == "agent_id" else admission.withdraw_invite
        with refusals_noted(by(caller, "agents:revoke", at=now, target=target), self._catalog.note):
            end(caller, target, catalog=self._catalog, now=now)
        self._parts.changes.notify()
        return pb.RevokeAgentResponse()

    def is_denied(self, peer: Peer) -> bool:
        """Tell whether the certificate of *peer* was revoked."""
        return bool(peer.agent_id) and self._catalog.is_denied(peer.serial)

    @needs(Permission.FLEET_READ)
    def DescribeWorker(self, request: pb.DescribeWorkerRequest, context: Any) -> pb.Worker:
        """Return one worker."""
        return to_wire(handlers.describe_worker(WorkerName(request.name), catalog=self._catalog), pb.Worker)

    @needs(Permission.FLEET_READ)
    def GetFleet(self, request: pb.GetFleetRequest, context: Any) -> pb.Fleet:
        """Return the fleet as people see it."""
        return _message(without_sessions(self._catalog.fleet()))

    @needs(Permission.SERVICE)
    def WatchFleet(self, request: pb.WatchFleetRequest, context: Any) -> Iterator[pb.Fleet]:
        """Send the fleet now and after every change, until the caller or the registry ends."""
        changes = self._parts.changes
        context.add_callback(changes.notify)
        sent = -1
        while context.is_active() and not self._stopping:
            heard = changes.count()
            fleet = self._catalog.fleet()
            if fleet.revision != sent:
                sent = fleet.revision
                yield _message(fleet, self._catalog.denied(self._parts.clock()))
            if request.once:
                return
            changes.wait(after=heard)

    @needs(Permission.FLEET_CHANGE)
    def Drain(self, request: pb.DrainRequest, context: Any) -> pb.DrainResponse:
        """Take a node or an agent out of planning, or back in."""
        caller, now = caller_of(context), self._parts.clock()
        kind = request.WhichOneof("target")
        if kind is None:
            raise BadInput("drain", ["name a node or an agent"])
        name = getattr(request, kind)
        asked = by(caller, "nodes:drain" if kind == "node_id" else "agents:drain", at=now, target=name)
        drain: Any = handlers.drain_node if kind == "node_id" else handlers.drain_agent
        with refusals_noted(asked, self._catalog.note):
            drain(name, request.draining, caller=caller, catalog=self._catalog, now=now)
        self._parts.changes.notify()
        return pb.DrainResponse()

    def end_streams(self) -> None:
        """Let every watcher's call end."""
        self._stopping = True
        self._parts.changes.notify()


def _message(fleet: Fleet, denied: Sequence[str] = ()) -> pb.Fleet:
    message = to_wire(with_liveness(fleet), pb.Fleet)
    message.denied_serials.extend(denied)
    return message
