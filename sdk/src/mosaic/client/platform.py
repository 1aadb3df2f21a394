"""One object for the whole platform."""

from __future__ import annotations

import getpass
import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import grpc

from mosaic.client import messages
from mosaic.client.endpoints import Endpoints
from mosaic.client.persistence import OnAway, ignore, persist
from mosaic.client.values import (
    Curve,
    Episodes,
    EventLine,
    LogLine,
    Manifest,
    SeriesInfo,
    Summary,
)
from mosaic.errors import NotFound, Refused, RunUnfinished, Unavailable
from mosaic.home import home_directory
from mosaic.ids import UserName, WorkerName
from mosaic.lifecycle import RunState
from mosaic.model.attempt import RunDetail
from mosaic.model.fleet import Fleet, Worker
from mosaic.model.identity import Caller, Role
from mosaic.model.run import Explanation, Run, RunFilter, RunSpec
from mosaic.model.team import Team
from mosaic.wire.caller import speak_for
from mosaic.wire.channel import open_channel
from mosaic.wire.codec import from_wire, to_wire
from mosaic.wire.status import error_from
from mosaic.wire.v1 import (
    registry_pb2,
    registry_pb2_grpc,
    scheduler_pb2,
    scheduler_pb2_grpc,
    telemetry_pb2,
    telemetry_pb2_grpc,
)

_TIMEOUT_S = 30.0
_LOOK_AGAIN_S = 0.05


