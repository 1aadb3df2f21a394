"""Carries reports to the scheduler: in order for each attempt, again and again until each is settled."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import structlog

from mosaic.agent.ports import Scheduler
from mosaic.errors import BadInput, MosaicError, Refused
from mosaic.model.attempt import Report

log = structlog.get_logger()

#: Called when a report is recorded, changes nothing any more, or will never be accepted.
Settled = Callable[[Report], None]

_SHORTEST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 5.0
_CARRIERS = 4


class ReportSender:
    """Delivers reports in the background; the reports of one attempt never overtake each other.

    A newer checkpoint replaces one that has not been delivered yet.
    """

    def __init__(self, scheduler: Scheduler, on_settled: Settled = lambda _: None) -> None:
        self._scheduler = scheduler
        self._on_settled = on_settled
        self._lock = threading.Lock()
        self._bags: dict[tuple[str, int], deque[Report]] = {}
        self._underway: set[tuple[str, int]] = set()
        self._stopping = threading.Event()
        self._idle = threading.Condition(self._lock)
        self._carriers = ThreadPoolExecutor(_CARRIERS, thread_name_prefix="sender")

    def send(self, report: Report) -> None:
        """Deliver *report* as soon as possible. Returns at once."""
        key = report.run_id, report.attempt
        with self._lock:
            bag = self._bags.setdefault(key, deque())
            if report.fact == "checkpoint" and bag and bag[-1].fact == "checkpoint":
                bag.pop()
            bag.append(report)
            if key in self._underway or self._stopping.is_set():
                return
            self._underway.add(key)
            self._carriers.submit(self._carry, key)

    def wait_until_empty(self, timeout_s: float) -> bool:
        """Wait until every report is settled; tell whether that came true in time."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._underway, timeout_s)

    def stop(self) -> None:
        """Deliver no more; terminal reports are on disk and go out after the next start."""
        self._stopping.set()
        self._carriers.shutdown(wait=True, cancel_futures=True)

    def _carry(self, key: tuple[str, int]) -> None:
        pause_s = _SHORTEST_PAUSE_S
        while not self._stopping.is_set():
            report = self._next(key)
            if report is None:
                return
            if self._deliver(report):
                self._settle(key, report)
                pause_s = _SHORTEST_PAUSE_S
            else:
                self._stopping.wait(pause_s)
                pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)
        with self._idle:
            self._underway.discard(key)
            self._idle.notify_all()

    def _next(self, key: tuple[str, int]) -> Report | None:
        with self._idle:
            bag = self._bags[key]
            if bag:
                return bag[0]
            # In one step: whoever sends now finds nobody underway and starts a new carrier.
            del self._bags[key]
            self._underway.discard(key)
            self._idle.notify_all()
            return None

    def _deliver(self, report: Report) -> bool:
        """Tell whether the scheduler has settled *report*, one way or the other."""
        try:
            self._scheduler.report(report)
        except Refused as error:
            log.info("report no longer counts", run_id=report.run_id, attempt=report.attempt, reason=str(error))
        except BadInput as error:
            # Saying it again would not help. An ended attempt renews its lease no more, so the scheduler counts it
            # as lost when that runs out.
            log.error(
                "report given up, the scheduler cannot read it",
                run_id=report.run_id,
                attempt=report.attempt,
                fact=report.fact,
                reason=str(error),
            )
        except MosaicError as error:
            log.warning(
                "report waits for the scheduler",
                run_id=report.run_id,
                attempt=report.attempt,
                fact=report.fact,
                reason=str(error),
            )
            return False
        except Exception:
            log.exception("report waits for the scheduler", run_id=report.run_id, attempt=report.attempt)
            return False
        return True

    def _settle(self, key: tuple[str, int], report: Report) -> None:
        with self._lock:
            bag = self._bags[key]
            if bag and bag[0] is report:
                bag.popleft()
        try:
            self._on_settled(report)
        except Exception:
            # A disk that is full, say. The report may be sent once more after the next start, which is harmless.
            log.exception("report settled, but not noted", run_id=report.run_id, attempt=report.attempt)
