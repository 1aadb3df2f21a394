"""Seal runs and write their manifests."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from mosaic.errors import NotFound, RunNotFound
from mosaic.events.sealed import RunSealed
from mosaic_telemetry.domain.manifest import Record, build_manifest, is_complete
from mosaic_telemetry.ports import Clock, EventStore, LiveFeed, ManifestStore, SealRecord


def seal(run: RunSealed, *, store: EventStore, clock: Clock, patience: timedelta) -> None:
    """Note that *run* has ended; its manifest follows when its events are here, or after *patience*.

    The same seal may come many times.

    Raises:
        DatabaseUnavailable: nothing was kept.

    """
    store.put_seal(run, clock() + patience)


def write_when_ready(
    sealed: SealRecord, *, store: EventStore, manifests: ManifestStore, feed: LiveFeed, clock: Clock
) -> datetime | None:
    """Write the manifest of a sealed run, or return until when it waits for events.

    After that moment it is written with its gaps named; what comes later still is a reason to write it
    again. Several replicas may do this at once.
    """
    record = record_of(sealed.seal, store)
    if sealed.due_at > clock() and not is_complete(record):
        return sealed.due_at
    _write(sealed, record, store, manifests)
    feed.publish({sealed.seal.run_id})
    return None


def manifest_of(run_id: str, *, store: EventStore) -> SealRecord:
    """Return the seal of a run whose manifest is written.

    Raises:
        RunNotFound: nothing was ever heard of it.
        NotFound: it has not ended, or its last events are still on their way.

    """
    sealed = store.seal_of(run_id)
    if sealed is not None and sealed.written_revision >= 0:
        return sealed
    if sealed is None and not store.timelines(run_id):
        raise RunNotFound(run_id)
    why = "it has not ended" if sealed is None else "its last events are still on their way"
    raise NotFound(f"run {run_id} has no manifest yet: {why}")


def record_of(run: RunSealed, store: EventStore) -> Record:
    """Gather everything known of a run."""
    run_id = run.run_id
    return Record(
        run,
        store.timelines(run_id),
        store.facts(run_id),
        store.series(run_id),
        store.episode_summary(run_id),
    )


def _write(sealed: SealRecord, record: Record, store: EventStore, manifests: ManifestStore) -> None:
    manifest = build_manifest(record)
    text = json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    path = manifests.write(sealed.seal.run_id, text)
    store.manifest_written(sealed, text, manifest["digest"], path)
