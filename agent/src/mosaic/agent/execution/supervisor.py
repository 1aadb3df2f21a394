"""All attempts of one agent, in one thread that lives as long as the agent does.

The thread owns the children: it starts them (they die with it), reads them and buries them. Other
threads hand it work with `post` and never touch an attempt themselves.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import structlog

from mosaic.agent.execution.attempt import Attempt, AttemptContext
from mosaic.agent.execution.attempt_store import AttemptHome, AttemptStore
from mosaic.agent.execution.child import look_and_bury
from mosaic.agent.execution.memory import must_end
from mosaic.agent.execution.outcome import Ending, Evidence, judge
from mosaic.agent.inventory import memory_left
from mosaic.agent.telemetry.backlog import Backlog
from mosaic.agent.telemetry.lines import Mask
from mosaic.agent.telemetry.shipper import Shipper
from mosaic.agent.telemetry.spool import Spool
from mosaic.agent.telemetry.stream import Stream
from mosaic.model.attempt import AttemptDirective, HeldAttempt, Launch, Report

log = structlog.get_logger()

Key = tuple[str, int]

_TAKEOVER_S = 0.02
#: How often processes and their memory are looked at.
LOOK_S = 1.0


@dataclass(frozen=True)
class Stores:
    """Where attempts are remembered and their lines wait."""

    attempts: AttemptStore
    backlog: Backlog
    shipper: Shipper

    def open_stream(self, home: AttemptHome, launch: Launch, mask: Mask) -> Stream:
        """Open the stream of an attempt, new or left behind, and have it shipped."""
        spool = Spool(
            home.spool, launch.run_id, launch.attempt, event_key=launch.event_key, on_growth=self.backlog.change
        )
        self.shipper.add(spool)
        return Stream(spool, mask=mask, backlog=self.backlog, clock=time.time)


class AttemptSupervisor:
    """Executes launches. Every public method may be called from any thread and returns at once."""

    def __init__(self, stores: Stores, context: AttemptContext, on_change: Callable[[], None]) -> None:
        self._stores = stores
        self._around = context
        self._on_change = on_change
        self._loop = asyncio.SelectorEventLoop()
        self._loop.set_default_executor(ThreadPoolExecutor(2, thread_name_prefix="artifacts"))
        self._attempts: dict[Key, Attempt] = {}
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)
        self._is_closing = threading.Event()
        self._watch = threading.Thread(target=self._watch_memory, name="memory", daemon=True)

    def open(self) -> None:
        """Start the threads."""
        self._thread.start()
        self._watch.start()

    def knows(self, run_id: str, attempt: int) -> bool:
        """Tell whether that attempt is being executed here."""
        with self._lock:
            return (run_id, attempt) in self._attempts

    def held(self) -> list[HeldAttempt]:
        """Return what this agent executes."""
        with self._lock:
            return [attempt.held for attempt in self._attempts.values()]

    def disk_fault(self) -> str | None:
        """Return why what some worker says cannot be written down, None while all of it can."""
        with self._lock:
            return next((fault for attempt in self._attempts.values() if (fault := attempt.disk_fault)), None)

    def shortest_lease_s(self) -> float | None:
        """Return the shortest lease of what is executed, None when nothing is."""
        with self._lock:
            return min((attempt.launch.lease_for.total_seconds() for attempt in self._attempts.values()), default=None)

    def start(self, launch: Launch) -> None:
        """Execute *launch*; the same launch a second time is ignored."""
        self._post(lambda: self._start(launch))

    def obey(self, directives: Sequence[AttemptDirective]) -> None:
        """Do what is wanted of the attempts executed here."""
        self._post(lambda: self._obey(directives))

    def stop_all(self, timeout_s: float) -> bool:
        """End every attempt as preempted, with its grace; tell whether no more than a full disk keeps any in time."""
        self._post(self._preempt_all)
        with self._changed:
            return self._changed.wait_for(
                lambda: all(attempt.waits_for_disk for attempt in self._attempts.values()), timeout_s
            )

    def wait_until_empty(self, timeout_s: float) -> bool:
        """Wait until no attempt is left, not even one that waits for the disk; tell whether that came true in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._attempts, timeout_s)

    def close(self) -> None:
        """End the threads. Children that still live die with them, and lines that no disk took are lost."""
        self._is_closing.set()
        self._watch.join()
        self._post(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            for attempt in self._attempts.values():
                attempt.let_go()
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()

    def _watch_memory(self) -> None:
        while not self._is_closing.wait(LOOK_S):
            with self._lock:
                attempts = dict(self._attempts)
            if attempts:
                try:
                    self._look_at_memory(attempts)
                except Exception:
                    log.exception("memory not looked at; it will be again")

    def _look_at_memory(self, attempts: Mapping[Key, Attempt]) -> None:
        seen = look_and_bury()
        uses = [use for attempt in attempts.values() if (use := attempt.use_of_memory(seen)) is not None]
        for use, reason in must_end(uses, memory_left()):
            log.warning("attempt ended for its memory", run_id=use.run_id, attempt=use.attempt, reason=reason)
            attempt = attempts[use.run_id, use.attempt]
            self._post(lambda attempt=attempt, reason=reason: attempt.end_for_memory(reason))  # type: ignore[misc]

    def _post(self, action: Callable[[], object]) -> None:
        self._loop.call_soon_threadsafe(action)

    def _start(self, launch: Launch) -> None:
        key = (launch.run_id, launch.attempt)
        if self.knows(*key):
            return
        if self._abandon_older(launch):
            # Two attempts of a run share its directory: the new one starts when the old one is gone.
            self._loop.call_later(_TAKEOVER_S, self._start, launch)
            return
        home = self._stores.attempts.home(*key)
        try:
            stream = self._stores.open_stream(home, launch, Mask(launch.secrets.values()))
        except OSError as error:
            self._decline(launch, f"its spool cannot be made: {error}")
            return
        attempt = Attempt(launch, home, stream, self._around, self._loop, on_end=self._on_end, on_wait=self._on_wait)
        with self._lock:
            self._attempts[key] = attempt
        attempt.start()
        self._on_change()

    def _decline(self, launch: Launch, why: str) -> None:
        log.error("attempt not started", run_id=launch.run_id, attempt=launch.attempt, reason=why)
        outcome = judge(Evidence(exit_code=None, start_fault=why))
        kind = outcome.failure_kind.value if outcome.failure_kind else ""
        self._around.send(
            Report(
                launch.run_id,
                launch.attempt,
                launch.control_token,
                outcome.fact.value,
                failure_kind=kind,
                reason=outcome.reason,
            )
        )

    def _abandon_older(self, launch: Launch) -> bool:
        with self._lock:
            same_run = [attempt for (run_id, _), attempt in self._attempts.items() if run_id == launch.run_id]
        for attempt in same_run:
            attempt.stop(Ending.ABANDON)
        return bool(same_run)

    def _obey(self, directives: Sequence[AttemptDirective]) -> None:
        for told in directives:
            with self._lock:
                attempt = self._attempts.get((told.run_id, told.attempt))
            if attempt is not None:
                attempt.obey(told.directive)

    def _preempt_all(self) -> None:
        with self._lock:
            attempts = list(self._attempts.values())
        for attempt in attempts:
            attempt.stop(Ending.PREEMPT)

    def _on_wait(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _on_end(self, attempt: Attempt) -> None:
        with self._changed:
            self._attempts.pop((attempt.launch.run_id, attempt.launch.attempt), None)
            self._changed.notify_all()
        self._stores.shipper.last(attempt.stream.spool)
        self._on_change()
