"""A manifest from a finished timeline: what a run was, did and left behind."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from mosaic.events.sealed import RunSealed, SealedAttempt
from mosaic_telemetry.domain.analytics import analytics_document
from mosaic_telemetry.domain.facts import EpisodeSummary, Fact
from mosaic_telemetry.domain.series import Extreme, Series, SeriesKey
from mosaic_telemetry.domain.timeline import StreamId, Timeline

SCHEMA = "mosaic.manifest/1"

_SPEC_KEYS = ("worker", "name", "team", "user", "priority", "labels", "resources")
_LOWER_IS_BETTER = ("loss", "error")
_MACHINE_KEYS = ("platform", "machine", "image", "image_digest", "hostname")


@dataclass(frozen=True)
class Record:
    """Everything the service knows of a run when its manifest is written."""

    seal: RunSealed
    timelines: Sequence[Timeline]
    facts: Sequence[Fact]
    series: Sequence[Series]
    episodes: EpisodeSummary


def is_complete(record: Record) -> bool:
    """Tell whether every event that its agents stamped has arrived."""
    return all(_is_whole(record, attempt) for attempt in record.seal.attempts)


def build_manifest(record: Record) -> dict[str, Any]:
    """Return the manifest of a run as plain JSON values, with its digest.

    Equal records give equal manifests: nothing in it is taken from the clock or the machine.
    """
    seal, spec = record.seal, record.seal.spec
    config = spec.get("config") or {}
    manifest: dict[str, Any] = {
        "schema": SCHEMA,
        "run_id": seal.run_id,
        "outcome": seal.outcome,
        "reason_code": seal.reason_code,
        "reason": seal.reason,
        **{key: spec.get(key) for key in _SPEC_KEYS},
        "config": config,
        "config_digest": seal.config_digest or digest_of(config),
        "seed": spec.get("seed"),
        "submitted_at": _moment(seal.submitted_at),
        "started_at": _moment(seal.started_at),
        "ended_at": _moment(seal.ended_at),
        "versions": _versions(record),
        "machine": _machine(record),
        "attempts": [_attempt(record, attempt) for attempt in seal.attempts],
        "events": _event_counts(record),
        "is_complete": is_complete(record),
        "metrics": [_metric(series) for series in _curves_that_count(record.series)],
        "episodes": asdict(record.episodes),
        "artifacts": _artifacts(record.facts),
        "checkpoints": _checkpoints(record.facts),
        "result": _result(record.facts),
        "analytics": analytics_document(seal.run_id, str(spec.get("worker") or ""), record.facts),
    }
    manifest = _plain(manifest)
    return {**manifest, "digest": digest_of(manifest)}


def digest_of(document: Any) -> str:
    """Return the SHA-256 of *document* as canonical JSON: the order of keys does not matter."""
    text = json.dumps(_plain(document), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_genuine(manifest: Mapping[str, Any]) -> bool:
    """Tell whether *manifest* still is what its digest says."""
    rest = {key: value for key, value in manifest.items() if key != "digest"}
    return manifest.get("digest") == digest_of(rest)


def _is_whole(record: Record, attempt: SealedAttempt) -> bool:
    timeline = _timeline(record, attempt.attempt)
    if attempt.last_seq >= 0:
        return not timeline.gaps(attempt.last_seq)
    # Nobody knows how far a lost attempt came; the agent's own last line tells, if it ever arrives.
    has_ended = any(fact.kind == "attempt_ended" and fact.stream.attempt == attempt.attempt for fact in record.facts)
    return (has_ended or not attempt.started_at) and not timeline.gaps()


def _timeline(record: Record, attempt: int) -> Timeline:
    known = (timeline for timeline in record.timelines if timeline.stream.attempt == attempt)
    return next(known, Timeline(StreamId(record.seal.run_id, attempt)))


def _attempt(record: Record, attempt: SealedAttempt) -> dict[str, Any]:
    timeline = _timeline(record, attempt.attempt)
    facts = [fact for fact in record.facts if fact.stream.attempt == attempt.attempt]
    return {
        "attempt": attempt.attempt,
        "state": attempt.state,
        "failure_kind": attempt.failure_kind,
        "reason": attempt.reason,
        "exit_code": attempt.exit_code,
        "agent_id": attempt.agent_id,
        "node_id": attempt.node_id,
        "gpu_ids": list(attempt.gpu_ids),
        "started_at": _moment(attempt.started_at),
        "ended_at": _moment(attempt.ended_at),
        # The agent knows whether the checkpoint was there.
        "resumed_from": _started(facts, attempt.attempt).get("resumed_from", attempt.resumed_from),
        "machine": _hardware(facts, attempt.attempt),
        "versions": attempt.versions or _versions_in(facts),
        "last_seq": attempt.last_seq,
        "events": timeline.heard.count,
        "counts": dict(sorted(timeline.counts.items())),
        "gaps": [list(gap) for gap in timeline.gaps(attempt.last_seq)],
        "is_complete": _is_whole(record, attempt),
        "dropped_steps": _dropped_steps(facts),
    }


def _dropped_steps(facts: Iterable[Fact]) -> int:
    reliefs = (fact.payload.get("dropped_steps") for fact in facts if fact.kind == "telemetry_resumed")
    return sum(dropped for dropped in reliefs if isinstance(dropped, int))


def _event_counts(record: Record) -> dict[str, Any]:
    by_kind: Counter[str] = Counter()
    for timeline in record.timelines:
        by_kind.update(timeline.counts)
    last_seqs = {attempt.attempt: attempt.last_seq for attempt in record.seal.attempts}
    missing = sum(
        last - first + 1
        for timeline in record.timelines
        for first, last in timeline.gaps(last_seqs.get(timeline.stream.attempt, -1))
    )
    return {"total": by_kind.total(), "by_kind": dict(sorted(by_kind.items())), "missing": missing}


def _versions(record: Record) -> dict[str, Any]:
    versions: dict[str, Any] = _versions_in(record.facts)
    for attempt in record.seal.attempts:
        versions.update(attempt.versions)
    return versions


def _versions_in(facts: Iterable[Fact]) -> dict[str, Any]:
    versions: dict[str, Any] = {}
    for fact in facts:
        told = fact.payload.get("versions") if fact.kind.startswith("attempt_") else None
        if isinstance(told, dict):
            versions.update(told)
    return versions


def _machine(record: Record) -> dict[str, Any]:
    versions = _versions(record)
    last = record.seal.attempts[-1] if record.seal.attempts else None
    machine: dict[str, Any] = {key: versions[key] for key in _MACHINE_KEYS if key in versions}
    image, _, digest = str(versions.get("image", "")).partition("@")
    if image and digest:
        machine["image_digest"] = digest
    machine["node"] = last.node_id if last else ""
    machine["gpus"] = list(last.gpu_ids) if last else []
    return machine | (_hardware(record.facts, last.attempt) if last else {})


def _hardware(facts: Iterable[Fact], attempt: int) -> dict[str, Any]:
    """Return what the agent said of its machine: host name, CPUs, memory, models of the GPUs."""
    told = _started(facts, attempt).get("machine")
    return dict(told) if isinstance(told, Mapping) else {}


def _started(facts: Iterable[Fact], attempt: int) -> Mapping[str, Any]:
    starts = (fact for fact in facts if fact.kind == "attempt_started" and fact.stream.attempt == attempt)
    return next((fact.payload for fact in starts), {})


def _curves_that_count(series: Sequence[Series]) -> list[Series]:
    """Return each series as its newest attempt has it, with the extremes of earlier ones that were not repeated."""
    whole: dict[SeriesKey, Series] = {}
    for one in sorted(series, key=lambda one: one.stream.attempt, reverse=True):
        whole[one.key] = _continued(whole[one.key], one) if one.key in whole else one
    return [whole[key] for key in sorted(whole)]


def _continued(later: Series, earlier: Series) -> Series:
    extremes = (earlier.lowest, earlier.highest)
    low, high = (extreme if extreme and extreme.step < later.first_step else None for extreme in extremes)
    return replace(
        later,
        first_step=min(later.first_step, earlier.first_step),
        lowest=min((one for one in (later.lowest, low) if one), key=lambda one: one.value, default=None),
        highest=max((one for one in (later.highest, high) if one), key=lambda one: one.value, default=None),
    )


def _metric(series: Series) -> dict[str, Any]:
    is_cost = any(word in series.key.name.lower() for word in _LOWER_IS_BETTER)
    return {
        "name": series.key.name,
        "agent": series.key.agent or None,
        "unit": series.unit or None,
        "count": series.count,
        "final": {"value": series.last_value, "step": series.last_step},
        "lowest": _extreme(series.lowest),
        "highest": _extreme(series.highest),
        "best": _extreme(series.lowest if is_cost else series.highest),
    }


def _extreme(extreme: Extreme | None) -> dict[str, float] | None:
    return extreme._asdict() if extreme is not None else None


def _artifacts(facts: Iterable[Fact]) -> list[dict[str, Any]]:
    """Return each file once, as it was last described."""
    found: dict[str, dict[str, Any]] = {}
    for fact in facts:
        if fact.kind == "artifact" and fact.payload.get("path"):
            # A file's content is only carried for `analytics_document`.
            described = {key: value for key, value in fact.payload.items() if key != "content"}
            found[str(fact.payload["path"])] = {**described, "attempt": fact.stream.attempt}
    return [found[path] for path in sorted(found)]


def _checkpoints(facts: Iterable[Fact]) -> list[dict[str, Any]]:
    return [
        {
            "path": fact.payload.get("checkpoint_path"),
            "step": fact.payload.get("step"),
            "episode": fact.payload.get("episode"),
            "attempt": fact.stream.attempt,
            "seq": fact.seq,
        }
        for fact in facts
        if fact.kind == "checkpoint_saved"
    ]


def _result(facts: Iterable[Fact]) -> dict[str, Any] | None:
    """Return what the worker itself said at its end, if it came to that."""
    ends = [fact for fact in facts if fact.kind in ("run_completed", "run_failed", "run_cancelled")]
    return {"event": ends[-1].kind, **ends[-1].payload} if ends else None


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None


def _plain(value: Any) -> Any:
    """Return *value* with what strict JSON cannot say (NaN, infinity) as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
