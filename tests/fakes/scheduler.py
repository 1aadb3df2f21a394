"""The world around the scheduler, in memory: a fleet, a dispatcher that remembers, a clock that is told."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from mosaic.errors import BrokerUnavailable, ServiceUnavailable
from mosaic.hosting.changes import ChangeSignal
from mosaic.hosting.database import open_engine
from mosaic.ids import AgentId, NodeId, RunId, TeamName, UserName, WorkerName
from mosaic.model.attempt import Attempt, HeldAttempt, Launch, Report, RunFinished
from mosaic.model.identity import Caller
from mosaic.model.run import Run, RunAccepted, RunSpec
from mosaic_scheduler.adapters.aes_vault import AesVault
from mosaic_scheduler.adapters.sql_runs import SqlRuns
from mosaic_scheduler.domain.run import ResumeGrade
from mosaic_scheduler.domain.snapshot import Agent, Gpu, Node
from mosaic_scheduler.entrypoints.grpc_api import SchedulerApi
from mosaic_scheduler.handlers import claims, commands, queries, submit
from mosaic_scheduler.handlers.round_settings import RoundSettings
from mosaic_scheduler.handlers.rounds import Rounds
from mosaic_scheduler.handlers.submit import Request
from mosaic_scheduler.ports import FleetView, RunStore, Secrets, WorkerFacts
from tests.fakes.calls import admin
from tests.fakes.databases import migrated_file
from tests.fakes.telemetry import KEY

START = datetime(2026, 1, 1, tzinfo=timezone.utc)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "run_id": {"type": "string"},
        "seed": {"type": ["integer", "null"]},
        "env_id": {"type": "string"},
        "total_steps": {"type": "integer", "minimum": 1},
    },
    "required": ["run_id"],
    "additionalProperties": False,
}


@dataclass
class FakeFleet:
    """A fleet whose view the test sets; asking it again gives the same, or fails while `is_away`."""

    current: FleetView = field(default_factory=FleetView)
    is_away: bool = False

    def view(self) -> FleetView:
        return self.current

    def refresh(self) -> FleetView:
        if self.is_away:
            raise ServiceUnavailable("the registry", "nowhere")
        return self.current


@dataclass
class RecordingDispatcher:
    """Remembers what it dispatched; refuses while `is_broken`."""

    dispatched: list[tuple[str, str, int]] = field(default_factory=list)
    is_broken: bool = False
    #: How often it refused.
    refused: int = 0
    #: What the dispatch of a run meets.
    faults: dict[str, Exception] = field(default_factory=dict)

    def dispatch(self, queue: str, run_id: RunId, attempt: int) -> None:
        if self.is_broken:
            self.refused += 1
            raise BrokerUnavailable("the broker is away")
        if run_id in self.faults:
            raise self.faults[run_id]
        self.dispatched.append((queue, run_id, attempt))


@dataclass
class HeardTelemetry:
    """Remembers what it was told; hears nothing of new runs while `is_away`.

    What news of a run meets on its way can be set by run.
    """

    published: list[RunFinished] = field(default_factory=list)
    accepted: list[RunAccepted] = field(default_factory=list)
    is_away: bool = False
    faults: dict[str, Exception] = field(default_factory=dict)
    #: Of which runs it was told something, heard or not, in order.
    tried: list[str] = field(default_factory=list)

    def runs_accepted(self, runs: Sequence[RunAccepted]) -> None:
        if self.is_away:
            raise BrokerUnavailable("the broker is away")
        self._meet(*(run.run_id for run in runs))
        self.accepted += runs

    def run_finished(self, finished: RunFinished) -> None:
        self._meet(finished.run.run_id)
        self.published.append(finished)

    def _meet(self, *run_ids: str) -> None:
        self.tried += run_ids
        for run_id in run_ids:
            if run_id in self.faults:
                raise self.faults[run_id]


@dataclass
class KnownSecrets:
    """Secrets by name."""

    values: dict[str, str] = field(default_factory=dict)

    def value(self, name: str, *, user: UserName, team: TeamName) -> str | None:
        return self.values.get(name)


def a_fleet(*, cpus: float = 4, gpus: int = 0, slots: int = 8, token: str = "session") -> FleetView:
    """Return one node with one agent of the worker ``toy``."""
    cards = tuple(Gpu(f"gpu-{index}", 16_000) for index in range(gpus))  # type: ignore[arg-type]
    agent_id = AgentId("agent-1")
    return FleetView(
        nodes={"node-1": Node(NodeId("node-1"), cpus, 16_000, cards)},
        agents={agent_id: Agent(agent_id, NodeId("node-1"), WorkerName("toy"), slots)},
        queues={agent_id: "runs.toy.agent-1"},
        sessions={agent_id: hashlib.sha256(token.encode()).hexdigest()},
        workers={WorkerName("toy"): WorkerFacts(WorkerName("toy"), "1.0", SCHEMA, {"cpu_cores": 1}, ResumeGrade.EXACT)},
        revision=1,
    )


class Desk:
    """A scheduler over SQLite without threads: the test says what happens and when."""

    def __init__(self, folder: Path, view: FleetView | None = None, *, url: str = "") -> None:
        url = url or migrated_file("mosaic_scheduler.adapters.migrations", folder / "runs.db")
        self.engine = engine = open_engine(url)
        self.now = START
        self.store = SqlRuns(engine)
        self.fleet = FakeFleet(view or a_fleet())
        self.dispatcher = RecordingDispatcher()
        self.finished = HeardTelemetry()
        self.secrets: Secrets = KnownSecrets()
        self.vault = AesVault(base64.b64encode(bytes(32)).decode())
        self.changes = ChangeSignal()
        self.settings = RoundSettings()
        self.rounds = self.new_rounds()

    def new_rounds(self) -> Rounds:
        """Return rounds that have seen nothing yet, as after a restart."""
        rounds = Rounds(
            store=self.store,
            fleet=self.fleet,
            dispatcher=self.dispatcher,
            telemetry=self.finished,
            route=lambda run_id: run_id[-1],
            clock=self.clock,
            settings=self.settings,
        )
        rounds.adopt()
        return rounds

    def api(self, store: RunStore | None = None) -> SchedulerApi:
        """Return the methods that the console and agents call."""
        return SchedulerApi(
            store=store or self.store,
            fleet=self.fleet,
            secret_values=self.secrets,
            vault=self.vault,
            event_key=KEY,
            clock=self.clock,
            rounds=self.settings,
            changes=self.changes,
            changed=self.changes.notify,
        )

    def clock(self) -> datetime:
        return self.now

    def later(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    def submit(
        self,
        config: dict[str, Any] | None = None,
        *,
        seeds: tuple[int, ...] = (),
        key: str = "",
        user: str = "ann",
        caller: Caller | None = None,
        **spec: Any,
    ) -> Run:
        """Submit a run of *user*, or of *caller*; of the worker ``toy`` unless *spec* says otherwise."""
        spec = {"worker": WorkerName("toy"), "team": TeamName("default"), **spec}
        request = Request(RunSpec(config=config or {}, **spec), seeds=seeds, idempotency_key=key)
        accepted = submit.submit(
            request,
            caller=caller or admin(user),
            store=self.store,
            fleet=self.fleet,
            secrets=self.secrets,
            clock=self.clock,
        )
        return accepted.runs[0]

    def retry(self, run: Run, caller: Caller | None = None) -> Run:
        """Submit an ended run again."""
        accepted = commands.retry_run(
            run.run_id,
            caller=caller or admin(),
            store=self.store,
            fleet=self.fleet,
            secrets=self.secrets,
            clock=self.clock,
        )
        return accepted.runs[0]

    def claim(self, run: Run, attempt: int = 1, agent: str = "agent-1") -> Launch:
        """Claim an attempt as its agent."""
        return claims.claim(
            run.run_id,
            attempt,
            AgentId(agent),
            store=self.store,
            secrets=self.secrets,
            event_key=KEY,
            clock=self.clock,
            settings=self.settings,
        )

    def renew(self, *held: Launch) -> list[Any]:
        """Renew leases as the agent."""
        shown = [HeldAttempt(each.run_id, each.attempt, each.control_token) for each in held]
        return claims.renew(AgentId("agent-1"), shown, store=self.store, clock=self.clock, lease=self.settings.lease)

    def report(self, claimed: Launch, fact: str, **details: Any) -> None:
        """Report a fact as the agent."""
        report = Report(claimed.run_id, claimed.attempt, claimed.control_token, fact, **details)
        with self.store.read() as work:
            attempt = work.attempt(claimed.run_id, claimed.attempt)
        sender = attempt.agent_id if attempt else AgentId("agent-1")
        claims.report(report, sender, store=self.store, clock=self.clock, retry=self.settings.retry)

    def pause(self, run: Run, caller: Caller | None = None) -> Run:
        """Pause a run."""
        return commands.pause(run.run_id, caller=caller or admin(), store=self.store, clock=self.clock)

    def resume(self, run: Run, caller: Caller | None = None) -> Run:
        """Resume a run."""
        return commands.resume(run.run_id, caller=caller or admin(), store=self.store, clock=self.clock)

    def cancel(self, run: Run, caller: Caller | None = None, reason: str = "changed my mind") -> Run:
        """Cancel a run, as its owner unless it is *caller*."""
        return commands.cancel(
            run.run_id,
            caller=caller or admin(),
            reason=reason,
            store=self.store,
            clock=self.clock,
            retry=self.settings.retry,
        )

    def predict(self, spec: RunSpec, *, key: str = "") -> list[str]:
        """Ask what would happen to a run."""
        return queries.predict(
            Request(spec, idempotency_key=key),
            caller=admin(spec.user or "ann"),
            store=self.store,
            fleet=self.fleet,
            secrets=self.secrets,
            clock=self.clock,
            policy=self.settings.policy,
        )

    def run(self, run: Run) -> Run:
        """Return the run as it stands now."""
        with self.store.read() as work:
            entry = work.run(run.run_id)
        assert entry is not None
        return entry

    def run_of(self, run_id: str) -> Run:
        """Return the run with that id."""
        with self.store.read() as work:
            entry = work.run(RunId(run_id))
        assert entry is not None
        return entry

    def attempt(self, run: Run, number: int = 1) -> Attempt:
        """Return an attempt as it stands now."""
        with self.store.read() as work:
            entry = work.attempt(run.run_id, number)
        assert entry is not None
        return entry
