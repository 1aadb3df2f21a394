"""The policy in one call: values in, values out."""

from __future__ import annotations

from datetime import datetime

from mosaic_scheduler.domain.plan import Plan
from mosaic_scheduler.domain.planner import Planner
from mosaic_scheduler.domain.snapshot import Snapshot


def plan(snapshot: Snapshot, *, now: datetime) -> Plan:
    """Choose which queued runs start now, where, and at whose expense.

    Equal snapshots and equal *now* give equal plans, whatever the order of the tuples. Runs within
    their team's quota come first, then runs on borrowed capacity; among them the higher priority
    class, then the team and the user using least of their share, then age. A run that cannot fit is
    passed over, not waited for, until that has happened ``settings.patience`` times.
    """
    return Planner(snapshot).plan(now)
