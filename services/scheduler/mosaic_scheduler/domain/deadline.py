"""Which attempts have used up their time limit."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from heapq import heapify, heappop, heappush

from mosaic.ids import RunId
from mosaic.lifecycle import AttemptState
from mosaic_scheduler.domain.plan import Expiry
from mosaic_scheduler.domain.run import RunningAttempt


class Deadlines:
    """The time limits of running attempts, soonest first; attempts that are leaving, or unclaimed, have none."""

    def __init__(self, attempts: Iterable[RunningAttempt]) -> None:
        self._expiries = {attempt.run_id: expiry for attempt in attempts if (expiry := _expiry(attempt)) is not None}
        self._ahead = [(expiry.ends_by, expiry.run_id) for expiry in self._expiries.values()]
        heapify(self._ahead)
        self._overdue: dict[RunId, Expiry] = {}

    def put(self, attempt: RunningAttempt) -> None:
        """Watch *attempt*, or what is different about it now."""
        self.drop(attempt.run_id)
        expiry = _expiry(attempt)
        if expiry is not None:
            self._expiries[attempt.run_id] = expiry
            heappush(self._ahead, (expiry.ends_by, expiry.run_id))

    def drop(self, run_id: RunId) -> None:
        """Watch the attempt of a run no more."""
        self._expiries.pop(run_id, None)
        self._overdue.pop(run_id, None)

    def expired(self, now: datetime) -> tuple[Expiry, ...]:
        """Return the attempts whose time is up at *now*, the longest overdue first."""
        while self._ahead and self._ahead[0][0] <= now:
            ends_by, run_id = heappop(self._ahead)
            expiry = self._expiries.get(run_id)
            # An entry of an attempt that ended, or was given another limit, is left over.
            if expiry is not None and expiry.ends_by == ends_by:
                self._overdue[run_id] = expiry
        return tuple(sorted(self._overdue.values(), key=lambda expiry: (expiry.ends_by, expiry.run_id)))


def _expiry(attempt: RunningAttempt) -> Expiry | None:
    # Who has not begun has used no time.
    if attempt.ends_by is None or attempt.is_leaving or attempt.state is AttemptState.ADMITTED:
        return None
    return Expiry(attempt.run_id, attempt.attempt, attempt.ends_by)
