"""Stand-ins for everything an agent talks to, and a worker made of a few lines of Python."""

from __future__ import annotations

import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any

from mosaic.agent.agent import Agent, AgentOptions, queue_name
from mosaic.agent.ports import OnDispatch, Welcome, WorkerProfile
from mosaic.errors import ServiceUnavailable, SessionRejected, StaleAttempt
from mosaic.events.frame import EncodedFrame, decode
from mosaic.ids import NodeId, RunId, WorkerName
from mosaic.model.attempt import AttemptDirective, HeldAttempt, Launch, Report
from mosaic.model.fleet import Announcement, Gpu, Node, Worker
from mosaic.model.resources import Lease
from mosaic.model.run import RunSpec
from tests.fakes.telemetry import KEY


def a_launch(**given: Any) -> Launch:
    """Return a launch of run-1; fields of its spec and of its lease may be named, too."""
    spec = {name: given.pop(name) for name in list(given) if name in _SPEC}
    lease = {name: given.pop(name) for name in list(given) if name in _LEASE}
    values = {"run_id": RunId("run-1"), "attempt": 1, **given}
    values.setdefault("event_key", KEY.of_attempt(values["run_id"], values["attempt"]))
    return Launch(
        spec=RunSpec(**{"worker": WorkerName("script"), **spec}),
        lease=Lease(**{"cpus": 1.0, "memory_mb": 0, **lease}),
        **values,
    )


#: ``secrets`` are those of the launch, which have values.
_SPEC = {field.name for field in fields(RunSpec)} - {"secrets", "hang_limit"}
_LEASE = {field.name for field in fields(Lease)}


class InMemoryRegistry:
    """Remembers who registered; sessions can be forgotten to see agents come back."""

    def __init__(self) -> None:
        self.announcements: list[Announcement] = []
        self.heartbeats = 0
        self.has_left = False
        self.is_draining = False
        self.token = ""

    def register(self, announcement: Announcement) -> Welcome:
        self.announcements.append(announcement)
        self.token = f"session-{len(self.announcements)}"
        return Welcome(self.token, heartbeat_interval_s=0.05, protocol_version="MOSAIC/2.0")

    def heartbeat(self, agent_id: str, session_token: str, gpus: Sequence[Gpu]) -> bool:
        if session_token != self.token:
            raise SessionRejected(agent_id)
        self.heartbeats += 1
        return self.is_draining

    def retire(self, agent_id: str, session_token: str) -> None:
        self.is_draining = True

    def leave(self, agent_id: str, session_token: str) -> None:
        self.has_left = True


class InMemoryScheduler:
    """Hands out prepared launches once, answers renewals with prepared directives, keeps reports."""

    def __init__(self) -> None:
        self.launches: dict[tuple[str, int], Launch] = {}
        self.claimed: set[tuple[str, int]] = set()
        self.reports: list[Report] = []
        self.directives: list[AttemptDirective] = []
        self.renewals: list[Sequence[HeldAttempt]] = []
        self.is_away = False
        self._changed = threading.Condition()

    def offer(self, launch: Launch) -> None:
        self.launches[launch.run_id, launch.attempt] = launch

    def claim(self, run_id: RunId, attempt: int, agent_id: str, session_token: str) -> Launch:
        self._answer()
        key = (run_id, attempt)
        if key in self.claimed or key not in self.launches:
            raise StaleAttempt(run_id, attempt, "it was claimed before")
        self.claimed.add(key)
        return self.launches[key]

    def renew(self, held: Sequence[HeldAttempt], agent_id: str, session_token: str) -> Sequence[AttemptDirective]:
        self._answer()
        self.renewals.append(held)
        return list(self.directives)

    def report(self, report: Report) -> None:
        self._answer()
        with self._changed:
            self.reports.append(report)
            self._changed.notify_all()

    def wait_for(self, fact: str, run_id: str = "run-1", timeout_s: float = 20.0) -> Report:
        """Return the first report of that fact, waiting for it."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._find(fact, run_id), timeout_s), (
                f"no {fact!r} for {run_id} among {[(report.run_id, report.fact) for report in self.reports]}"
            )
            return self._find(fact, run_id)[0]

    def facts(self, run_id: str = "run-1") -> list[str]:
        return [report.fact for report in self.reports if report.run_id == run_id]

    def _find(self, fact: str, run_id: str) -> list[Report]:
        return [report for report in self.reports if report.fact == fact and report.run_id == run_id]

    def _answer(self) -> None:
        if self.is_away:
            raise ServiceUnavailable("the scheduler", "nowhere")


class InMemorySink:
    """Keeps lines of who proves to be their agent by number, as telemetry does, and counts repetitions."""

    def __init__(self) -> None:
        self.lines: dict[tuple[str, int], dict[int, bytes]] = {}
        self.is_away = False
        self.repeated = 0
        self.frames = 0
        self._changed = threading.Condition()

    def send(self, frames: Sequence[EncodedFrame]) -> Sequence[int]:
        if self.is_away:
            raise ServiceUnavailable("telemetry", "nowhere")
        with self._changed:
            for frame in frames:
                KEY.check_frame(frame)
                self._store(frame)
            self._changed.notify_all()
        return range(len(frames))

    def stream(self, run_id: str = "run-1", attempt: int = 1) -> list[bytes]:
        """Return the lines of an attempt in order; a gap is an error."""
        lines = self.lines.get((run_id, attempt), {})
        assert list(range(len(lines))) == sorted(lines)
        return [lines[seq] for seq in sorted(lines)]

    def wait_for(self, part: bytes, run_id: str = "run-1", attempt: int = 1, timeout_s: float = 20.0) -> None:
        """Wait until a line with *part* in it has arrived."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: any(part in line for line in self.lines.get((run_id, attempt), {}).values()),
                timeout_s,
            ), f"no line with {part!r}"

    def _store(self, frame: EncodedFrame) -> None:
        unpacked = decode(frame.body)
        assert (frame.run_id, frame.attempt) == (unpacked.run_id, unpacked.attempt)
        kept = self.lines.setdefault((frame.run_id, frame.attempt), {})
        self.frames += 1
        for seq, line in enumerate(unpacked.lines, unpacked.first_seq):
            self.repeated += seq in kept
            kept[seq] = line


