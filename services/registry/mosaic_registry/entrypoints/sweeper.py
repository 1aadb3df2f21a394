"""The thread that notices agents which no longer call."""

from __future__ import annotations

import threading
from datetime import timedelta

import structlog
from prometheus_client import CollectorRegistry, Gauge

from mosaic.errors import DatabaseUnavailable
from mosaic_registry.bootstrap import Parts
from mosaic_registry.domain.guessing import FORGET_AFTER
from mosaic_registry.handlers import fleet as handlers

log = structlog.get_logger(__name__)

#: How often ended credentials are removed; nobody can use them meanwhile.
_TIDY_EVERY = timedelta(hours=1)


class Sweeper:
    """Counts agents as dead when their deadline passes.

    While the registry or its database was away nobody could call, so it waits for one whole timeout after that.
    """

    def __init__(self, parts: Parts, metrics: CollectorRegistry) -> None:
        self._parts = parts
        self._patience_s = parts.heartbeat_timeout.total_seconds()
        self._period_s = min(1.0, self._patience_s / 4)
        self._tidied_at = parts.clock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sweeper", daemon=True)
        self._alive = Gauge("mosaic_registry_agents_alive", "Agents heard in time.", registry=metrics)
        self._lost = Gauge("mosaic_registry_agents_lost", "Agents not heard in time.", registry=metrics)

    def start(self) -> None:
        """Begin to sweep."""
        self._thread.start()

    def stop(self) -> None:
        """Sweep no more."""
        self._stopping.set()
        self._thread.join(timeout=5)

    def fault(self) -> str | None:
        """Return why the dead are never noticed again, or None.

        A sweep that failed is no fault: a registry that is not ready is not reached, and the next sweep, which finds
        nobody heard, would be wrong about all of them.
        """
        ended = self._thread.ident is not None and not self._thread.is_alive()
        return "the sweeper has ended; restart the registry" if ended else None

    def sweep(self) -> None:
        """Do one round: deaths, then the long dead, then the gauges."""
        parts, now = self._parts, self._parts.clock()
        died = handlers.sweep(catalog=parts.catalog, now=now, heartbeat_timeout=parts.heartbeat_timeout)
        forgotten = handlers.forget_dead(catalog=parts.catalog, now=now, after=parts.forget_after)
        for agent_id in died:
            log.warning("agent not heard in time; nothing new is planned on it", agent_id=agent_id)
        if died or forgotten:
            parts.changes.notify()
        if now - self._tidied_at >= _TIDY_EVERY:
            self._tidied_at = now
            parts.people.forget(expired_before=now, failed_before=now - FORGET_AFTER)
        fleet = parts.catalog.fleet()
        alive = sum(agent.alive for agent in fleet.agents)
        self._alive.set(alive)
        self._lost.set(len(fleet.agents) - alive)

    def sweep_if_possible(self) -> float:
        """Sweep, and return after how many seconds to do so again; whatever goes wrong, that is not the end."""
        try:
            self.sweep()
        except DatabaseUnavailable as error:
            log.warning("cannot sweep; agents are given time to call again", reason=str(error))
            return self._patience_s
        except Exception:
            log.exception("cannot sweep; agents are given time to call again")
            return self._patience_s
        return self._period_s

    def _run(self) -> None:
        pause_s = self._patience_s
        while not self._stopping.wait(pause_s):
            pause_s = self.sweep_if_possible()
