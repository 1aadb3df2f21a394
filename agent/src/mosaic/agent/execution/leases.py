"""Keeps the leases of running attempts alive and brings back what is wanted of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import structlog

from mosaic.agent.execution.supervisor import AttemptSupervisor
from mosaic.errors import MosaicError
from mosaic.model.attempt import AttemptDirective, HeldAttempt

log = structlog.get_logger()

#: A lease is renewed four times before it would run out.
RENEWALS_PER_LEASE = 4

_SHORTEST_PAUSE_S = 0.5


Renew = Callable[[Sequence[HeldAttempt]], Sequence[AttemptDirective]]


class LeaseKeeper:
    """Renews in its own thread. A scheduler that is away changes nothing: training goes on."""

    def __init__(self, supervisor: AttemptSupervisor, renew: Renew) -> None:
        self._supervisor = supervisor
        self._renew = renew
        self._wake = threading.Condition()
        self._is_wanted = False
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="leases", daemon=True)

    def start(self) -> None:
        """Renew from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Renew no more."""
        with self._wake:
            self._is_stopping = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join()

    def renew_now(self) -> None:
        """Ask at once what is wanted; an attempt was dispatched that is here already."""
        with self._wake:
            self._is_wanted = True
            self._wake.notify()

    def reconsider(self) -> None:
        """Note that attempts came or went, so that the next renewal may be due sooner."""
        with self._wake:
            self._wake.notify()

    def _run(self) -> None:
        pause_s = None
        while self._wait(pause_s):
            held = self._supervisor.held()
            pause_s = self._renew_all(held) if held else None

    def _wait(self, pause_s: float | None) -> bool:
        with self._wake:
            if pause_s is None:
                self._wake.wait_for(lambda: self._is_wanted or self._is_stopping or self._supervisor.held())
                if not (self._is_wanted or self._is_stopping):
                    self._wake.wait_for(lambda: self._is_wanted or self._is_stopping, self._interval_s())
            else:
                self._wake.wait_for(lambda: self._is_wanted or self._is_stopping, pause_s)
            self._is_wanted = False
            return not self._is_stopping

    def _renew_all(self, held: Sequence[HeldAttempt]) -> float:
        try:
            self._supervisor.obey(self._renew(held))
        except MosaicError as error:
            log.warning("leases not renewed, attempts go on", attempts=len(held), reason=str(error))
            return min(_SHORTEST_PAUSE_S, self._interval_s())
        except Exception:
            log.exception("leases not renewed, attempts go on", attempts=len(held))
        return self._interval_s()

    def _interval_s(self) -> float:
        return (self._supervisor.shortest_lease_s() or RENEWALS_PER_LEASE) / RENEWALS_PER_LEASE
