"""The agent, put together from its parts; in a process of its own or beside the services."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import structlog

from mosaic.agent.control.lifetime import AgentLifetime
from mosaic.agent.control.membership import Membership
from mosaic.agent.control.report_sender import ReportSender
from mosaic.agent.execution.attempt import AttemptContext
from mosaic.agent.execution.attempt_store import AttemptStore
from mosaic.agent.execution.child import death_wrapper
from mosaic.agent.execution.leases import LeaseKeeper
from mosaic.agent.execution.recovery import recover
from mosaic.agent.execution.supervisor import AttemptSupervisor, Stores
from mosaic.agent.execution.walls import Walls
from mosaic.agent.inventory import find_gpus
from mosaic.agent.ports import PROTOCOL_VERSIONS, DispatchListener, Registry, Scheduler, WorkerProfile
from mosaic.agent.telemetry.backlog import Backlog
from mosaic.agent.telemetry.shipper import Shipper
from mosaic.agent.telemetry.spool import Spool
from mosaic.errors import MosaicError, Refused, SessionRejected
from mosaic.events.frame import FrameSink
from mosaic.hosting.health import Probe, check
from mosaic.ids import AgentId, RunId
from mosaic.lifecycle import ATTEMPT_TERMINAL
from mosaic.model.attempt import AttemptDirective, HeldAttempt, Report
from mosaic.model.fleet import Announcement, Gpu, Node
from mosaic.worker.command import DEFAULT_HEARTBEAT_S

log = structlog.get_logger()

AnswerT = TypeVar("AnswerT")

_TERMINAL_FACTS = frozenset(state.value for state in ATTEMPT_TERMINAL)

_CLAIMERS = 8
_CLAIM_PATIENCE_S = 30.0
_CLAIM_PAUSE_S = 0.2


@dataclass(frozen=True)
class AgentOptions:
    """All that an agent needs to know about itself."""

    agent_id: str
    worker: WorkerProfile
    machine: Node
    #: Attempts at once.
    slots: int
    #: The agent's own directory; nobody else writes there.
    home: Path
    #: Where run directories are, shared by all agents that may execute attempts of the same run.
    runs_root: Path
    environment: Mapping[str, str]
    walls: Walls = field(default_factory=Walls)
    heartbeat_s: float = DEFAULT_HEARTBEAT_S
    spool_limit_bytes: int = 1024**3
    #: At a stop: how long attempts, reports and lines may take to finish.
    stop_timeout_s: float = 60.0
    #: Of that, once no worker lives: how long a full disk, the scheduler and telemetry are waited for.
    settle_timeout_s: float = math.inf
    #: Leave after so many runs; 0 = stay.
    runs: int = 0
    #: Leave after so long without a run; 0 = stay.
    idle_limit_s: float = 0.0

    @property
    def queue(self) -> str:
        """The queue on which this agent receives dispatches."""
        return queue_name(self.worker.name, self.agent_id)


def queue_name(worker: str, agent_id: str) -> str:
    """Return the queue on which an agent receives dispatches."""
    return f"dispatch.{worker}.{agent_id}"


class Agent:
    """Executes attempts of one worker on this machine. `start`, then `stop`, once each."""

    def __init__(
        self,
        options: AgentOptions,
        *,
        registry: Registry,
        scheduler: Scheduler,
        sink: FrameSink,
        listener: DispatchListener,
    ) -> None:
        self._options = options
        self._scheduler = scheduler
        self._listener = listener
        self.backlog = Backlog(options.spool_limit_bytes)
        self._report_sender = ReportSender(scheduler, self._on_settled)
        self._shipper = Shipper(sink, self._on_shipped)
        self._stores = Stores(AttemptStore(options.home / "attempts"), self.backlog, self._shipper)
        self._around = self._context()
        self._supervisor = AttemptSupervisor(self._stores, self._around, self._on_change)
        self._leases = LeaseKeeper(self._supervisor, self._renew)
        self._claimers = ThreadPoolExecutor(_CLAIMERS, thread_name_prefix="claim")
        self._claiming: set[tuple[str, int]] = set()
        self._lifetime = AgentLifetime(runs=options.runs, idle_limit_s=options.idle_limit_s)
        #: Ended attempts whose lines have all arrived, but whose report has not.
        self._shipped: set[tuple[str, int]] = set()
        self._lock = threading.Lock()
        self._is_stopping = False
        announcement = Announcement(
            AgentId(options.agent_id),
            options.machine,
            options.worker.worker,
            options.slots,
            options.queue,
            PROTOCOL_VERSIONS,
        )
        self.membership = Membership(
            registry,
            announcement,
            look_at_gpus=self._look_at_gpus,
        )

    def start(self) -> None:
        """Clean up after a predecessor, then listen and join the fleet. Returns when dispatches arrive."""
        for wall in self.missing_walls():
            log.info("a wall around attempts is missing", wall=wall)
        recover(self._stores, self._around)
        self._shipper.start()
        self._supervisor.open()
        self._leases.start()
        self._listener.listen(self._options.queue, self.on_dispatch)
        self._listener.start()
        self.membership.start()

    def stop(self) -> None:
        """End all attempts as preempted, tell everybody, and go.

        What cannot be delivered in time stays on disk and is delivered after the next start. An attempt whose end
        the disk does not take is as one whose agent died: the next start finishes it after the last line on disk.
        """
        self._is_stopping = True
        deadline = time.monotonic() + self._options.stop_timeout_s
        self._listener.stop()
        self._claimers.shutdown(wait=True, cancel_futures=True)
        self._supervisor.stop_all(deadline - time.monotonic())
        deadline = min(deadline, time.monotonic() + self._options.settle_timeout_s)
        self._supervisor.wait_until_empty(deadline - time.monotonic())
        self._report_sender.wait_until_empty(max(1.0, deadline - time.monotonic()))
        self._shipper.wait_until_empty(max(1.0, deadline - time.monotonic()))
        self._leases.stop()
        self._supervisor.close()
        self._report_sender.stop()
        self._shipper.stop()
        self.membership.stop()

    def on_dispatch(self, run_id: str, attempt: int) -> None:
        """Look at that attempt: claim it, or ask what is wanted of it when it is here already."""
        key = (run_id, attempt)
        if self._is_stopping:
            return
        if self._supervisor.knows(*key):
            self._leases.renew_now()
            return
        with self._lock:
            if key in self._claiming:
                return
            if not self._lifetime.takes_more(underway=len(self._claiming)):
                log.info("attempt not claimed: this agent is leaving", run_id=run_id, attempt=attempt)
                return
            self._claiming.add(key)
        self._claimers.submit(self._claim, *key)

    def faults(self) -> dict[str, str]:
        """Return what does not work at the moment, by part; empty means ready."""
        return check(self.probes())

    def probes(self) -> dict[str, Probe]:
        """Return what the readiness of this agent depends on."""
        return {
            "registry": lambda: self.membership.fault,
            "telemetry": lambda: self._shipper.fault,
            "disk": self._supervisor.disk_fault,
            "dispatch": lambda: self._listener.fault,
        }

    def missing_walls(self) -> list[str]:
        """Return which walls around attempts there are not on this machine."""
        return self._options.walls.missing()

    def running(self) -> int:
        """Return how many attempts are executed here now."""
        return len(self._supervisor.held())

    def has_served(self) -> bool:
        """Tell whether its runs are over and all about them is delivered, so that this agent may stop.

        Before that comes true, the fleet is told to plan nothing new here.
        """
        is_idle = self._is_idle()
        if self._lifetime.is_ending(is_idle=is_idle, is_drained=self.membership.is_draining):
            self.membership.retire()
        return self._lifetime.is_over(is_idle=is_idle)

    def _is_idle(self) -> bool:
        with self._lock:
            is_claiming = bool(self._claiming)
        return not is_claiming and not self.running() and not any(self._stores.attempts.homes())

    def _context(self) -> AttemptContext:
        return AttemptContext(
            agent_id=self._options.agent_id,
            machine=self._options.machine,
            worker=self._options.worker,
            runs_root=self._options.runs_root,
            environment=self._options.environment,
            heartbeat_s=self._options.heartbeat_s,
            death_wrapper=death_wrapper(),
            walls=self._options.walls,
            send=self._report_sender.send,
            on_frames=self._shipper.wake,
        )

    def _look_at_gpus(self) -> Sequence[Gpu]:
        # GPUs break and come back, but a machine without any does not grow one.
        machine = self._options.machine
        return find_gpus(self._options.environment, machine.node_id) if machine.gpus else ()

    def _claim(self, run_id: str, attempt: int) -> None:
        names = {"run_id": run_id, "attempt": attempt}
        try:
            deadline = time.monotonic() + _CLAIM_PATIENCE_S
            while not self._try_claim(run_id, attempt) and not self._is_stopping:
                if time.monotonic() > deadline:
                    log.warning("attempt not claimed, the scheduler does not answer", **names)
                    return
                time.sleep(_CLAIM_PAUSE_S)
        except Refused as error:
            log.info("attempt not claimed", reason=str(error), **names)
        except Exception:
            log.exception("attempt not claimed", **names)
        finally:
            with self._lock:
                self._claiming.discard((run_id, attempt))

    def _try_claim(self, run_id: str, attempt: int) -> bool:
        """Tell whether the scheduler answered; a refusal is raised."""
        try:
            launch = self._with_session(
                lambda token: self._scheduler.claim(RunId(run_id), attempt, self._options.agent_id, token)
            )
        except Refused:
            raise
        except MosaicError as error:
            log.info("claim is tried again", run_id=run_id, attempt=attempt, reason=str(error))
            return False
        self._lifetime.note_claim()
        if not self._lifetime.takes_more():
            self.membership.retire()
        self._supervisor.start(launch)
        return True

    def _renew(self, held: Sequence[HeldAttempt]) -> Sequence[AttemptDirective]:
        directives = self._with_session(lambda token: self._scheduler.renew(held, self._options.agent_id, token))
        known = {(one.run_id, one.attempt) for one in held}
        for told in directives:
            # It waits for our claim: its dispatch was lost.
            if (told.run_id, told.attempt) not in known:
                self.on_dispatch(told.run_id, told.attempt)
        return directives

    def _with_session(self, call: Callable[[str], AnswerT]) -> AnswerT:
        """Call with the session token; when it is not accepted, introduce ourselves again and repeat."""
        token = self.membership.token()
        try:
            return call(token)
        except SessionRejected:
            self.membership.renew(token)
            return call(self.membership.token())

    def _on_change(self) -> None:
        self._leases.reconsider()

    def _on_settled(self, report: Report) -> None:
        if report.fact in _TERMINAL_FACTS:
            home = self._stores.attempts.home(report.run_id, report.attempt)
            home.acknowledge()
            self._forget_if_shipped(report.run_id, report.attempt)

    def _on_shipped(self, spool: Spool) -> None:
        with self._lock:
            self._shipped.add((spool.run_id, spool.attempt))
        spool.close()
        self._forget_if_shipped(spool.run_id, spool.attempt)

    def _forget_if_shipped(self, run_id: str, attempt: int) -> None:
        """Remove what is remembered of an attempt once both its report and its lines have arrived."""
        home = self._stores.attempts.home(run_id, attempt)
        with self._lock:
            if (run_id, attempt) in self._shipped and home.is_acknowledged:
                self._shipped.discard((run_id, attempt))
                home.remove()
