"""How often a run was overtaken; after enough of it a node is held back for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from mosaic.ids import RunId
from mosaic.lifecycle import RunState
from mosaic_scheduler.handlers.decisions import Step
from mosaic_scheduler.ports import RunTransaction


class OvertakingCounter:
    """Rounds come as fast as things happen; one in *every* counts."""

    def __init__(self, *, every: timedelta, now: datetime) -> None:
        self._every = every
        self._counted_at = now

    def steps(self, overtaken: Sequence[RunId], now: datetime) -> list[Step]:
        """Return what is to be written about the runs that were *overtaken* in a round."""
        if not overtaken or now - self._counted_at < self._every:
            return []
        self._counted_at = now
        return [partial(_count, overtaken=overtaken)]


def _count(work: RunTransaction, overtaken: Sequence[RunId]) -> None:
    for run_id in overtaken:
        run = work.run(run_id)
        if run is not None and run.state is RunState.QUEUED:
            work.save_run(replace(run, passed_over=run.passed_over + 1))
