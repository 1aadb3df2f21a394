"""Scheduling rounds: read what changed, plan, record, dispatch. A crash in between is healed by the next round."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from mosaic.ids import RunId
from mosaic_scheduler.domain.changes import UsageFolded
from mosaic_scheduler.domain.plan import Plan
from mosaic_scheduler.domain.planner import Planner
from mosaic_scheduler.domain.snapshot import Snapshot
from mosaic_scheduler.handlers import leases
from mosaic_scheduler.handlers.decisions import record
from mosaic_scheduler.handlers.outbox import Outbox
from mosaic_scheduler.handlers.overtaking import OvertakingCounter
from mosaic_scheduler.handlers.planning import ChangeReader
from mosaic_scheduler.handlers.round_settings import RoundSettings
from mosaic_scheduler.handlers.waiting import WaitingReasons
from mosaic_scheduler.ports import Clock, Dispatcher, Fleet, RunStore, Telemetry


class Rounds:
    """The planner with what it has seen of the store and the fleet. One process runs it: the leader."""

    def __init__(
        self,
        *,
        store: RunStore,
        fleet: Fleet,
        dispatcher: Dispatcher,
        telemetry: Telemetry,
        route: Callable[[RunId], str],
        clock: Clock,
        settings: RoundSettings,
    ) -> None:
        self._store = store
        self._fleet = fleet
        self._clock = clock
        self._settings = settings
        self._outbox = Outbox(
            store=store, fleet=fleet, dispatcher=dispatcher, telemetry=telemetry, route=route, clock=clock
        )
        self._overtaking = OvertakingCounter(every=settings.count_overtaking_every, now=clock())
        self._usage_saved_at = clock()
        self._begin()

    def adopt(self) -> None:
        """Take over as leader: start from the store, and give every lease time to be renewed.

        Runs go on while no scheduler is there; that is no reason to call them lost.
        """
        self._begin()
        # Whoever starts a scheduler anew may have changed what kept them from leaving.
        self._store.unpark()
        with self._store.read() as work:
            self._planner.apply([UsageFolded(work.usage())])
        self.give_time()

    def give_time(self) -> None:
        """Give every lease time to be renewed, because for a while none could be."""
        leases.give_time(self._store, self._clock() + self._settings.lease)

    def plan(self) -> Plan:
        """Run one round and dispatch what was admitted."""
        now = self._clock()
        # What is held now has been held until now: it is folded before anything ends.
        self._planner.apply([UsageFolded(self._planner.folded_usage(now)), *self._changes.read()])
        decided = self._planner.plan(now)
        if decided.admissions:
            self._planner.apply([UsageFolded(self._planner.charged_usage(decided.admissions))])
        overtaking = self._overtaking.steps(decided.overtaken, now)
        record(decided, store=self._store, now=now, settings=self._settings, also=overtaking)
        self._write_reasons(decided, now)
        self.flush()
        return decided

    def sweep(self) -> None:
        """Heal what nobody reported: lost attempts, lost dispatches, messages that did not leave."""
        now = self._clock()
        self._save_usage(now)
        leases.end_overdue(self._store, now, self._settings)
        self._outbox.dispatch_again(now - self._settings.dispatch_again)
        self.flush()

    def parked(self) -> int:
        """Return how many messages can never leave as they are."""
        return self._store.parked()

    def flush(self) -> None:
        """Send what the outbox holds; what cannot leave now stays for the next time."""
        self._outbox.flush()

    def _write_reasons(self, decided: Plan, now: datetime) -> None:
        self._reasons.forget(admission.run_id for admission in decided.admissions)
        self._reasons.keep_only(decided.waiting)
        news = self._reasons.news(decided.waiting, now)
        if news:
            with self._store.write() as work:
                work.save_reasons({run_id: (reason.code.value, reason.sentence()) for run_id, reason in news.items()})
            self._reasons.written(news, now)

    def _begin(self) -> None:
        self._reasons = WaitingReasons(self._settings.retell_every)
        self._planner = Planner(Snapshot(settings=self._settings.policy))
        self._changes = ChangeReader(self._store, self._fleet)

    def _save_usage(self, now: datetime) -> None:
        if now - self._usage_saved_at >= self._settings.save_usage_every:
            self._usage_saved_at = now
            self._store.save_usage(self._planner.folded_usage(now))
