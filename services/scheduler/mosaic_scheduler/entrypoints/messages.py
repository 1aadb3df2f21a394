"""Between the wire's messages and the scheduler's own values."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

from mosaic.errors import BadInput, did_you_mean
from mosaic.ids import RunId, TeamName, UserName, WorkerName
from mosaic.wire.convert import attempt_state_to_wire, from_timestamp, run_state_to_wire, to_timestamp
from mosaic.wire.v1 import scheduler_pb2 as wire
from mosaic_scheduler.domain.entries import AttemptEntry, HistoryEntry, RunEntry, RunSpec, Wish
from mosaic_scheduler.domain.run import PriorityClass, Requirements
from mosaic_scheduler.domain.snapshot import Team
from mosaic_scheduler.entrypoints.texts import keepable, unkeepable
from mosaic_scheduler.handlers.claims import Claimed, Report
from mosaic_scheduler.handlers.rounds import RoundSettings
from mosaic_scheduler.handlers.submit import DEFAULT_TEAM, Request

_DIRECTIVES = {
    Wish.CONTINUE: wire.DIRECTIVE_CONTINUE,
    Wish.CANCEL: wire.DIRECTIVE_CANCEL,
    Wish.EXPIRE: wire.DIRECTIVE_CANCEL,
    Wish.PREEMPT: wire.DIRECTIVE_PREEMPT,
    Wish.PAUSE: wire.DIRECTIVE_PAUSE,
    Wish.RESUME: wire.DIRECTIVE_RESUME,
}

#: Terms of a team that have the same name here and on the wire.
_QUOTA = ("gpus", "cpus", "memory_mb")
_LOANS = ("lending_limit_gpus", "borrowing_limit_gpus")
_CAPS = ("max_running", "max_queued", "max_running_per_user", "max_queued_per_user", "max_gpus_per_user")


def directive(wish: Wish | None) -> int:
    """Return what the agent is told; None means that the attempt is no longer its own."""
    return wire.DIRECTIVE_ABANDON if wish is None else _DIRECTIVES[wish]


def read_request(message: wire.SubmitRequest) -> Request:
    """Return the submit that *message* asks for, with what cannot be read noted in it."""
    spec, faults = message.spec, list[str]()
    config = _config(spec.config_json, faults)
    priority = _priority(spec.priority or "normal", faults)
    faults += unkeepable(message.idempotency_key, "idempotency_key")
    faults += unkeepable(spec.name, "name")
    for field in ("labels", "secrets", "environment"):
        faults += unkeepable(dict(getattr(spec, field)), field)
    needs = spec.resources
    return Request(
        spec=RunSpec(
            worker=WorkerName(spec.worker),
            config=config,
            team=TeamName(spec.team or DEFAULT_TEAM),
            user=UserName(spec.user or "anonymous"),
            seed=spec.seed if spec.HasField("seed") else None,
            name=spec.name,
            priority=priority,
            requirements=Requirements(needs.cpus, needs.memory_mb, needs.gpus, needs.gpu_fraction, needs.gpu_memory_mb),
            max_wall=_span(spec.max_wall_s),
            max_retries=None if spec.max_retries < 0 else spec.max_retries,
            hang_limit=_span(spec.hang_limit_s),
            labels=dict(spec.labels),
            secrets=dict(spec.secrets),
            environment=dict(spec.environment),
        ),
        seeds=tuple(message.seeds),
        not_before=from_timestamp(spec.not_before),
        idempotency_key=message.idempotency_key,
        unreadable=tuple(faults),
    )


def _priority(name: str, faults: list[str]) -> PriorityClass:
    if name.upper() in PriorityClass.__members__:
        return PriorityClass.named(name)
    known = [member.label for member in PriorityClass]
    faults.append(f"priority {name!r} is not one of {', '.join(known)}{did_you_mean(name, known)}")
    return PriorityClass.NORMAL


def _config(text: str, faults: list[str]) -> dict[str, Any]:
    try:
        config = json.loads(text or "{}")
        found = list(unkeepable(config, "config"))
    except ValueError as error:
        faults.append(f"config is not JSON: {error}")
        return {}
    except RecursionError:
        faults.append("config is nested too deep")
        return {}
    if not isinstance(config, dict):
        faults.append(f"config must be an object, not {type(config).__name__}")
        return {}
    faults += found
    return config


def _span(seconds: float) -> timedelta | None:
    return timedelta(seconds=seconds) if seconds else None


def run_message(run: RunEntry, attempt: AttemptEntry | None = None) -> wire.Run:
    """Return *run* for the wire; *attempt* says where it executes."""
    held = attempt.lease.gpus if attempt else ()
    return wire.Run(
        run_id=run.run_id,
        spec=spec_message(run.spec),
        state=run_state_to_wire(run.state),  # type: ignore[arg-type]
        attempt=run.attempt,
        reason_code=run.reason_code,
        reason=run.reason,
        submitted_at=to_timestamp(run.submitted_at),
        started_at=to_timestamp(run.started_at),
        ended_at=to_timestamp(run.ended_at),
        updated_at=to_timestamp(run.updated_at),
        config_digest=run.spec.digest(),
        agent_id=attempt.agent_id if attempt else "",
        node_id=attempt.node_id if attempt else "",
        gpu_ids=[share.gpu_id for share in held],
        revision=run.revision,
    )


def spec_message(spec: RunSpec) -> wire.RunSpec:
    """Return *spec* for the wire."""
    needs = spec.requirements
    message = wire.RunSpec(
        worker=spec.worker,
        config_json=json.dumps(dict(spec.config), sort_keys=True),
        name=spec.name,
        team=spec.team,
        user=spec.user,
        priority=spec.priority.label,
        resources=wire.Resources(
            cpus=needs.cpus,
            memory_mb=needs.memory_mb,
            gpus=needs.gpus,
            gpu_fraction=needs.gpu_fraction,
            gpu_memory_mb=needs.gpu_memory_mb,
        ),
        max_wall_s=spec.max_wall.total_seconds() if spec.max_wall else 0,
        max_retries=-1 if spec.max_retries is None else spec.max_retries,
        hang_limit_s=spec.hang_limit.total_seconds() if spec.hang_limit else 0,
        labels=dict(spec.labels),
        secrets=dict(spec.secrets),
        environment=dict(spec.environment),
    )
    if spec.seed is not None:
        message.seed = spec.seed
    return message


def attempt_message(attempt: AttemptEntry) -> wire.Attempt:
    """Return *attempt* for the wire."""
    return wire.Attempt(
        attempt=attempt.attempt,
        state=attempt_state_to_wire(attempt.state),  # type: ignore[arg-type]
        agent_id=attempt.agent_id,
        node_id=attempt.node_id,
        gpu_ids=[share.gpu_id for share in attempt.lease.gpus],
        admitted_at=to_timestamp(attempt.admitted_at),
        claimed_at=to_timestamp(attempt.claimed_at),
        started_at=to_timestamp(attempt.started_at),
        ended_at=to_timestamp(attempt.ended_at),
        failure_kind=attempt.failure_kind,
        reason=attempt.reason,
        exit_code=attempt.exit_code,
        last_seq=attempt.last_seq,
        resumed_from=attempt.resumed_from,
    )


def change_message(entry: HistoryEntry) -> wire.Change:
    """Return a line of history for the wire."""
    return wire.Change(
        at=to_timestamp(entry.at),
        attempt=entry.attempt,
        fact=entry.fact,
        before=entry.before,
        after=entry.after,
        actor=entry.actor,
        detail=entry.detail,
    )


def launch_message(claimed: Claimed, times: RoundSettings) -> wire.Launch:
    """Return what the agent needs to execute a claimed attempt."""
    run, attempt, spec = claimed.run, claimed.attempt, claimed.run.spec
    message = wire.Launch(
        run_id=run.run_id,
        attempt=attempt.attempt,
        worker=spec.worker,
        config_json=json.dumps(dict(spec.config)),
        gpus=[wire.GpuShare(gpu_id=held.gpu_id, share=held.share) for held in attempt.lease.gpus],
        cpus=attempt.lease.cpus,
        memory_mb=attempt.lease.memory_mb,
        environment=dict(spec.environment),
        secrets=dict(claimed.secrets),
        control_token=claimed.control_token,
        max_wall_s=spec.max_wall.total_seconds() if spec.max_wall else 0,
        hang_limit_s=(spec.hang_limit or times.hang_limit).total_seconds(),
        grace_s=times.grace.total_seconds(),
        lease_s=times.lease.total_seconds(),
        resume_from=attempt.resumed_from,
        config_digest=spec.digest(),
        team=spec.team,
        user=spec.user,
    )
    if spec.seed is not None:
        message.seed = spec.seed
    return message


def read_report(message: wire.ReportRequest) -> Report:
    """Return the fact that *message* tells; a character that cannot be kept costs nobody the fact."""
    return Report(
        run_id=RunId(message.run_id),
        attempt=message.attempt,
        control_token=message.control_token,
        fact=message.fact,
        failure_kind=message.failure_kind,
        reason=keepable(message.reason),
        exit_code=message.exit_code if message.HasField("exit_code") else None,
        last_seq=message.last_seq,
        checkpoint=keepable(message.checkpoint),
        checkpoint_at=from_timestamp(message.checkpoint_at),
        versions={keepable(name): keepable(version) for name, version in message.versions.items()},
    )


def team_message(team: Team) -> wire.Team:
    """Return *team* for the wire; -1 and 0 stand for "no limit"."""
    return wire.Team(
        name=team.name,
        weight=team.weight,
        quota=wire.Quota(**{name: getattr(team.quota, name) or 0 for name in _QUOTA}),
        max_wall_s=team.max_wall.total_seconds() if team.max_wall else 0,
        **{name: _limit(getattr(team, name)) for name in _LOANS},
        **{name: getattr(team, name) or 0 for name in _CAPS},
    )


def changed_team(team: Team, terms: wire.Team) -> Team:
    """Return *team* with the *terms* that are given; the others stay as they are.

    Raises:
        BadInput: lists every term that makes no sense.
    """
    faults = [f"{name} cannot be negative" for name in (*_CAPS, "max_wall_s") if getattr(terms, name) < 0]
    faults += [f"quota.{name} cannot be negative" for name in _QUOTA if getattr(terms.quota, name) < 0]
    if terms.HasField("weight") and not terms.weight > 0:
        faults.append(f"weight must be more than 0, not {terms.weight:g}")
    if faults:
        raise BadInput(f"team {team.name}", faults)
    given: dict[str, Any] = {name: getattr(terms, name) or None for name in _CAPS if terms.HasField(name)}
    given |= {name: _no_limit(getattr(terms, name)) for name in _LOANS if terms.HasField(name)}
    if terms.HasField("weight"):
        given["weight"] = terms.weight
    if terms.HasField("max_wall_s"):
        given["max_wall"] = _span(terms.max_wall_s)
    quota = {name: getattr(terms.quota, name) or None for name in _QUOTA if terms.quota.HasField(name)}
    return replace(team, quota=replace(team.quota, **quota), **given)


def _limit(gpus: float | None) -> int:
    return -1 if gpus is None else int(gpus)


def _no_limit(gpus: int) -> float | None:
    return None if gpus < 0 else float(gpus)
