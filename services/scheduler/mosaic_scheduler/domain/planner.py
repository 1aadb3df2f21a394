"""The planner: derived indexes over a snapshot, kept up to date change by change."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from mosaic_scheduler.domain.changes import Change, changed
from mosaic_scheduler.domain.plan import Plan
from mosaic_scheduler.domain.snapshot import Snapshot


class Planner:
    """Plans rounds over a snapshot that it is told the changes of.

    ``Planner(snapshot)`` then `apply` gives the same plans as a new planner over the changed
    snapshot. Planning changes nothing: what was decided becomes true when it is applied.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def apply(self, changes: Iterable[Change]) -> None:
        """Take note of *changes*, in order."""
        self._snapshot = changed(self._snapshot, changes)

    def plan(self, now: datetime) -> Plan:
        """Decide one round as of *now*, which never runs backwards."""
        return Plan()
