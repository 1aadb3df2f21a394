"""What an agent does before anything else: end what its predecessor left behind, and finish its sentences."""

from __future__ import annotations

import time
from dataclasses import replace

import structlog

from mosaic.agent.execution.artifacts import HASHING_BUDGET_S, find_artifacts
from mosaic.agent.execution.attempt import AttemptContext
from mosaic.agent.execution.attempt_store import AttemptHome, Entry, FinalReport
from mosaic.agent.execution.child import end_processes
from mosaic.agent.execution.final_report import compose, finalize
from mosaic.agent.execution.outcome import Outcome
from mosaic.agent.execution.supervisor import Stores
from mosaic.agent.telemetry.lines import Mask
from mosaic.agent.telemetry.stream import Stream
from mosaic.lifecycle import AttemptFact, FailureKind
from mosaic.model.attempt import Report

log = structlog.get_logger()

#: Orphans have lost the one that reads them; most are dead already, the rest get little time.
ORPHAN_GRACE_S = 2.0

_RESTARTED = Outcome(AttemptFact.FAILED, FailureKind.LOST_AGENT, "the agent restarted while this attempt was running")


def recover(stores: Stores, context: AttemptContext) -> int:
    """End every process of earlier attempts, ship their lines to the end and report how they ended.

    Leases run on meanwhile: the newest checkpoints are told first, since what takes longer may come too late.
    Returns how many attempts were found. When it returns, nothing of them is alive.
    """
    found = _entries(stores)
    orphans = end_processes([entry.trace for _, entry in found], context.walls.uids, grace_s=ORPHAN_GRACE_S)
    for home, entry in found:
        _tell_checkpoint(home, entry, context)
    hashing_ends = time.monotonic() + HASHING_BUDGET_S
    for home, entry in found:
        _finish(home, entry, stores, context, hashing_ends)
    if found:
        log.info("attempts recovered", attempts=len(found), orphans=orphans)
    return len(found)


def _entries(stores: Stores) -> list[tuple[AttemptHome, Entry]]:
    found = []
    for home in stores.attempts.homes():
        entry = home.entry()
        if entry is None:
            home.remove()
        else:
            found.append((home, entry))
    return found


def _tell_checkpoint(home: AttemptHome, entry: Entry, context: AttemptContext) -> None:
    checkpoint = home.checkpoint()
    if checkpoint is not None and home.final_report() is None:
        launch = entry.launch
        told = Report(launch.run_id, launch.attempt, launch.control_token, "checkpoint")
        context.send(replace(told, checkpoint=checkpoint.path, checkpoint_at=checkpoint.saved_at))


def _finish(home: AttemptHome, entry: Entry, stores: Stores, context: AttemptContext, hashing_ends: float) -> None:
    launch = entry.launch
    # Secrets are not on disk; the lines in the spool were masked when they were read.
    stream = stores.open_stream(home, launch, Mask(()))
    is_acknowledged = home.is_acknowledged
    if not is_acknowledged:
        final_report = home.final_report() or _compose(home, entry, stream, context, hashing_ends)
        finalize(home, stream, final_report)
        context.send(final_report.report)
    stores.shipper.last(stream.spool)


def _compose(
    home: AttemptHome, entry: Entry, stream: Stream, context: AttemptContext, hashing_ends: float
) -> FinalReport:
    folder = context.runs_root / entry.launch.run_id
    return compose(
        entry.launch,
        stream,
        _RESTARTED,
        exit_code=None,
        checkpoint=home.checkpoint(),
        artifacts=find_artifacts(folder, budget_s=hashing_ends - time.monotonic()),
        placement=context.placement(entry.launch),
    )
