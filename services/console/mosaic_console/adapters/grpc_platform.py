"""The services over gRPC, in the name of whoever asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import grpc

from mosaic.client import (
    Curve,
    Episodes,
    EventLine,
    Explanation,
    LogLine,
    Manifest,
    Run,
    RunDetail,
    RunSpec,
    SeriesInfo,
    Summary,
    Team,
)
from mosaic.errors import ServiceUnavailable
from mosaic.model.admission import AgentCertificate, Invite
from mosaic.model.audit import AuditEntry, AuditFilter
from mosaic.model.fleet import Fleet, Worker
from mosaic.model.identity import Caller
from mosaic.model.run import RunFilter
from mosaic.model.secret import Secret
from mosaic.wire.caller import speak_for
from mosaic.wire.channel import open_channel
from mosaic.wire.codec import from_wire, to_wire
from mosaic.wire.status import error_from
from mosaic.wire.tls import TlsFiles
from mosaic.wire.v1 import (
    audit_pb2,
    audit_pb2_grpc,
    registry_pb2,
    registry_pb2_grpc,
    scheduler_pb2,
    scheduler_pb2_grpc,
    telemetry_pb2,
    telemetry_pb2_grpc,
)
from mosaic_console.adapters import messages
from mosaic_console.ports import AUDITED, Position, RunPage

ItemT = TypeVar("ItemT")

_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The gRPC address (``host:port``) of each service."""

    registry: str
    scheduler: str
    telemetry: str
    #: How the console shows that it may ask for people.
    tls: TlsFiles


class GrpcServices:
    """Connections to the services; nothing is sent before the first call."""

    def __init__(self, endpoints: Endpoints) -> None:
        self.endpoints = endpoints
        names = ("registry", "scheduler", "telemetry")
        self._channels = {name: open_channel(getattr(endpoints, name), name, endpoints.tls) for name in names}
        self.registry = registry_pb2_grpc.RegistryStub(self._channels["registry"])
        self.scheduler = scheduler_pb2_grpc.SchedulerStub(self._channels["scheduler"])
        self.telemetry = telemetry_pb2_grpc.TelemetryStub(self._channels["telemetry"])
        #: The trails, by who keeps them.
        self.audits = {name: audit_pb2_grpc.AuditStub(self._channels[name]) for name in AUDITED}

    def of(self, caller: Caller) -> GrpcPlatform:
        """Return the services as *caller* reaches them."""
        return GrpcPlatform(self, caller)

    def close(self) -> None:
        """Close the connections."""
        for channel in self._channels.values():
            channel.close()

    def error(self, error: grpc.RpcError, service: str) -> Exception:
        """Return what went wrong, in our words."""
        return error_from(error, service=service, address=getattr(self.endpoints, service))


