"""Why runs wait, written down when it changes, so that whoever lists or shows them need not plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from mosaic.ids import RunId
from mosaic_scheduler.domain.reasons import Reason, essence

#: Reasons written in one round; the others follow in the next ones, so that a long queue holds up nobody who starts.
_AT_ONCE = 500


class _Difference(Enum):
    NONE = "none"
    NUMBERS = "numbers"
    ESSENCE = "essence"


@dataclass(frozen=True, slots=True)
class _Told:
    reason: Reason
    at: datetime


class WaitingReasons:
    """Remembers what was written of each waiting run.

    Another word, or another node, team or resource, is written at once. Numbers change with every start: a reason in
    which nothing else is different is written again after *retell_every*, and not at all while it stays as it is.
    """

    def __init__(self, retell_every: timedelta) -> None:
        self._retell_every = retell_every
        self._told: dict[RunId, _Told] = {}

    def news(self, waiting: Mapping[RunId, Reason], now: datetime) -> dict[RunId, Reason]:
        """Return the reasons that are to be written now."""
        found: dict[RunId, Reason] = {}
        # Runs in one standing share their reason, so it is compared once for all of them.
        compared: dict[tuple[int, int], _Difference] = {}
        for run_id, reason in waiting.items():
            told = self._told.get(run_id)
            if told is not None:
                pair = (id(told.reason), id(reason))
                difference = compared.get(pair) or compared.setdefault(pair, _difference(told.reason, reason))
                if difference is _Difference.NONE:
                    continue
                if difference is _Difference.NUMBERS and now - told.at < self._retell_every:
                    continue
            found[run_id] = reason
            if len(found) == _AT_ONCE:
                break
        return found

    def written(self, reasons: Mapping[RunId, Reason], now: datetime) -> None:
        """Note that *reasons* are in the store."""
        self._told.update((run_id, _Told(reason, now)) for run_id, reason in reasons.items())

    def forget(self, run_ids: Iterable[RunId]) -> None:
        """Note that these runs wait no longer; when they do again, their reason is news."""
        for run_id in run_ids:
            self._told.pop(run_id, None)

    def keep_only(self, waiting: Mapping[RunId, Reason]) -> None:
        """Forget who has left the queue on other ways, once they are many."""
        if len(self._told) > 2 * len(waiting) + _AT_ONCE:
            self._told = {run_id: told for run_id, told in self._told.items() if run_id in waiting}


def _difference(before: Reason, after: Reason) -> _Difference:
    if before == after:
        return _Difference.NONE
    return _Difference.NUMBERS if essence(before) == essence(after) else _Difference.ESSENCE