class DirectDispatchListener:
    """Rings in the caller's thread."""

    def __init__(self) -> None:
        self._handlers: dict[str, OnDispatch] = {}
        self.fault: str | None = None

    def listen(self, queue: str, on_dispatch: OnDispatch) -> None:
        self._handlers[queue] = on_dispatch

    def on_dispatch(self, run_id: str, attempt: int) -> None:
        for on_dispatch in self._handlers.values():
            on_dispatch(run_id, attempt)

    def start(self) -> None:
        """Nothing to start."""

    def stop(self) -> None:
        """Nothing to stop."""


class Bench:
    """An agent with fakes around it, whose worker is a script."""

    def __init__(self, root: Path, script: str = "", **options: object) -> None:
        self.root = root
        self.script = root / "worker.py"
        self.script.write_text(textwrap.dedent(script))
        self.registry = InMemoryRegistry()
        self.scheduler = InMemoryScheduler()
        self.sink = InMemorySink()
        self.listener = DirectDispatchListener()
        self._dispatches = options.pop("listener", self.listener)
        self._options = options
        self.agent = self._build()

    def run(self, **launch: Any) -> None:
        """Offer run-1 and dispatch it; fields of its spec and of its lease may be named, too."""
        offered = a_launch(**{"grace": timedelta(seconds=0.5), **launch})
        self.scheduler.offer(offered)
        self.listener.on_dispatch(offered.run_id, offered.attempt)

    def restart(self) -> None:
        """Start a new agent on what the last one left."""
        self.agent = self._build()
        self.agent.start()

    @property
    def queue(self) -> str:
        """Where the agent receives dispatches."""
        return queue_name("script", str(self._options.get("agent_id", "agent-1")))

    @property
    def remembered(self) -> list[str]:
        """The attempts that are still on disk."""
        return sorted(path.name for path in (self.root / "home" / "attempts").iterdir())

    def _build(self) -> Agent:
        worker = WorkerProfile(
            Worker(WorkerName("script"), "1.0", versions={"script": "1.0"}, launch=(str(self.script),)),
            sys.executable,
            environment={"packages": {"script": "1.0"}},
        )
        values: dict[str, object] = {
            "agent_id": "agent-1",
            "worker": worker,
            "machine": Node(NodeId("node-1"), "host", 2, 1024),
            "slots": 2,
            "home": self.root / "home",
            "runs_root": self.root / "runs",
            "environment": {"PATH": "/usr/bin:/bin", "TOKEN_OF_OURS": "never"},
            "stop_timeout_s": 10.0,
            **self._options,
        }
        return Agent(
            AgentOptions(**values),  # type: ignore[arg-type]
            registry=self.registry,
            scheduler=self.scheduler,
            sink=self.sink,
            listener=self._dispatches,  # type: ignore[arg-type]
        )


def eventually(condition: Callable[[], object], timeout_s: float = 10.0) -> None:
    """Wait for something that another thread or process brings about."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.01)


def running(bench: Bench) -> Iterator[Bench]:
    """Start the agent of *bench* and stop it afterwards: the body of a fixture."""
    bench.agent.start()
    try:
        yield bench
    finally:
        bench.agent.stop()
