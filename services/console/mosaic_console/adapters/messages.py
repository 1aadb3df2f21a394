"""Messages of telemetry read into values, and what a person asks for written for the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mosaic.client import values
from mosaic.client.checks import checked
from mosaic.ids import TeamName
from mosaic.model.run import Priority, RunSpec
from mosaic.model.team import Quota, Team
from mosaic.wire.codec import from_timestamp, to_wire
from mosaic.wire.v1 import scheduler_pb2 as wire
from mosaic.wire.v1 import telemetry_pb2

_QUOTA = ("gpus", "cpus", "memory_mb")


def submit_request(
    spec: RunSpec, *, seeds: Sequence[int], idempotency_key: str, dry_run: bool = False
) -> wire.SubmitRequest:
    """Return what is asked for, for the wire.

    Raises:
        BadInput: lists what cannot be sent.
    """
    spec = checked(spec, seeds=seeds, idempotency_key=idempotency_key)
    # A priority may be the word for it, which the scheduler judges with all the rest.
    word = spec.priority.label if isinstance(spec.priority, Priority) else spec.priority
    sent = to_wire(replace(spec, priority=Priority.NORMAL), wire.RunSpec)
    sent.priority = word
    return wire.SubmitRequest(spec=sent, seeds=seeds, idempotency_key=idempotency_key, dry_run=dry_run)


def team_request(name: str, terms: Mapping[str, Any]) -> wire.SetTeamRequest:
    """Return the *terms* that are given, for the wire; one that is None is lifted."""
    quota = {part: value for part, value in terms.items() if part in _QUOTA}
    rest = {term: value for term, value in terms.items() if term not in _QUOTA}
    team = Team(TeamName(name), quota=Quota(**quota), **rest)
    named = [*(f"quota.{part}" for part in quota), *rest]
    return wire.SetTeamRequest(team=to_wire(team, wire.Team), terms=named)


def event_lines(chunk: telemetry_pb2.EventChunk) -> list[values.EventLine]:
    """Return the events of *chunk*."""
    return [values.EventLine(chunk.attempt, line.seq, line.time, line.kind, line.line) for line in chunk.lines]


def log_lines(chunk: telemetry_pb2.LogChunk) -> list[values.LogLine]:
    """Return the lines of *chunk*."""
    return [
        values.LogLine(chunk.attempt, entry.seq, entry.time, entry.stream, entry.level, entry.text)
        for entry in chunk.entries
    ]


def series_info(message: telemetry_pb2.SeriesInfo) -> values.SeriesInfo:
    """Return what is known of a curve."""
    return values.SeriesInfo(
        name=message.key.name,
        agent=message.key.agent,
        attempt=message.attempt,
        count=message.count,
        last_step=message.last_step,
        last_value=message.last_value,
        min_value=message.min_value,
        max_value=message.max_value,
        unit=message.unit,
    )


def curve(name: str, agent: str, message: telemetry_pb2.ReadSeriesResponse) -> values.Curve:
    """Return the curve of *message*."""
    return values.Curve(
        name=name,
        agent=agent,
        unit=message.unit,
        total_points=message.total_points,
        steps=tuple(message.steps),
        means=tuple(message.means),
        minima=tuple(message.minima),
        maxima=tuple(message.maxima),
        counts=tuple(message.counts),
        lasts=tuple(message.lasts),
        smoothed=tuple(message.smoothed),
    )


def episode(message: telemetry_pb2.Episode) -> values.Episode:
    """Return the episode of *message*."""
    return values.Episode(
        attempt=message.attempt,
        seq=message.seq,
        index=message.index,
        agent=message.agent,
        episode_return=message.episode_return,
        length=message.length,
        step=message.step,
        time=message.time,
        kind=message.kind,
        counted=message.counted,
    )


def summary(message: telemetry_pb2.RunSummary) -> values.Summary:
    """Return the newest numbers of a run."""
    return values.Summary(
        run_id=message.run_id,
        events=message.events,
        last_step=message.last_step,
        steps_per_s=message.steps_per_s,
        mean_return=message.mean_return if message.has_returns else None,
        episodes=message.episodes,
        last_event_at=from_timestamp(message.last_event_at),
        is_finished=message.finished,
        best_return=message.best_return if message.HasField("best_return") else None,
        returns_of=message.returns_of,
        evaluation=_evaluation(message.evaluation) if message.HasField("evaluation") else None,
    )


def _evaluation(message: telemetry_pb2.EvaluationSummary) -> values.Evaluation:
    return values.Evaluation(message.count, message.episodes, message.mean_return, message.step)
