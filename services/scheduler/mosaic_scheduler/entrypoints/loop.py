"""The planning loop: sleeps until something happens, then runs rounds."""

from __future__ import annotations

import threading
import time

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from mosaic.errors import DatabaseUnavailable, MosaicError
from mosaic_scheduler.handlers.rounds import Rounds
from mosaic_scheduler.ports import Leadership

log = structlog.get_logger(__name__)

#: Healing rounds when nothing happens: lost leases, lost dispatches, backoffs that end.
_SWEEP_S = 1.0
_PAUSE_S = 0.2


class PlanningLoop:
    """Runs rounds in one thread while this process is the leader."""

    def __init__(self, rounds: Rounds, leadership: Leadership, metrics: CollectorRegistry) -> None:
        self._rounds = rounds
        self._leadership = leadership
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._leads = False
        self._store_was_away = False
        self._fault: str | None = "no round has run yet"
        self._thread = threading.Thread(target=self._run, name="planning", daemon=True)
        self._round_seconds = Histogram(
            "mosaic_scheduler_round_seconds", "Time of one scheduling round", registry=metrics
        )
        self._admitted = Counter("mosaic_scheduler_admitted_total", "Attempts admitted", registry=metrics)
        self._preempted = Counter("mosaic_scheduler_preempted_total", "Attempts preempted", registry=metrics)
        self._waiting = Gauge(
            "mosaic_scheduler_waiting_runs", "Runs waiting; 0 where nothing is planned", registry=metrics
        )
        self._leading = Gauge(
            "mosaic_scheduler_leads", "1 while this scheduler is the one that plans", registry=metrics
        )
        self._parked = Gauge(
            "mosaic_scheduler_outbox_parked",
            "Messages that cannot leave as they are; 0 where nothing is planned",
            registry=metrics,
        )
        self._failed = Counter("mosaic_scheduler_rounds_failed_total", "Rounds that ended in a fault", registry=metrics)

    def start(self) -> None:
        """Begin to plan."""
        self._thread.start()

    def stop(self) -> None:
        """End after the round that is under way."""
        self._stopping.set()
        self._woken.set()
        self._thread.join()

    def wake(self) -> None:
        """Something happened that a round should look at."""
        self._woken.set()

    def fault(self) -> str | None:
        """Return what keeps rounds from running, or None. Standing by is no fault."""
        return self._fault

    def _run(self) -> None:
        next_sweep = 0.0
        while not self._stopping.is_set():
            self._woken.wait(timeout=max(0.0, next_sweep - time.monotonic()))
            self._woken.clear()
            if self._stopping.is_set():
                return
            sweep = time.monotonic() >= next_sweep
            if sweep:
                next_sweep = time.monotonic() + _SWEEP_S
            try:
                self._turn(sweep=sweep)
                self._fault = None
            except MosaicError as error:
                self._failed.inc()
                self._fault = str(error)
                self._store_was_away |= isinstance(error, DatabaseUnavailable)
                log.warning("round failed; the next one tries again", reason=str(error))
                # Without a pause a database that is away would be asked as fast as we can ask.
                self._stopping.wait(_PAUSE_S)
            except Exception as error:
                self._failed.inc()
                self._fault = f"{type(error).__name__}: {error}"
                log.exception("round failed; the next one starts from the store")
                self._leads = False
                self._stopping.wait(_PAUSE_S)

    def _turn(self, *, sweep: bool) -> None:
        # Leadership is asked for at each sweep and trusted in between; the store refuses stale plans.
        if sweep or not self._leads:
            leads = self._leadership.holds()
            if leads and not self._leads:
                self._rounds.adopt()
                log.info("this scheduler plans now")
            self._leads = leads
            self._leading.set(leads)
        if not self._leads:
            self._waiting.set(0)
            self._parked.set(0)
            return
        if self._store_was_away:
            # A store that is away, or whose disk is full, takes no renewals: agents that tried are not lost.
            self._rounds.give_time()
            self._store_was_away = False
        if sweep:
            self._rounds.sweep()
            self._parked.set(self._rounds.parked())
        with self._round_seconds.time():
            decided = self._rounds.plan()
        self._admitted.inc(len(decided.admissions))
        self._preempted.inc(len(decided.preemptions))
        self._waiting.set(len(decided.waiting))
