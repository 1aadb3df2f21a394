"""Note that runs have ended, and write their manifests."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta

from mosaic.errors import NotFound, RunNotFound
from mosaic.model.attempt import RunFinished
from mosaic_telemetry.domain.manifest import Record, build_manifest, is_complete
from mosaic_telemetry.handlers.curves import run_series
from mosaic_telemetry.handlers.episodes import Standing, returns_by_agent, standing_of, summarise_episodes
from mosaic_telemetry.ports import Clock, EventStore, FinishedRun, LiveFeed, ManifestStore


def note_finished(run: RunFinished, *, store: EventStore, clock: Clock, patience: timedelta) -> None:
    """Note that *run* has ended; its manifest follows when its events are here, or after *patience*.

    The same word may come many times.

    Raises:
        DatabaseUnavailable: nothing was kept.

    """
    store.put_finished(run, clock() + patience)


def write_when_ready(
    ended: FinishedRun, *, store: EventStore, manifests: ManifestStore, feed: LiveFeed, clock: Clock
) -> datetime | None:
    """Write the manifest of an ended run, or return until when it waits for events.

    After that moment it is written with its gaps named; what comes later still is a reason to write it
    again. Several replicas may do this at once.
    """
    run_id = ended.finished.run.run_id
    facts = store.facts(run_id)
    standing = standing_of(run_id, store, facts)
    outline = Record(ended.finished, standing.timelines, facts, counted=standing.counted)
    if ended.due_at > clock() and not is_complete(outline):
        return ended.due_at
    _write(ended, _filled(outline, standing, store), store, manifests)
    feed.publish({run_id})
    return None


def manifest_of(run_id: str, *, store: EventStore) -> FinishedRun:
    """Return the ended run whose manifest is written.

    Raises:
        RunNotFound: nothing was ever heard of it.
        NotFound: its end has not been heard of, or its last events are still on their way.

    """
    ended = store.finished_run(run_id)
    if ended is not None and ended.written_revision >= 0:
        return ended
    if ended is None and not store.timelines(run_id):
        raise RunNotFound(run_id)
    why = "its end has not been heard of here" if ended is None else "its last events are still on their way"
    raise NotFound(f"run {run_id} has no manifest yet: {why}")


def _filled(outline: Record, standing: Standing, store: EventStore) -> Record:
    """Add what takes reading."""
    return replace(
        outline,
        series=run_series(standing, store),
        episodes=summarise_episodes(standing, store),
        agents=returns_by_agent(standing, store),
    )


def _write(ended: FinishedRun, record: Record, store: EventStore, manifests: ManifestStore) -> None:
    manifest = build_manifest(record)
    text = json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    path = manifests.write(ended.finished.run.run_id, text)
    store.manifest_written(ended, text, manifest["digest"], path)
