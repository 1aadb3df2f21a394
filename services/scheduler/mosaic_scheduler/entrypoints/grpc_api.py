"""The scheduler's gRPC API: parse, call the handler, answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import grpc

from mosaic.errors import BadInput
from mosaic.events.proof import EventKey
from mosaic.hosting.access import caller_of, needs, peer_of
from mosaic.hosting.audit import by, by_agent, refusals_noted
from mosaic.hosting.changes import ChangeSignal
from mosaic.hosting.rights import visible_teams
from mosaic.ids import AgentId, RunId, TeamName, is_id
from mosaic.model.attempt import HeldAttempt, RunDetail
from mosaic.model.identity import Caller, Permission
from mosaic.model.run import Run
from mosaic.wire.codec import from_wire, to_wire
from mosaic.wire.v1 import scheduler_pb2 as wire
from mosaic.wire.v1 import scheduler_pb2_grpc
from mosaic_scheduler.domain.transition import placed
from mosaic_scheduler.entrypoints import messages
from mosaic_scheduler.handlers import claims, commands, lookup, queries, secrets, submit, teams
from mosaic_scheduler.handlers.refusals import note_refusal
from mosaic_scheduler.handlers.round_settings import RoundSettings
from mosaic_scheduler.handlers.sight import is_out_of_sight
from mosaic_scheduler.ports import Clock, Fleet, RunStore, Secrets, Vault

_PAGE = 100
_LARGEST_PAGE = 1000
#: A watcher looks again after this even if nobody woke it.
_WATCH_AGAIN_S = 5.0


class SchedulerApi(scheduler_pb2_grpc.SchedulerServicer):
    """Serves people and agents."""

    def __init__(
        self,
        *,
        store: RunStore,
        fleet: Fleet,
        secret_values: Secrets,
        vault: Vault,
        event_key: EventKey,
        clock: Clock,
        rounds: RoundSettings,
        changes: ChangeSignal,
        changed: Callable[[], None],
    ) -> None:
        """Answer from *store*; call *changed* after everything that a round should look at."""
        self._store = store
        self._fleet = fleet
        self._secrets = secret_values
        self._vault = vault
        self._event_key = event_key
        self._clock = clock
        self._rounds = rounds
        self._changes = changes
        self._ending = threading.Event()
        self._changed = changed

    def end_streams(self) -> None:
        """End everything that is being watched."""
        self._ending.set()
        self._changes.notify()

    @needs(Permission.RUNS_SUBMIT)
    def Submit(self, request: wire.SubmitRequest, context: Any) -> wire.SubmitResponse:
        """Accept runs, or say what would happen to them."""
        asked, caller = messages.read_request(request), caller_of(context)
        if request.dry_run:
            sentences = queries.predict(
                asked,
                caller=caller,
                store=self._store,
                fleet=self._fleet,
                secrets=self._secrets,
                clock=self._clock,
                policy=self._rounds.policy,
            )
            return wire.SubmitResponse(prediction=sentences)
        with self._noted(caller, "runs:submit", asked.spec.team, is_out_of_sight=is_out_of_sight(asked.spec, caller)):
            accepted = submit.submit(
                asked, caller=caller, store=self._store, fleet=self._fleet, secrets=self._secrets, clock=self._clock
            )
        self._changed()
        runs = [to_wire(run, wire.Run) for run in accepted.runs]
        return wire.SubmitResponse(runs=runs, repeated_submit=accepted.repeated)

    @needs(Permission.RUNS_CHANGE)
    def Cancel(self, request: wire.RunCommand, context: Any) -> wire.Run:
        """End a run."""
        caller = caller_of(context)
        with self._noted(caller, "runs:cancel", request.run_id):
            run = commands.cancel(
                request.run_id,
                caller=caller,
                reason=request.reason,
                store=self._store,
                clock=self._clock,
                retry=self._rounds.retry,
            )
        return self._after(run)

    @needs(Permission.RUNS_CHANGE)
    def Pause(self, request: wire.RunCommand, context: Any) -> wire.Run:
        """Stop a run in place."""
        caller = caller_of(context)
        with self._noted(caller, "runs:pause", request.run_id):
            run = commands.pause(request.run_id, caller=caller, store=self._store, clock=self._clock)
        return self._after(run)

    @needs(Permission.RUNS_CHANGE)
    def Resume(self, request: wire.RunCommand, context: Any) -> wire.Run:
        """Let a paused run go on."""
        caller = caller_of(context)
        with self._noted(caller, "runs:resume", request.run_id):
            run = commands.resume(request.run_id, caller=caller, store=self._store, clock=self._clock)
        return self._after(run)

    @needs(Permission.RUNS_CHANGE)
    def Retry(self, request: wire.RunCommand, context: Any) -> wire.Run:
        """Submit an ended run again."""
        caller = caller_of(context)
        with self._noted(caller, "runs:retry", request.run_id):
            accepted = commands.retry_run(
                request.run_id,
                caller=caller,
                store=self._store,
                fleet=self._fleet,
                secrets=self._secrets,
                clock=self._clock,
            )
        return self._after(accepted.runs[0])

    @needs(Permission.RUNS_READ)
    def GetRun(self, request: wire.GetRunRequest, context: Any) -> wire.RunDetail:
        """Return a run with its attempts and history."""
        with self._store.read() as work:
            run = lookup.find(work, request.run_id, caller_of(context))
            attempts = work.attempts(run.run_id)
            history = work.history(run.run_id)
        current = next((attempt for attempt in attempts if attempt.attempt == run.attempt), None)
        return to_wire(RunDetail(placed(run, current), tuple(attempts), tuple(history)), wire.RunDetail)

    @needs(Permission.RUNS_READ)
    def ListRuns(self, request: wire.ListRunsRequest, context: Any) -> wire.ListRunsResponse:
        """Return runs, newest first."""
        wanted, teams = messages.read_filter(request), visible_teams(caller_of(context))
        size = min(request.page_size or _PAGE, _LARGEST_PAGE)
        with self._store.read() as work:
            found = work.list_runs(wanted, limit=size + 1, before=request.page_token, teams=teams)
        more = found[size - 1].run_id if len(found) > size else ""
        runs = [to_wire(run, wire.Run) for run in found[:size]]
        return wire.ListRunsResponse(runs=runs, next_page_token=more)

    @needs(Permission.RUNS_READ)
    def WatchRuns(self, request: wire.WatchRunsRequest, context: grpc.ServicerContext) -> Iterator[wire.Run]:
        """Stream runs as they change."""
        caller, wanted = caller_of(context), set[RunId]()
        revision, count = -1, self._changes.count()
        while context.is_active() and not self._ending.is_set():
            with self._store.read() as work:
                newest = work.revision()
                if revision < 0 and request.run_ids:
                    found = [lookup.find(work, name, caller) for name in request.run_ids]
                    wanted = {run.run_id for run in found}
                    rows = [(run, work.attempt(run.run_id, run.attempt)) for run in found]
                else:
                    rows = work.changed_since(revision, teams=visible_teams(caller))
            revision = newest
            for run, attempt in rows:
                if not wanted or run.run_id in wanted:
                    yield to_wire(placed(run, attempt), wire.Run)
            count = self._changes.wait(count, _WATCH_AGAIN_S)

    @needs(Permission.RUNS_READ)
    def Explain(self, request: wire.GetRunRequest, context: Any) -> wire.Explanation:
        """Say why a run waits and when it may start."""
        with self._store.read() as work:
            run = lookup.find(work, request.run_id, caller_of(context))
        told = queries.explain_run(
            run, store=self._store, fleet=self._fleet, clock=self._clock, policy=self._rounds.policy
        )
        return to_wire(told, wire.Explanation)

    @needs(Permission.TEAMS_LIMIT)
    def SetTeam(self, request: wire.SetTeamRequest, context: Any) -> wire.Team:
        """Set up a team, or change the terms that are given."""
        name = TeamName(request.team.name)
        if not is_id(name):
            raise BadInput("team", [f"{name!r} is not a name"])
        change = partial(messages.changed_team, message=request)
        caller = caller_of(context)
        with self._noted(caller, "teams:change", name):
            team = teams.set_up(name, change, request.terms, caller=caller, store=self._store, clock=self._clock)
        self._changed()
        return to_wire(team, wire.Team)

    @needs(Permission.TEAMS_READ)
    def ListTeams(self, request: wire.ListTeamsRequest, context: Any) -> wire.ListTeamsResponse:
        """Return the teams that the caller may see."""
        seen = teams.visible(caller_of(context), store=self._store)
        return wire.ListTeamsResponse(teams=[to_wire(team, wire.Team) for team in seen])

    @needs(Permission.SECRETS_CHANGE)
    def SetSecret(self, request: wire.SetSecretRequest, context: Any) -> wire.Secret:
        """Keep a secret."""
        caller = caller_of(context)
        with self._noted(caller, "secrets:set", request.team or request.name):
            secret = secrets.set_secret(
                request.name,
                request.value,
                TeamName(request.team),
                caller=caller,
                store=self._store,
                vault=self._vault,
                clock=self._clock,
            )
        return to_wire(secret, wire.Secret)

    @needs(Permission.SECRETS_READ)
    def ListSecrets(self, request: wire.ListSecretsRequest, context: Any) -> wire.ListSecretsResponse:
        """Return the names of the secrets that the caller's runs may name."""
        seen = secrets.visible(caller_of(context), store=self._store)
        return wire.ListSecretsResponse(secrets=[to_wire(secret, wire.Secret) for secret in seen])

    @needs(Permission.SECRETS_CHANGE)
    def DeleteSecret(self, request: wire.DeleteSecretRequest, context: Any) -> wire.DeleteSecretResponse:
        """Forget a secret."""
        caller, team = caller_of(context), TeamName(request.team)
        with self._noted(caller, "secrets:delete", request.team or request.name):
            secrets.delete_secret(request.name, team, caller=caller, store=self._store, clock=self._clock)
        return wire.DeleteSecretResponse()

    @needs(Permission.AGENT)
    def Claim(self, request: wire.ClaimRequest, context: Any) -> wire.Launch:
        """Give an attempt to the agent that asks for it."""
        agent_id = AgentId(request.agent_id)
        asked = by_agent(peer_of(context), agent_id, "attempts:claim", at=self._clock(), target=request.run_id)
        with refusals_noted(asked, self._store.note):
            claims.check_session(agent_id, request.session_token, fleet=self._fleet)
        launch = claims.claim(
            RunId(request.run_id),
            request.attempt,
            agent_id,
            store=self._store,
            secrets=self._secrets,
            event_key=self._event_key,
            clock=self._clock,
            settings=self._rounds,
        )
        self._changes.notify()
        return to_wire(launch, wire.Launch)

    @needs(Permission.AGENT)
    def Renew(self, request: wire.RenewRequest, context: Any) -> wire.RenewResponse:
        """Extend leases and tell what is wanted of each attempt."""
        agent_id = AgentId(request.agent_id)
        claims.check_session(agent_id, request.session_token, fleet=self._fleet)
        held = [from_wire(held, HeldAttempt) for held in request.held]
        told = claims.renew(agent_id, held, store=self._store, clock=self._clock, lease=self._rounds.lease)
        return wire.RenewResponse(directives=[to_wire(one, wire.AttemptDirective) for one in told])

    @needs(Permission.AGENT)
    def Report(self, request: wire.ReportRequest, context: Any) -> wire.ReportResponse:
        """Take in a fact about an attempt."""
        fact = messages.read_report(request)
        peer = peer_of(context)
        sender = AgentId(peer.agent_id if peer else "")
        claims.report(fact, sender, store=self._store, clock=self._clock, retry=self._rounds.retry)
        self._changed()
        return wire.ReportResponse()

    def _noted(
        self, caller: Caller, action: str, target: str, *, is_out_of_sight: bool = False
    ) -> AbstractContextManager[None]:
        asked = by(caller, action, at=self._clock(), target=target)
        note = partial(note_refusal, store=self._store)
        return refusals_noted(asked, note, is_out_of_sight=is_out_of_sight)

    def _after(self, run: Run) -> wire.Run:
        self._changed()
        return to_wire(run, wire.Run)