class Mosaic:
    """A connection to the platform. Every call raises a `mosaic.errors.MosaicError` that says what to do.

    ::

        with Mosaic.connect() as fleet:
            (run,) = fleet.submit("reference", {"env_id": "CartPole-v1"}, seed=1)
            run = fleet.wait(run.run_id)
            print(fleet.manifest(run.run_id).content["outcome"])
    """

    def __init__(self, endpoints: Endpoints, *, find: Callable[[], Endpoints] | None = None) -> None:
        """Reach the services at *endpoints*; nothing is sent before the first call.

        A platform that was away may have come back elsewhere: *find* says where, if it can.
        """
        self._find = find
        owner = Caller(UserName(os.environ.get("MOSAIC_USER") or getpass.getuser()), roles=frozenset({Role.ADMIN}))
        self._speak = lambda: speak_for(owner)
        self._channels: list[grpc.Channel] = []
        self._is_closed = False
        self._reach(endpoints)

    @classmethod
    def connect(cls, env: Mapping[str, str] | None = None) -> Mosaic:
        """Connect to the platform that the environment names, or that ``mosaic up`` runs here.

        Raises:
            ServiceUnavailable: nothing says where the platform is.
        """
        env = dict(os.environ if env is None else env)

        def find() -> Endpoints:
            return Endpoints.find(env, home_directory(env))

        return cls(find(), find=find)

    def __enter__(self) -> Mosaic:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._is_closed = True
        for channel in self._channels:
            channel.close()

    def submit(
        self,
        asked: RunSpec | str = "",
        config: Mapping[str, Any] | None = None,
        *,
        seeds: Sequence[int] = (),
        idempotency_key: str = "",
        **fields: Any,
    ) -> list[Run]:
        """Submit and return the runs: one, or one for each of *seeds*.

        Args:
            asked: the whole spec; or the worker, which a run that ``continues`` another need not name.
            config: settings of the worker.
            seeds: one run for each; none = one run with the seed of the spec.
            idempotency_key: a repeated submit with the same key returns the runs of the first.
            fields: the others of `RunSpec`: ``seed``, ``name``, ``priority="high"``, ``max_wall=90.0``.

        Raises:
            BadInput: lists everything that is wrong with it.
        """
        spec = _spec(asked, config, fields)
        request = messages.submit_request(spec, seeds=seeds, idempotency_key=idempotency_key)
        return [from_wire(run, Run) for run in self._ask(self._scheduler.Submit, request).runs]

    def predict(
        self,
        asked: RunSpec | str = "",
        config: Mapping[str, Any] | None = None,
        *,
        seeds: Sequence[int] = (),
        idempotency_key: str = "",
        **fields: Any,
    ) -> list[str]:
        """Return what such a `submit` would lead to, in sentences, without submitting.

        Raises:
            BadInput: lists everything that is wrong with it.
        """
        spec = _spec(asked, config, fields)
        request = messages.submit_request(spec, seeds=seeds, idempotency_key=idempotency_key, dry_run=True)
        return list(self._ask(self._scheduler.Submit, request).prediction)

    def run(self, run_id: str) -> RunDetail:
        """Return the run whose id is, starts with or ends with *run_id*, or which bears it as a name.

        Raises:
            RunNotFound: there is none.
            BadInput: several bear the name; it lists them.
        """
        return from_wire(self._ask(self._scheduler.GetRun, scheduler_pb2.GetRunRequest(run_id=run_id)), RunDetail)

    def runs(
        self,
        *,
        states: Collection[RunState] = (),
        team: str = "",
        user: str = "",
        worker: str = "",
        name: str = "",
        labels: Mapping[str, str] | None = None,
        limit: int = 100,
    ) -> list[Run]:
        """Return at most *limit* runs, newest first."""
        found: list[Run] = []
        wanted = RunFilter(frozenset(states), team, user, worker, name, labels or {})
        request = to_wire(wanted, scheduler_pb2.ListRunsRequest)
        while len(found) < limit:
            request.page_size = min(limit - len(found), 1000)
            answer = self._ask(self._scheduler.ListRuns, request)
            found += [from_wire(run, Run) for run in answer.runs]
            request.page_token = answer.next_page_token
            if not answer.next_page_token:
                break
        return found

    def watch(self, run_ids: Collection[str] = (), *, on_away: OnAway = ignore) -> Iterator[Run]:
        """Yield the runs as they stand, then each again after every change, without end.

        When the scheduler goes away, *on_away* is called once; after its return the runs come as they stand again.

        Raises:
            RunNotFound: one of *run_ids* names no run.
            Unavailable: the scheduler did not answer to begin with.
        """
        return self._watch(run_ids, on_away=on_away)

    def wait(self, run_id: str, *, within_s: float | None = None) -> Run:
        """Return the run once it has ended, however often the scheduler goes away meanwhile.

        Raises:
            RunNotFound: *run_id* names no run.
            RunUnfinished: it has not ended *within_s* seconds.
        """
        return self._wait(run_id, within_s, _deadline(within_s))

    def wait_all(self, run_ids: Collection[str], *, within_s: float | None = None) -> list[Run]:
        """Return the runs, in the order of *run_ids*, once all of them have ended, as `wait` does for one.

        Raises:
            RunNotFound: one of *run_ids* names no run.
            RunUnfinished: one of them has not ended *within_s* seconds.
        """
        deadline = _deadline(within_s)
        for run_id in run_ids:
            # One that names nothing is told before any is waited for.
            next(self._watch([run_id], deadline=deadline), None)
        return [self._wait(run_id, within_s, deadline) for run_id in run_ids]

    def cancel(self, run_id: str, *, actor: str = "", reason: str = "") -> Run:
        """End a run: SIGTERM, its grace, SIGKILL. An ended run stays as it is."""
        return self._command(self._scheduler.Cancel, run_id, actor, reason)

    def pause(self, run_id: str, *, actor: str = "") -> Run:
        """Stop a running run in place; it keeps its machine."""
        return self._command(self._scheduler.Pause, run_id, actor)

    def resume(self, run_id: str, *, actor: str = "") -> Run:
        """Let a paused run go on."""
        return self._command(self._scheduler.Resume, run_id, actor)

    def retry(self, run_id: str, *, actor: str = "") -> Run:
        """Submit an ended run again; the new run is labelled ``retry_of``."""
        return self._command(self._scheduler.Retry, run_id, actor)

    def explain(self, run_id: str) -> Explanation:
        """Say why a run waits and when it may start."""
        request = scheduler_pb2.GetRunRequest(run_id=run_id)
        return from_wire(self._ask(self._scheduler.Explain, request), Explanation)

    def events(
        self,
        run_id: str,
        *,
        attempt: int = 0,
        from_seq: int | None = None,
        kinds: Collection[str] = (),
        follow: bool = False,
        limit: int = 0,
        on_away: OnAway = ignore,
    ) -> Iterator[EventLine]:
        """Yield the events of a run in order; with *follow*, go on until it has ended.

        When telemetry goes away from a follower, *on_away* is called once; after its return the next event comes.
        """
        request = telemetry_pb2.ReadEventsRequest(
            run_id=run_id, attempt=attempt, kinds=sorted(kinds), follow=follow, limit=limit
        )
        if from_seq is not None:
            getattr(request, "from").CopyFrom(telemetry_pb2.Position(attempt=attempt or 1, seq=from_seq))
        left = limit
        for chunk in self._chunks(lambda: self._telemetry.ReadEvents, request, on_away):
            for line in chunk.lines:
                yield EventLine(chunk.attempt, line.seq, line.time, line.kind, line.line)
            left -= len(chunk.lines)
            if limit and left <= 0:
                return
            if chunk.lines:
                # A stream that has to be opened again goes on from here.
                request.limit = max(0, left)
                position = telemetry_pb2.Position(attempt=chunk.attempt, seq=chunk.lines[-1].seq + 1)
                getattr(request, "from").CopyFrom(position)

    def logs(
        self, run_id: str, *, attempt: int = 0, tail: int = 0, follow: bool = False, on_away: OnAway = ignore
    ) -> Iterator[LogLine]:
        """Yield log lines; with *follow*, go on until the run has ended.

        When telemetry goes away from a follower, *on_away* is called once; after its return the next line comes.
        """
        request = telemetry_pb2.ReadLogsRequest(run_id=run_id, attempt=attempt, tail=tail, follow=follow)
        newest = (0, -1)
        for chunk in self._chunks(lambda: self._telemetry.ReadLogs, request, on_away):
            fresh = [entry for entry in chunk.entries if (chunk.attempt, entry.seq) > newest]
            for entry in fresh:
                yield LogLine(chunk.attempt, entry.seq, entry.time, entry.stream, entry.level, entry.text)
            if fresh:
                newest = (chunk.attempt, fresh[-1].seq)
                # A stream that has to be opened again tells all; what was read is left out above.
                request.tail = 0

    def series(self, run_id: str, *, attempt: int = 0) -> list[SeriesInfo]:
        """Return the curves that can be read: each once with what counts of it, or as one *attempt* told them."""
        request = telemetry_pb2.ListSeriesRequest(run_id=run_id, attempt=attempt)
        answer = self._ask(self._telemetry.ListSeries, request, "telemetry")
        return [messages.series_info(info) for info in answer.series]

    def curve(self, run_id: str, name: str, *, agent: str = "", attempt: int = 0, resolution: int = 1000) -> Curve:
        """Return a curve in at most *resolution* buckets; 0 asks for every point.

        It is made of what counts, unless one *attempt* is asked for: then of all that it told.
        """
        request = telemetry_pb2.ReadSeriesRequest(
            run_id=run_id,
            key=telemetry_pb2.SeriesKey(name=name, agent=agent),
            resolution=resolution,
            attempt=attempt,
        )
        return messages.curve(name, agent, self._ask(self._telemetry.ReadSeries, request, "telemetry"))

    def episodes(
        self, run_id: str, *, kind: str = "training", attempt: int = 0, include_lost: bool = False, last: int = 0
    ) -> Episodes:
        """Return episodes in order: those of training that count, if nothing else is said.

        Args:
            run_id: of which run.
            kind: ``training``, ``evaluation``, ``agent`` and ``evaluation_agent`` (agents' shares), or ``all``. A run
                that told of agents alone has their episodes as those of training.
            attempt: only of this one, and then all it told.
            include_lost: also what a later attempt trained again.
            last: only so many, the newest.

        Raises:
            BadInput: there is no such kind.
        """
        request = telemetry_pb2.ReadEpisodesRequest(
            run_id=run_id, kind=kind, attempt=attempt, include_lost=include_lost, last=last
        )
        answer = self._ask(self._telemetry.ReadEpisodes, request, "telemetry")
        return Episodes(messages.episode(episode) for episode in answer.episodes)

    def summaries(self, run_ids: Collection[str]) -> dict[str, Summary]:
        """Return the newest numbers of each run that has sent anything."""
        request = telemetry_pb2.SummariseRequest(run_ids=list(run_ids))
        answer = self._ask(self._telemetry.Summarise, request, "telemetry")
        return {summary.run_id: messages.summary(summary) for summary in answer.summaries}

    def telemetry_fault(self) -> str:
        """Return why telemetry can store nothing new at the moment, such as a full disk; nothing when it can."""
        answer = self._ask(self._telemetry.Summarise, telemetry_pb2.SummariseRequest(), "telemetry")
        return str(answer.fault)

    def manifest(self, run_id: str, *, within_s: float = 30.0) -> Manifest:
        """Return the manifest of an ended run, waiting up to *within_s* for it to be written.

        It is written when the last events of the run have arrived, a moment after its end is known.

        Raises:
            NotFound: it has not been written.
        """
        request = telemetry_pb2.GetManifestRequest(run_id=run_id)
        deadline = time.monotonic() + within_s
        while True:
            try:
                answer = self._ask(self._telemetry.GetManifest, request, "telemetry")
                return Manifest(answer.run_id, json.loads(answer.json), answer.digest, answer.path)
            except NotFound:
                # The last events of a run may still be on their way when its end is already known.
                if time.monotonic() > deadline:
                    raise
                time.sleep(_LOOK_AGAIN_S)

    def fleet(self) -> Fleet:
        """Return machines, agents and workers as they stand."""
        return from_wire(self._ask(self._registry.GetFleet, registry_pb2.GetFleetRequest(), "registry"), Fleet)

    def worker(self, name: str) -> Worker:
        """Return what the registry knows of a worker.

        Raises:
            WorkerNotFound: no worker has that name.
        """
        request = registry_pb2.DescribeWorkerRequest(name=name)
        return from_wire(self._ask(self._registry.DescribeWorker, request, "registry"), Worker)

    def drain(self, *, node_id: str = "", agent_id: str = "", draining: bool = True) -> None:
        """Take a node or an agent out of planning, or back in; what runs there goes on."""
        request = registry_pb2.DrainRequest(draining=draining)
        if node_id:
            request.node_id = node_id
        else:
            request.agent_id = agent_id
        self._ask(self._registry.Drain, request, "registry")

    def teams(self) -> list[Team]:
        """Return every team that was set up."""
        answer = self._ask(self._scheduler.ListTeams, scheduler_pb2.ListTeamsRequest())
        return [from_wire(team, Team) for team in answer.teams]

    def set_team(self, name: str, **terms: Any) -> Team:
        """Set up a team, or change those of its terms that are given; None lifts a limit.

        The terms are ``weight``, the guaranteed ``gpus``, ``cpus`` and ``memory_mb``, and the limits of
        `mosaic.model.team.Team`.

        Raises:
            BadInput: lists every term that makes no sense.
        """
        return from_wire(self._ask(self._scheduler.SetTeam, messages.team_request(name, terms)), Team)

    def _reach(self, endpoints: Endpoints) -> None:
        registry, scheduler, telemetry = (
            open_channel(getattr(endpoints, name), name, endpoints.tls, metadata=self._speak)
            for name in ("registry", "scheduler", "telemetry")
        )
        # Other threads may still be calling over the channels of before: all are closed at the end.
        self._channels += [registry, scheduler, telemetry]
        self.endpoints = endpoints
        self._registry = registry_pb2_grpc.RegistryStub(registry)
        self._scheduler = scheduler_pb2_grpc.SchedulerStub(scheduler)
        self._telemetry = telemetry_pb2_grpc.TelemetryStub(telemetry)

    def _look_again(self) -> bool:
        """Turn to where the platform is now; tell whether that is somewhere else than before."""
        if self._is_closed:
            raise Refused("the connection to the platform was closed")
        try:
            found = self._find() if self._find else self.endpoints
        except Unavailable:
            return False
        has_moved = found != self.endpoints
        if has_moved:
            self._reach(found)
        return has_moved

    def _watch(
        self, run_ids: Collection[str], *, on_away: OnAway = ignore, deadline: float | None = None
    ) -> Iterator[Run]:
        request = scheduler_pb2.WatchRunsRequest(run_ids=sorted(run_ids))

        def stream() -> Iterator[Any]:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            return self._follow(self._scheduler.WatchRuns, request, "scheduler", timeout_s=left)

        for run in persist(stream, look_again=self._look_again, on_away=on_away, deadline=deadline):
            yield from_wire(run, Run)

    def _wait(self, run_id: str, within_s: float | None, deadline: float | None) -> Run:
        state = "unknown"
        for run in self._watch([run_id], deadline=deadline):
            if run.has_ended:
                return run
            run_id, state = run.run_id, run.state.value
        raise RunUnfinished(run_id, within_s or 0.0, state)

    def _chunks(self, call: Callable[[], Callable[..., Any]], request: Any, on_away: OnAway) -> Iterator[Any]:
        """Yield the chunks of a stream of telemetry; one that follows ends only when its run has ended."""

        def stream() -> Iterator[Any]:
            return self._follow(call(), request, "telemetry")

        if not request.follow:
            yield from stream()
            return
        for chunk in persist(stream, look_again=self._look_again, on_away=on_away):
            yield chunk
            if chunk.finished:
                return

    def _command(self, call: Callable[..., Any], run_id: str, actor: str, reason: str = "") -> Run:
        request = scheduler_pb2.RunCommand(run_id=run_id, actor=actor, reason=reason)
        return from_wire(self._ask(call, request), Run)

    def _ask(self, call: Callable[..., Any], request: Any, service: str = "scheduler") -> Any:
        try:
            return call(request, timeout=_TIMEOUT_S)
        except grpc.RpcError as error:
            raise error_from(error, service=service, address=getattr(self.endpoints, service)) from error

    def _follow(
        self, call: Callable[..., Any], request: Any, service: str, *, timeout_s: float | None = None
    ) -> Iterator[Any]:
        stream = call(request, timeout=timeout_s)
        try:
            yield from stream
        except grpc.RpcError as error:
            raise error_from(error, service=service, address=getattr(self.endpoints, service)) from error
        finally:
            stream.cancel()


def _deadline(within_s: float | None) -> float | None:
    return None if within_s is None else time.monotonic() + within_s


def _spec(asked: RunSpec | str, config: Mapping[str, Any] | None, fields: Mapping[str, Any]) -> RunSpec:
    if isinstance(asked, RunSpec):
        return replace(asked, **fields) if config is None else replace(asked, config=config, **fields)
    return RunSpec(WorkerName(asked), config or {}, **fields)