class GrpcPlatform:
    """The services in the name of one caller."""

    def __init__(self, services: GrpcServices, caller: Caller) -> None:
        self._services = services
        self._metadata = speak_for(caller)

    def page(self, wanted: RunFilter, *, after: str = "", size: int = 100) -> RunPage:
        """Return at most *size* runs, newest first, that were submitted before run *after*."""
        request = to_wire(wanted, scheduler_pb2.ListRunsRequest)
        request.page_size, request.page_token = size, after
        answer = self._ask(self._services.scheduler.ListRuns, request)
        return RunPage(tuple(from_wire(run, Run) for run in answer.runs), answer.next_page_token or None)

    def run(self, run_id: str) -> RunDetail:
        """Return the run whose id is, starts with or ends with *run_id*, or which bears it as a name."""
        request = scheduler_pb2.GetRunRequest(run_id=run_id)
        return from_wire(self._ask(self._services.scheduler.GetRun, request), RunDetail)

    def watch(self, run_ids: Collection[str]) -> GrpcStream[Run]:
        """Yield the runs as they stand, then each again after every change."""
        request = scheduler_pb2.WatchRunsRequest(run_ids=sorted(run_ids))
        return self._follow(self._services.scheduler.WatchRuns, request, "scheduler", lambda run: from_wire(run, Run))

    def submit(self, asked: RunSpec, *, seeds: Sequence[int] = (), idempotency_key: str = "") -> list[Run]:
        """Submit and return the runs, one for each seed."""
        request = messages.submit_request(asked, seeds=seeds, idempotency_key=idempotency_key)
        return [from_wire(run, Run) for run in self._ask(self._services.scheduler.Submit, request).runs]

    def predict(self, asked: RunSpec, *, seeds: Sequence[int] = (), idempotency_key: str = "") -> list[str]:
        """Return what a submit would lead to, without submitting."""
        request = messages.submit_request(asked, seeds=seeds, idempotency_key=idempotency_key, dry_run=True)
        return list(self._ask(self._services.scheduler.Submit, request).prediction)

    def cancel(self, run_id: str, *, reason: str = "") -> Run:
        """End a run; an ended run stays as it is."""
        return self._command(self._services.scheduler.Cancel, run_id, reason)

    def pause(self, run_id: str) -> Run:
        """Stop a running run in place."""
        return self._command(self._services.scheduler.Pause, run_id)

    def resume(self, run_id: str) -> Run:
        """Let a paused run go on."""
        return self._command(self._services.scheduler.Resume, run_id)

    def retry(self, run_id: str) -> Run:
        """Submit an ended run again."""
        return self._command(self._services.scheduler.Retry, run_id)

    def explain(self, run_id: str) -> Explanation:
        """Say why a run waits and when it may start."""
        request = scheduler_pb2.GetRunRequest(run_id=run_id)
        return from_wire(self._ask(self._services.scheduler.Explain, request), Explanation)

    def events(
        self,
        run_id: str,
        *,
        attempt: int = 0,
        start: Position | None = None,
        kinds: Collection[str] = (),
        follow: bool = False,
        limit: int = 0,
    ) -> GrpcStream[list[EventLine]]:
        """Yield the events of a run in order, several at once; one that follows ends when the run has ended."""
        request = telemetry_pb2.ReadEventsRequest(
            run_id=run_id, attempt=attempt, kinds=sorted(kinds), follow=follow, limit=limit
        )
        if start is not None:
            getattr(request, "from").CopyFrom(telemetry_pb2.Position(attempt=start[0], seq=start[1]))
        return self._follow(self._services.telemetry.ReadEvents, request, "telemetry", messages.event_lines)

    def logs(
        self, run_id: str, *, attempt: int = 0, tail: int = 0, after: Position | None = None, follow: bool = False
    ) -> GrpcStream[list[LogLine]]:
        """Yield the newest *tail* log lines (0 = all) that come after *after*, and those that follow."""
        request = telemetry_pb2.ReadLogsRequest(run_id=run_id, attempt=attempt, tail=tail, follow=follow)

        def newer(chunk: telemetry_pb2.LogChunk) -> list[LogLine]:
            found = messages.log_lines(chunk)
            return [line for line in found if after is None or (line.attempt, line.seq) > after]

        return self._follow(self._services.telemetry.ReadLogs, request, "telemetry", newer)

    def series(self, run_id: str, *, attempt: int = 0) -> list[SeriesInfo]:
        """Return the curves that can be read."""
        request = telemetry_pb2.ListSeriesRequest(run_id=run_id, attempt=attempt)
        answer = self._ask(self._services.telemetry.ListSeries, request, "telemetry")
        return [messages.series_info(info) for info in answer.series]

    def curve(
        self,
        run_id: str,
        name: str,
        *,
        agent: str = "",
        attempt: int = 0,
        resolution: int = 1000,
        from_step: float | None = None,
        to_step: float | None = None,
        x: str = "step",
        log_x: bool = False,
        smoothing: float = 0.0,
    ) -> Curve:
        """Return a curve, or a stretch of it, in at most *resolution* buckets; 0 asks for every point."""
        request = telemetry_pb2.ReadSeriesRequest(
            run_id=run_id,
            key=telemetry_pb2.SeriesKey(name=name, agent=agent),
            resolution=resolution,
            attempt=attempt,
            from_step=from_step,
            to_step=to_step,
            x=x,
            log_x=log_x,
            smoothing=smoothing,
        )
        return messages.curve(name, agent, self._ask(self._services.telemetry.ReadSeries, request, "telemetry"))

    def episodes(
        self, run_id: str, *, kind: str = "training", attempt: int = 0, include_lost: bool = False, last: int = 0
    ) -> Episodes:
        """Return episodes in order."""
        request = telemetry_pb2.ReadEpisodesRequest(
            run_id=run_id, kind=kind, attempt=attempt, include_lost=include_lost, last=last
        )
        answer = self._ask(self._services.telemetry.ReadEpisodes, request, "telemetry")
        return Episodes(messages.episode(episode) for episode in answer.episodes)

    def summaries(self, run_ids: Collection[str]) -> dict[str, Summary]:
        """Return the newest numbers of each run that has sent anything."""
        request = telemetry_pb2.SummariseRequest(run_ids=list(run_ids))
        answer = self._ask(self._services.telemetry.Summarise, request, "telemetry")
        return {summary.run_id: messages.summary(summary) for summary in answer.summaries}

    def telemetry_fault(self) -> str:
        """Return why telemetry can store nothing new at the moment; nothing when it can."""
        request = telemetry_pb2.SummariseRequest()
        return str(self._ask(self._services.telemetry.Summarise, request, "telemetry").fault)

    def manifest(self, run_id: str) -> Manifest:
        """Return the manifest of an ended run."""
        request = telemetry_pb2.GetManifestRequest(run_id=run_id)
        answer = self._ask(self._services.telemetry.GetManifest, request, "telemetry")
        return Manifest(answer.run_id, json.loads(answer.json), answer.digest, answer.path)

    def fleet(self) -> Fleet:
        """Return machines, agents and workers as they stand."""
        request = registry_pb2.GetFleetRequest()
        return from_wire(self._ask(self._services.registry.GetFleet, request, "registry"), Fleet)

    def worker(self, name: str) -> Worker:
        """Return what the registry knows of a worker."""
        request = registry_pb2.DescribeWorkerRequest(name=name)
        return from_wire(self._ask(self._services.registry.DescribeWorker, request, "registry"), Worker)

    def teams(self) -> list[Team]:
        """Return every team that was set up."""
        answer = self._ask(self._services.scheduler.ListTeams, scheduler_pb2.ListTeamsRequest())
        return [from_wire(team, Team) for team in answer.teams]

    def set_team(self, name: str, terms: Mapping[str, Any]) -> Team:
        """Set up a team, or change those of its terms that are given; None lifts a limit."""
        return from_wire(self._ask(self._services.scheduler.SetTeam, messages.team_request(name, terms)), Team)

    def drain(self, *, node_id: str = "", agent_id: str = "", draining: bool = True) -> None:
        """Take a node or an agent out of planning, or back in."""
        request = registry_pb2.DrainRequest(draining=draining)
        if node_id:
            request.node_id = node_id
        else:
            request.agent_id = agent_id
        self._ask(self._services.registry.Drain, request, "registry")

    def invite(self, *, uses: int, ttl_s: float, worker: str) -> tuple[str, Invite]:
        """Return a new invitation for agents."""
        # A number that protobuf has no room for is refused by the registry as any that is too large.
        request = registry_pb2.InviteRequest(uses=max(-1, min(uses, 2**31 - 1)), ttl_s=ttl_s, worker=worker)
        answer = self._ask(self._services.registry.Invite, request, "registry")
        return answer.token, from_wire(answer.invite, Invite)

    def admitted(self) -> tuple[list[Invite], list[AgentCertificate]]:
        """Return the open invitations and the certificates that have not expired."""
        answer = self._ask(self._services.registry.ListAdmitted, registry_pb2.ListAdmittedRequest(), "registry")
        certificates = [from_wire(one, AgentCertificate) for one in answer.certificates]
        return [from_wire(one, Invite) for one in answer.invites], certificates

    def revoke_agent(self, *, agent_id: str = "", invite_id: str = "") -> None:
        """Deny an agent, or withdraw an invitation."""
        target = {"agent_id": agent_id} if agent_id else {"invite_id": invite_id}
        self._ask(self._services.registry.RevokeAgent, registry_pb2.RevokeAgentRequest(**target), "registry")

    def secrets(self) -> list[Secret]:
        """Return the secrets that runs may name."""
        answer = self._ask(self._services.scheduler.ListSecrets, scheduler_pb2.ListSecretsRequest())
        return [from_wire(secret, Secret) for secret in answer.secrets]

    def set_secret(self, name: str, value: str, team: str) -> Secret:
        """Keep a secret of *team*, or of the caller."""
        request = scheduler_pb2.SetSecretRequest(name=name, value=value, team=team)
        return from_wire(self._ask(self._services.scheduler.SetSecret, request), Secret)

    def delete_secret(self, name: str, team: str) -> None:
        """Forget a secret."""
        request = scheduler_pb2.DeleteSecretRequest(name=name, team=team)
        self._ask(self._services.scheduler.DeleteSecret, request)

    def audit(self, service: str, wanted: AuditFilter, limit: int) -> GrpcStream[AuditEntry]:
        """Yield what was asked of a service and decided, oldest first."""
        request = to_wire(wanted, audit_pb2.ReadAuditRequest)
        request.limit = limit
        call = self._services.audits[service].ReadAudit(request, metadata=self._metadata)
        return GrpcStream(self._services, service, call, lambda entry: from_wire(entry, AuditEntry), is_endless=False)

    def _command(self, call: Callable[..., Any], run_id: str, reason: str = "") -> Run:
        request = scheduler_pb2.RunCommand(run_id=run_id, reason=reason)
        return from_wire(self._ask(call, request), Run)

    def _ask(self, call: Callable[..., Any], request: Any, service: str = "scheduler") -> Any:
        try:
            return call(request, timeout=_TIMEOUT_S, metadata=self._metadata)
        except grpc.RpcError as error:
            raise self._services.error(error, service) from error

    def _follow(
        self, call: Callable[..., Any], request: Any, service: str, read: Callable[[Any], ItemT]
    ) -> GrpcStream[ItemT]:
        is_endless = getattr(request, "follow", service == "scheduler")
        return GrpcStream(self._services, service, call(request, metadata=self._metadata), read, is_endless)


class GrpcStream(Generic[ItemT]):
    """The messages of one call, each read."""

    def __init__(
        self, services: GrpcServices, service: str, call: Any, read: Callable[[Any], ItemT], is_endless: bool
    ) -> None:
        """Read *call*; one that *is_endless* ends well only after a message that says so."""
        self._services = services
        self._service = service
        self._call = call
        self._read = read
        self._is_endless = is_endless

    def __iter__(self) -> GrpcStream[ItemT]:
        return self

    def __next__(self) -> ItemT:
        try:
            message = next(self._call)
        except StopIteration:
            if self._is_endless:
                # A service that stops in good order ends its streams as if all were said.
                address = getattr(self._services.endpoints, self._service)
                raise ServiceUnavailable(self._service, address, "it ended the stream") from None
            raise
        except grpc.RpcError as error:
            raise self._services.error(error, self._service) from error
        if getattr(message, "finished", False):
            self._is_endless = False
        return self._read(message)

    def close(self) -> None:
        """Want no more; whoever waits is let go."""
        self._call.cancel()
