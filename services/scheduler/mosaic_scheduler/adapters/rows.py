"""Between entries and table rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta, timezone
from typing import Any

from mosaic.ids import AgentId, GpuId, NodeId, RunId, TeamName, UserName, WorkerName
from mosaic.lifecycle import AttemptState, RunState
from mosaic_scheduler.domain.entries import AttemptEntry, HistoryEntry, RunEntry, RunSpec, Wish
from mosaic_scheduler.domain.run import GpuShare, Lease, PriorityClass, Requirements
from mosaic_scheduler.domain.snapshot import Quota, Team, Usage

Row = Mapping[Any, Any]


def seconds(moment: datetime | None) -> float | None:
    """Return *moment* as seconds since 1970."""
    return None if moment is None else moment.timestamp()


def moment(stamp: float | None) -> datetime | None:
    """Return the aware UTC time of *stamp*."""
    return None if stamp is None else datetime.fromtimestamp(stamp, timezone.utc)


def _at(stamp: float) -> datetime:
    return datetime.fromtimestamp(stamp, timezone.utc)


def _span_s(span: timedelta | None) -> float | None:
    return None if span is None else span.total_seconds()


def _span(span_s: float | None) -> timedelta | None:
    return None if span_s is None else timedelta(seconds=span_s)


def spec_to_json(spec: RunSpec) -> dict[str, Any]:
    """Return *spec* as the JSON that is stored and that manifests show."""
    return {
        "worker": spec.worker,
        "config": dict(spec.config),
        "seed": spec.seed,
        "name": spec.name,
        "team": spec.team,
        "user": spec.user,
        "priority": spec.priority.label,
        "requirements": asdict(spec.requirements),
        "max_wall_s": _span_s(spec.max_wall),
        "max_retries": spec.max_retries,
        "hang_limit_s": _span_s(spec.hang_limit),
        "labels": dict(spec.labels),
        "secrets": dict(spec.secrets),
        "environment": dict(spec.environment),
    }


def spec_from_json(data: Row) -> RunSpec:
    """Return the spec that `spec_to_json` wrote."""
    return RunSpec(
        worker=WorkerName(data["worker"]),
        config=data["config"],
        seed=data["seed"],
        name=data["name"],
        team=TeamName(data["team"]),
        user=UserName(data["user"]),
        priority=PriorityClass.named(data["priority"]),
        requirements=Requirements(**data["requirements"]),
        max_wall=_span(data["max_wall_s"]),
        max_retries=data["max_retries"],
        hang_limit=_span(data["hang_limit_s"]),
        labels=data["labels"],
        secrets=data["secrets"],
        environment=data["environment"],
    )


def run_to_row(entry: RunEntry) -> dict[str, Any]:
    """Return *entry* as a row of ``runs``."""
    return {
        "run_id": entry.run_id,
        "worker": entry.spec.worker,
        "team": entry.spec.team,
        "user_name": entry.spec.user,
        "state": entry.state.value,
        "attempt": entry.attempt,
        "spec": spec_to_json(entry.spec),
        "submitted_at": seconds(entry.submitted_at),
        "updated_at": seconds(entry.updated_at),
        "started_at": seconds(entry.started_at),
        "ended_at": seconds(entry.ended_at),
        "not_before": seconds(entry.not_before),
        "reason_code": entry.reason_code,
        "reason": entry.reason,
        "checkpoint": entry.checkpoint,
        "checkpoint_at": seconds(entry.checkpoint_at),
        "passed_over": entry.passed_over,
        "evicted_for": sorted(entry.evicted_for),
        "revision": entry.revision,
    }


def run_from_row(row: Row) -> RunEntry:
    """Return the entry of a row of ``runs``."""
    return RunEntry(
        run_id=RunId(row["run_id"]),
        spec=spec_from_json(row["spec"]),
        state=RunState(row["state"]),
        attempt=row["attempt"],
        submitted_at=_at(row["submitted_at"]),
        updated_at=_at(row["updated_at"]),
        started_at=moment(row["started_at"]),
        ended_at=moment(row["ended_at"]),
        not_before=moment(row["not_before"]),
        reason_code=row["reason_code"],
        reason=row["reason"],
        checkpoint=row["checkpoint"],
        checkpoint_at=moment(row["checkpoint_at"]),
        passed_over=row["passed_over"],
        evicted_for=frozenset(RunId(run_id) for run_id in row["evicted_for"]),
        revision=row["revision"],
    )


def attempt_to_row(entry: AttemptEntry) -> dict[str, Any]:
    """Return *entry* as a row of ``attempts``."""
    return {
        "run_id": entry.run_id,
        "attempt": entry.attempt,
        "state": entry.state.value,
        "agent_id": entry.agent_id,
        "node_id": entry.node_id,
        "lease": asdict(entry.lease),
        "lease_until": seconds(entry.lease_until),
        "borrowed": entry.borrowed,
        "ends_by": seconds(entry.ends_by),
        "admitted_at": seconds(entry.admitted_at),
        "claimed_at": seconds(entry.claimed_at),
        "started_at": seconds(entry.started_at),
        "ended_at": seconds(entry.ended_at),
        "wish": entry.wish.value,
        "control_digest": entry.control_digest,
        "failure_kind": entry.failure_kind,
        "reason": entry.reason,
        "exit_code": entry.exit_code,
        "last_seq": entry.last_seq,
        "resumed_from": entry.resumed_from,
        "versions": dict(entry.versions),
    }


def attempt_from_row(row: Row) -> AttemptEntry:
    """Return the entry of a row of ``attempts``."""
    return AttemptEntry(
        run_id=RunId(row["run_id"]),
        attempt=row["attempt"],
        state=AttemptState(row["state"]),
        agent_id=AgentId(row["agent_id"]),
        node_id=NodeId(row["node_id"]),
        lease=_lease(row["lease"]),
        lease_until=_at(row["lease_until"]),
        borrowed=row["borrowed"],
        ends_by=moment(row["ends_by"]),
        admitted_at=_at(row["admitted_at"]),
        claimed_at=moment(row["claimed_at"]),
        started_at=moment(row["started_at"]),
        ended_at=moment(row["ended_at"]),
        wish=Wish(row["wish"]),
        control_digest=row["control_digest"],
        failure_kind=row["failure_kind"],
        reason=row["reason"],
        exit_code=row["exit_code"],
        last_seq=row["last_seq"],
        resumed_from=row["resumed_from"],
        versions=row["versions"],
    )


def _lease(data: Row) -> Lease:
    shares = tuple(GpuShare(GpuId(held["gpu_id"]), held["share"], held["memory_mb"]) for held in data["gpus"])
    return Lease(data["cpus"], data["memory_mb"], shares)


def history_to_row(entry: HistoryEntry) -> dict[str, Any]:
    """Return *entry* as a row of ``history``."""
    return {**asdict(entry), "at": seconds(entry.at)}


def history_from_row(row: Row) -> HistoryEntry:
    """Return the entry of a row of ``history``."""
    names = ("attempt", "fact", "before", "after", "actor", "detail")
    return HistoryEntry(run_id=RunId(row["run_id"]), at=_at(row["at"]), **{name: row[name] for name in names})


def team_to_json(team: Team) -> dict[str, Any]:
    """Return the terms of *team* as JSON."""
    return {**asdict(team), "max_wall": _span_s(team.max_wall)}


def team_from_json(data: Row) -> Team:
    """Return the team that `team_to_json` wrote."""
    return Team(**{**data, "quota": Quota(**data["quota"]), "max_wall": _span(data["max_wall"])})


def usage_to_json(usage: Usage) -> dict[str, Any]:
    """Return decayed use as JSON."""
    users = [[team, user, value] for (team, user), value in sorted(usage.users.items())]
    return {"as_of": seconds(usage.as_of), "teams": dict(usage.teams), "users": users}


def usage_from_json(data: Row) -> Usage:
    """Return the use that `usage_to_json` wrote; an empty document is no use at all."""
    if not data:
        return Usage()
    users = {(TeamName(team), UserName(user)): value for team, user, value in data["users"]}
    teams = {TeamName(team): value for team, value in data["teams"].items()}
    return Usage(_at(data["as_of"]), teams, users)
