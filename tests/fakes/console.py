"""A platform in memory for the console."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from mosaic.client import (
    Attempt,
    Change,
    Curve,
    Episode,
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
from mosaic.errors import NotFound, RunNotFound, Unavailable, WorkerNotFound
from mosaic.ids import AgentId, NodeId, RunId, TeamName, UserName, WorkerName
from mosaic.lifecycle import AttemptState, RunState
from mosaic.model.admission import AgentCertificate, Invite
from mosaic.model.audit import AuditEntry, AuditFilter
from mosaic.model.fleet import Agent, Fleet, Node, Worker
from mosaic.model.identity import Caller
from mosaic.model.resources import Lease
from mosaic.model.run import RunFilter
from mosaic.model.secret import Secret
from mosaic_console.ports import Position, RunPage

NOON = datetime(2030, 1, 1, 12, 0, tzinfo=timezone.utc)
SCHEMA = {"properties": {"env_id": {"type": "string", "default": "CartPole-v1"}, "total_steps": {"default": 1000}}}


_SPEC = RunSpec(
    WorkerName("toy"),
    {"env_id": "CartPole-v1", "total_steps": 500},
    seed=1,
    team=TeamName("default"),
    user=UserName("ada"),
)
_OF_SPEC = frozenset(each.name for each in fields(RunSpec)) - {"not_before"}


def a_console_run(run_id: str, **more: Any) -> Run:
    """Return a run; say only what matters, of the run or of its spec."""
    spec = replace(_SPEC, **{name: value for name, value in more.items() if name in _OF_SPEC})
    run = Run(
        RunId(run_id),
        spec,
        RunState.RUNNING,
        NOON,
        NOON,
        attempt=1,
        started_at=NOON,
        agent_id=AgentId("a1"),
        node_id=NodeId("n1"),
    )
    return replace(run, **{name: value for name, value in more.items() if name not in _OF_SPEC})


@dataclass
class InMemoryPlatform:
    """Keeps runs, newest last, and what was done to them."""

    runs: dict[str, Run] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    done: list[tuple[str, ...]] = field(default_factory=list)
    asked: list[RunSpec] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    #: Returns of the training episodes of a run, ten steps each.
    returns: dict[str, list[float]] = field(default_factory=dict)
    kept: dict[str, Secret] = field(default_factory=dict)
    #: In whose name it is asked.
    user: str = ""
    #: While True telemetry is away.
    is_deaf: bool = False

    def add(self, run_id: str, **more: Any) -> Run:
        """Keep a run."""
        self.runs[run_id] = a_console_run(run_id, **more)
        return self.runs[run_id]

    def of(self, caller: Caller) -> InMemoryPlatform:
        """Return itself in the name of *caller*: what it keeps is the same."""
        return replace(self, user=caller.user)

    def page(self, wanted: RunFilter, *, after: str = "", size: int = 100) -> RunPage:
        fits = [run for run in reversed(self.runs.values()) if not wanted.states or run.state in wanted.states]
        fits = [run for run in fits if wanted.name in ("", run.spec.name) and wanted.team in ("", run.spec.team)]
        start = [run.run_id for run in fits].index(after) + 1 if after else 0
        found = fits[start : start + size]
        return RunPage(tuple(found), found[-1].run_id if len(fits) > start + size else None)

    def run(self, run_id: str) -> RunDetail:
        if run_id not in self.runs:
            raise RunNotFound(run_id)
        begun = NOON + timedelta(seconds=2)
        attempt = Attempt(
            RunId(run_id),
            1,
            AttemptState.RUNNING,
            AgentId("a1"),
            NodeId("n1"),
            Lease(1.0, 512),
            admitted_at=NOON,
            lease_until=begun,
            claimed_at=NOON,
            started_at=begun,
        )
        change = Change(RunId(run_id), 1, NOON, "started", "admitted", "running", "agent")
        return RunDetail(self.runs[run_id], (attempt,), (change,))

    def submit(self, asked: RunSpec, *, seeds: Sequence[int] = (), idempotency_key: str = "") -> list[Run]:
        self.keys.append(idempotency_key)
        self.asked.append(asked)
        return [self.add(f"run-{len(self.runs) + 1}", user=asked.user, name=asked.name, state=RunState.QUEUED)]

    def predict(self, asked: RunSpec, *, seeds: Sequence[int] = (), idempotency_key: str = "") -> list[str]:
        self.asked.append(asked)
        return ["it would be accepted"]

    def cancel(self, run_id: str, *, reason: str = "") -> Run:
        return self._do("cancel", run_id, RunState.CANCELLED)

    def pause(self, run_id: str) -> Run:
        return self._do("pause", run_id, RunState.PAUSED)

    def resume(self, run_id: str) -> Run:
        return self._do("resume", run_id, RunState.RUNNING)

    def retry(self, run_id: str) -> Run:
        return self._do("retry", run_id, RunState.QUEUED)

    def watch(self, run_ids: Collection[str]) -> Generator[Run]:
        for run_id in run_ids:
            yield self.run(run_id).run
        raise Unavailable("the scheduler went away")

    def explain(self, run_id: str) -> Explanation:
        return Explanation(("it waits for a GPU",), None, "", 1)

    def events(
        self,
        run_id: str,
        *,
        attempt: int = 0,
        start: Position | None = None,
        kinds: Collection[str] = (),
        follow: bool = False,
        limit: int = 0,
    ) -> Generator[list[EventLine]]:
        told = [EventLine(1, 1, 0.0, "step", b'{"event": "step"}'), EventLine(1, 2, 1.0, "log", b"no json \xff")]
        yield [line for line in told if (line.attempt, line.seq) >= (start or (0, 0))]
        if self.is_deaf:
            raise Unavailable("telemetry does not answer")

    def logs(
        self, run_id: str, *, attempt: int = 0, tail: int = 0, after: Position | None = None, follow: bool = False
    ) -> Generator[list[LogLine]]:
        told = [LogLine(1, seq, 0.0, "stdout", "info", text) for seq, text in enumerate(self.log)]
        yield [line for line in told if (line.attempt, line.seq) > (after or (0, 0))][-tail:]

    def series(self, run_id: str, *, attempt: int = 0) -> list[SeriesInfo]:
        if self.is_deaf:
            raise Unavailable("telemetry does not answer")
        return [SeriesInfo("return", "", 1, 2, 20.0, 5.0, 1.0, 5.0, "")]

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
        self.done.append(("curve", name, str(from_step), str(to_step), str(resolution)))
        return Curve(name, agent, "", 2, (10.0, 20.0), (1.0, float("nan")), (1.0, 5.0), (1.0, 5.0), (1, 1), (1.0, 5.0))

    def episodes(
        self, run_id: str, *, kind: str = "training", attempt: int = 0, include_lost: bool = False, last: int = 0
    ) -> Episodes:
        told = enumerate(self.returns.get(run_id, []), start=1)
        return Episodes(Episode(1, index, index, "", value, 10, 10.0 * index, 0.0) for index, value in told)

    def summaries(self, run_ids: Collection[str]) -> dict[str, Summary]:
        if self.is_deaf:
            raise Unavailable("telemetry does not answer")
        return {each: self._summary(each) for each in run_ids}

    def _summary(self, run_id: str) -> Summary:
        told = self.returns.get(run_id)
        mean = sum(told) / len(told) if told else 12.5
        return Summary(run_id, 3, 250.0, 100.0, mean, 3, NOON, False)

    def telemetry_fault(self) -> str:
        return ""

    def manifest(self, run_id: str) -> Manifest:
        raise NotFound("the manifest is not written yet")

    def fleet(self) -> Fleet:
        node = Node(NodeId("n1"), "host", 4, 8192, alive=True)
        agent = Agent(AgentId("a1"), NodeId("n1"), WorkerName("toy"), "1.0", 2, "q", "1", NOON)
        return Fleet((node,), (agent,), (self.worker("toy"),), 7)

    def worker(self, name: str) -> Worker:
        if name != "toy":
            raise WorkerNotFound(name, ["toy"])
        return Worker(WorkerName("toy"), "1.0", config_schema=SCHEMA)

    def teams(self) -> list[Team]:
        return []

    def set_team(self, name: str, terms: Mapping[str, Any]) -> Team:
        self.done.append(("set_team", name, str(dict(terms))))
        return Team(TeamName(name))

    def drain(self, *, node_id: str = "", agent_id: str = "", draining: bool = True) -> None:
        self.done.append(("drain", node_id or agent_id, str(draining)))

    def invite(self, *, uses: int, ttl_s: float, worker: str) -> tuple[str, Invite]:
        self.done.append(("invite", str(uses), str(ttl_s), worker))
        return "mosaic_join_x", self._invite

    def admitted(self) -> tuple[list[Invite], list[AgentCertificate]]:
        held = AgentCertificate(serial="1", agent_id=AgentId("a1"), issued_at=NOON, expires_at=NOON)
        return [self._invite], [held]

    def revoke_agent(self, *, agent_id: str = "", invite_id: str = "") -> None:
        self.done.append(("revoke_agent", agent_id, invite_id))

    @property
    def _invite(self) -> Invite:
        return Invite(invite_id="i1", uses=1, created_at=NOON, expires_at=NOON, created_by="user:ada")

    def secrets(self) -> list[Secret]:
        return list(self.kept.values())

    def set_secret(self, name: str, value: str, team: str) -> Secret:
        self.done.append(("set_secret", name, value, team, self.user))
        self.kept[name] = Secret(name, TeamName(team), UserName(self.user), NOON)
        return self.kept[name]

    def delete_secret(self, name: str, team: str) -> None:
        if self.kept.pop(name, None) is None:
            raise NotFound(f"there is no secret {name!r}")

    def audit(self, service: str, wanted: AuditFilter, limit: int) -> Generator[AuditEntry]:
        self.done.append(("audit", service, wanted.team, wanted.actor, str(wanted.after), str(limit)))
        entry = AuditEntry(NOON, f"user:{self.user}", "runs:cancel", "r1", service=service, seq=1)
        yield replace(entry, hash=entry.chained(""))

    def close(self) -> None:
        """Nothing is open."""

    def _do(self, command: str, run_id: str, state: RunState) -> Run:
        self.run(run_id)
        self.done.append((command, run_id, self.user))
        self.runs[run_id] = replace(self.runs[run_id], state=state)
        return self.runs[run_id]
