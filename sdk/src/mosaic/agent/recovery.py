"""What an agent does before anything else: end what its predecessor left behind, and finish its sentences."""

from __future__ import annotations

import structlog

from mosaic.agent.artifacts import find_artifacts
from mosaic.agent.attempt import Surroundings
from mosaic.agent.child import end_processes
from mosaic.agent.farewell import close_books, compose
from mosaic.agent.ledger import AttemptHome, Entry, Farewell
from mosaic.agent.nursery import Stores
from mosaic.agent.outcome import Outcome
from mosaic.agent.stream import Stream
from mosaic.agent.translate import Mask
from mosaic.lifecycle import AttemptFact, FailureKind

log = structlog.get_logger()

#: Orphans have lost the one that reads them; most are dead already, the rest get little time.
ORPHAN_GRACE_S = 2.0

_RESTARTED = Outcome(AttemptFact.FAILED, FailureKind.LOST_AGENT, "the agent restarted while this attempt was running")


def recover(stores: Stores, surroundings: Surroundings) -> int:
    """End every process of earlier attempts, ship their lines to the end and report how they ended.

    Returns how many attempts were found. When it returns, nothing of them is alive.
    """
    found = 0
    for home in stores.ledger.homes():
        entry = home.entry()
        if entry is None:
            home.remove()
            continue
        found += 1
        orphans = end_processes(entry.mark, session=entry.session, grace_s=ORPHAN_GRACE_S)
        log.info("attempt recovered", run_id=entry.launch.run_id, attempt=entry.launch.attempt, orphans=orphans)
        _finish(home, entry, stores, surroundings)
    return found


def _finish(home: AttemptHome, entry: Entry, stores: Stores, surroundings: Surroundings) -> None:
    launch = entry.launch
    # Secrets are not in the ledger; the lines in the spool were masked when they were read.
    stream = stores.open_stream(home, launch.run_id, launch.attempt, Mask(()))
    is_acknowledged = home.is_acknowledged
    if not is_acknowledged:
        farewell = home.farewell() or _compose(home, entry, stream, surroundings)
        close_books(home, stream, farewell)
        surroundings.send(farewell.report)
    stores.shipper.last(stream.spool)


def _compose(home: AttemptHome, entry: Entry, stream: Stream, surroundings: Surroundings) -> Farewell:
    return compose(
        entry.launch,
        stream,
        _RESTARTED,
        exit_code=None,
        checkpoint=home.checkpoint(),
        artifacts=find_artifacts(surroundings.runs_root / entry.launch.run_id),
        whereabouts=surroundings.whereabouts(entry.launch),
    )
