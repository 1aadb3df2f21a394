"""Attempts whose agents are not heard any more."""

from __future__ import annotations

from datetime import datetime

import structlog

from mosaic.lifecycle import AttemptFact, FailureKind, is_terminal
from mosaic_scheduler.handlers.endings import end_attempt
from mosaic_scheduler.handlers.round_settings import RoundSettings
from mosaic_scheduler.ports import RunStore

log = structlog.get_logger(__name__)


def give_time(store: RunStore, until: datetime) -> None:
    """Let every lease last *until* then: agents had nobody to renew with."""
    with store.read() as work:
        active = work.active()
    store.extend_leases([(attempt.run_id, attempt.attempt) for _, attempt in active if attempt is not None], until)


def end_overdue(store: RunStore, now: datetime, settings: RoundSettings) -> None:
    """End the attempts whose lease is over as lost; their runs are planned again."""
    with store.read() as work:
        overdue = work.overdue(now)
    for found in overdue:
        with store.write() as work:
            run, attempt = work.run(found.run_id), work.attempt(found.run_id, found.attempt)
            if run is None or attempt is None or is_terminal(attempt.state) or attempt.lease_until >= now:
                continue
            log.warning("attempt lost; its run is planned again", run_id=run.run_id, attempt=attempt.attempt)
            end_attempt(
                work,
                run,
                attempt,
                AttemptFact.LOST,
                at=now,
                actor="scheduler",
                kind=FailureKind.LOST_AGENT,
                reason=f"agent {attempt.agent_id} was not heard for {settings.lease.total_seconds():g} s",
                settings=settings.retry,
            )
