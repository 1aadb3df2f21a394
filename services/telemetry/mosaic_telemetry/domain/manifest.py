"""A manifest from a finished timeline: what a run was, did and left behind."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from mosaic.events import ENDING_KINDS
from mosaic.model.attempt import Attempt, RunFinished
from mosaic_telemetry.domain.analytics import analytics_document
from mosaic_telemetry.domain.counting import WHOLE, Counted
from mosaic_telemetry.domain.directions import Direction, direction_of
from mosaic_telemetry.domain.facts import EpisodeSummary, Fact, Returns
from mosaic_telemetry.domain.series import Extreme, Series
from mosaic_telemetry.domain.timeline import StreamId, Timeline

SCHEMA = "mosaic.manifest/1"

#: Whoever breaks the protocol with every line is shown by a few.
_VIOLATIONS_SHOWN = 20
#: Kinds of facts that tell settings, the better one last.
_TELL_SETTINGS = ("run_started", "settings_resolved")
_MACHINE_KEYS = ("platform", "machine", "image", "image_digest", "hostname")


@dataclass(frozen=True)
class Record:
    """Everything the service knows of a run when its manifest is written."""

    finished: RunFinished
    timelines: Sequence[Timeline]
    facts: Sequence[Fact]
    #: Each once, with what counts of it.
    series: Sequence[Series] = ()
    episodes: EpisodeSummary = EpisodeSummary()
    #: Each agent's share of a team's episodes.
    agents: Mapping[str, Returns] = field(default_factory=dict)
    counted: Counted = Counted()


def is_complete(record: Record) -> bool:
    """Tell whether every event that its agents stamped has arrived."""
    return all(_is_whole(record, attempt) for attempt in record.finished.attempts)


def build_manifest(record: Record) -> dict[str, Any]:
    """Return the manifest of a run as plain JSON values, with its digest.

    Equal records give equal manifests: nothing in it is taken from the clock or the machine.
    """
    run, spec = record.finished.run, record.finished.run.spec
    manifest: dict[str, Any] = {
        "schema": SCHEMA,
        "run_id": run.run_id,
        "outcome": run.state.value,
        "reason_code": run.reason_code,
        "reason": run.reason,
        "worker": spec.worker,
        "name": spec.name,
        "team": spec.team,
        "user": spec.user,
        "priority": spec.priority.label,
        "labels": dict(spec.labels),
        "resources": asdict(spec.resources),
        "continues": spec.continues,
        "config": spec.config,
        "config_digest": spec.config_digest,
        "run_digest": spec.run_digest,
        "settings": _settings(record.facts),
        "seed": spec.seed,
        "submitted_at": _moment(run.submitted_at),
        "started_at": _moment(run.started_at),
        "ended_at": _moment(run.ended_at),
        "versions": _versions(record),
        "machine": _machine(record),
        "environment": _environment(record.facts),
        "attempts": [_attempt(record, attempt) for attempt in record.finished.attempts],
        "events": _event_counts(record),
        "is_complete": is_complete(record),
        "violations": _violations(record.facts),
        "metrics": [_metric(series) for series in record.series],
        "episodes": _episodes(record),
        "artifacts": _artifacts(record.facts),
        "checkpoints": _checkpoints(record.facts),
        "result": _result(record.facts),
        "analytics": analytics_document(run.run_id, spec.worker, record.facts),
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


def _is_whole(record: Record, attempt: Attempt) -> bool:
    timeline = _timeline(record, attempt.attempt)
    if attempt.last_seq >= 0:
        return not timeline.gaps(attempt.last_seq)
    # Nobody knows how far a lost attempt came; the agent's own last line tells, if it ever arrives.
    has_ended = any(fact.kind == "attempt_ended" and fact.stream.attempt == attempt.attempt for fact in record.facts)
    return (has_ended or not attempt.started_at) and not timeline.gaps()


def _timeline(record: Record, attempt: int) -> Timeline:
    known = (timeline for timeline in record.timelines if timeline.stream.attempt == attempt)
    return next(known, Timeline(StreamId(record.finished.run.run_id, attempt)))


def _attempt(record: Record, attempt: Attempt) -> dict[str, Any]:
    timeline = _timeline(record, attempt.attempt)
    facts = [fact for fact in record.facts if fact.stream.attempt == attempt.attempt]
    return {
        "attempt": attempt.attempt,
        "state": attempt.state.value,
        "failure_kind": attempt.failure_kind,
        "reason": attempt.reason,
        "exit_code": attempt.exit_code,
        "agent_id": attempt.agent_id,
        "node_id": attempt.node_id,
        "gpu_ids": list(attempt.lease.gpu_ids),
        "started_at": _moment(attempt.started_at),
        "ended_at": _moment(attempt.ended_at),
        # The agent knows whether the checkpoint was there.
        "resumed_from": _started(facts, attempt.attempt).get("resumed_from", attempt.resumed_from),
        "machine": _hardware(facts, attempt.attempt),
        # Said once for the run, unless this attempt ran in another one.
        "environment": _other_environment(record, attempt.attempt),
        # Where its part of the run ends: what it said after that was trained again. None = all of it counts.
        "counts_until": _counts_until(record, attempt.attempt),
        "versions": attempt.versions or _versions_in(facts),
        "last_seq": attempt.last_seq,
        "events": timeline.heard.count,
        "counts": dict(sorted(timeline.counts.items())),
        "gaps": [list(gap) for gap in timeline.gaps(attempt.last_seq)],
        "is_complete": _is_whole(record, attempt),
        "dropped_steps": _dropped_steps(facts),
    }


def _violations(facts: Iterable[Fact]) -> list[dict[str, Any]]:
    """Return the first lines that broke the protocol; `events` counts them all."""
    broken = [fact for fact in facts if fact.kind == "violation"][:_VIOLATIONS_SHOWN]
    return [{"attempt": fact.stream.attempt, "seq": fact.seq, **fact.payload} for fact in broken]


def _dropped_steps(facts: Iterable[Fact]) -> int:
    reliefs = (fact.payload.get("dropped_steps") for fact in facts if fact.kind == "telemetry_resumed")
    return sum(dropped for dropped in reliefs if isinstance(dropped, int))


def _event_counts(record: Record) -> dict[str, Any]:
    by_kind: Counter[str] = Counter()
    for timeline in record.timelines:
        by_kind.update(timeline.counts)
    last_seqs = {attempt.attempt: attempt.last_seq for attempt in record.finished.attempts}
    missing = sum(
        last - first + 1
        for timeline in record.timelines
        for first, last in timeline.gaps(last_seqs.get(timeline.stream.attempt, -1))
    )
    return {"total": by_kind.total(), "by_kind": dict(sorted(by_kind.items())), "missing": missing}


def _versions(record: Record) -> dict[str, Any]:
    versions: dict[str, Any] = _versions_in(record.facts)
    for attempt in record.finished.attempts:
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
    last = record.finished.attempts[-1] if record.finished.attempts else None
    machine: dict[str, Any] = {key: versions[key] for key in _MACHINE_KEYS if key in versions}
    image, _, digest = str(versions.get("image", "")).partition("@")
    if image and digest:
        machine["image_digest"] = digest
    machine["node"] = last.node_id if last else ""
    machine["gpus"] = list(last.lease.gpu_ids) if last else []
    return machine | (_hardware(record.facts, last.attempt) if last else {})


def _hardware(facts: Iterable[Fact], attempt: int) -> dict[str, Any]:
    """Return what the agent said of its machine: host name, CPUs, memory, models of the GPUs."""
    told = _started(facts, attempt).get("machine")
    return {key: value for key, value in told.items() if value is not None} if isinstance(told, Mapping) else {}


def _started(facts: Iterable[Fact], attempt: int) -> Mapping[str, Any]:
    starts = (fact for fact in facts if fact.kind == "attempt_started" and fact.stream.attempt == attempt)
    return next((fact.payload for fact in starts), {})


def _environment(facts: Iterable[Fact]) -> Mapping[str, Any] | None:
    """Return what the newest attempt that told ran in."""
    told = [fact.payload.get("environment") for fact in facts if fact.kind == "attempt_started"]
    return next((one for one in reversed(told) if isinstance(one, Mapping) and one), None)


def _other_environment(record: Record, attempt: int) -> Mapping[str, Any] | None:
    own = _environment(fact for fact in record.facts if fact.stream.attempt == attempt)
    return None if own == _environment(record.facts) else own


def _settings(facts: Sequence[Fact]) -> Mapping[str, Any] | None:
    """Return the settings that the newest attempt which told them ran with, each with its origin."""
    told = [fact for fact in facts if fact.kind in _TELL_SETTINGS and isinstance(fact.payload.get("settings"), Mapping)]
    # A worker that knows what its library makes of them says more than what it was started with.
    newest = max(told, key=lambda fact: (fact.stream.attempt, _TELL_SETTINGS.index(fact.kind), fact.seq), default=None)
    return None if newest is None else newest.payload["settings"]


def _counts_until(record: Record, attempt: int) -> dict[str, Any] | None:
    cut = record.counted.of(attempt)
    return None if cut == WHOLE else {"seq": cut.last_seq, "step": cut.last_step}


def _episodes(record: Record) -> dict[str, Any]:
    """Return the returns that count: of training, of evaluations, and each agent's share."""
    summary = record.episodes
    return {
        **asdict(summary.training),
        "returns_of": summary.returns_of,
        "evaluation": None if summary.evaluation is None else asdict(summary.evaluation),
        "agents": {name: asdict(returns) for name, returns in record.agents.items()},
    }


def _metric(series: Series) -> dict[str, Any]:
    best = {Direction.LOWER: series.lowest, Direction.HIGHER: series.highest, None: None}
    return {
        "name": series.key.name,
        "agent": series.key.agent or None,
        "unit": series.unit or None,
        "count": series.count,
        "final": {"value": series.last_value, "step": series.last_step},
        "lowest": _extreme(series.lowest),
        "highest": _extreme(series.highest),
        "best": _extreme(best[direction_of(series.key.name)]),
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
            "passport": fact.payload.get("passport"),
        }
        for fact in facts
        if fact.kind == "checkpoint_saved"
    ]


def _result(facts: Iterable[Fact]) -> dict[str, Any] | None:
    """Return what the worker itself said at its end, if it came to that."""
    ends = [fact for fact in facts if fact.kind in ENDING_KINDS]
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
