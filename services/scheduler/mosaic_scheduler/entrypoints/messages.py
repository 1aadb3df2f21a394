"""Between the wire's messages and the scheduler's own values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from mosaic.errors import BadInput, did_you_mean
from mosaic.ids import RunId, TeamName, UserName, WorkerName
from mosaic.lifecycle import FailureKind, RunState
from mosaic.wire.convert import (
    attempt_state_to_wire,
    from_timestamp,
    run_state_from_wire,
    run_state_to_wire,
    to_timestamp,
)
from mosaic.wire.v1 import scheduler_pb2 as wire
from mosaic_scheduler.domain.entries import AttemptEntry, HistoryEntry, RunEntry, RunSpec, Wish
from mosaic_scheduler.domain.run import PriorityClass, Requirements
from mosaic_scheduler.domain.snapshot import Team
from mosaic_scheduler.entrypoints.texts import keepable, unkeepable
from mosaic_scheduler.handlers.claims import REPORTABLE, Claimed, Report
from mosaic_scheduler.handlers.rounds import RoundSettings
from mosaic_scheduler.handlers.submit import DEFAULT_TEAM, Request
from mosaic_scheduler.ports import RunFilter

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

#: Longer than any training, and short enough to be added to any time of day.
_LONGEST_S = 10 * 365 * 86_400
_YEARS = (1970, 9000)


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
            max_wall=_span(spec.max_wall_s, "max_wall_s", faults),
            max_retries=None if spec.max_retries < 0 else spec.max_retries,
            hang_limit=_span(spec.hang_limit_s, "hang_limit_s", faults),
            labels=dict(spec.labels),
            secrets=dict(spec.secrets),
            environment=dict(spec.environment),
        ),
        seeds=tuple(message.seeds),
        not_before=_moment(spec.not_before, "not_before", faults),
        idempotency_key=message.idempotency_key,
        unreadable=tuple(faults),
    )


def _priority(name: str, faults: list[str]) -> PriorityClass:
    if name.upper() in PriorityClass.__members__:
        return PriorityClass.named(name)
    faults += _unless_known("priority", name, [member.label for member in PriorityClass])
    return PriorityClass.NORMAL


def _unless_known(field: str, word: str, known: Iterable[str]) -> Iterator[str]:
    """Yield the fault of a *word* that is none of the *known* ones."""
    words = list(known)
    if word not in words:
        yield f"{field} {word[:100]!r} is not one of {', '.join(words)}{did_you_mean(word, words)}"


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


def _span(seconds: float, field: str, faults: list[str]) -> timedelta | None:
    if not 0 <= seconds <= _LONGEST_S:
        faults.append(f"{field} must lie between 0 and {_LONGEST_S}, not {seconds:g}")
        return None
    return timedelta(seconds=seconds) if seconds else None


def _moment(stamp: Timestamp, field: str, faults: list[str]) -> datetime | None:
    try:
        moment = from_timestamp(stamp)
    except ValueError as error:
        faults.append(f"{field} is no time: {error}")
        return None
    if moment is not None and not _YEARS[0] <= moment.year <= _YEARS[1]:
        faults.append(f"{field} must lie between the years {_YEARS[0]} and {_YEARS[1]}, not in {moment.year}")
        return None
    return moment


def read_filter(message: wire.ListRunsRequest) -> RunFilter:
    """Return which runs *message* asks for.

    Raises:
        BadInput: names every state that there is not, and a page of less than nothing.
    """
    known = {run_state_to_wire(state): state for state in RunState}
    listing = ", ".join(f"{number} ({state.value})" for number, state in known.items())
    faults = [f"states: {number} is not one of {listing}" for number in message.states if number not in known]
    if message.page_size < 0:
        faults.append(f"page_size cannot be negative, but is {message.page_size}")
    if faults:
        raise BadInput("list of runs", faults)
    return RunFilter(
        states=frozenset(run_state_from_wire(number) for number in message.states),
        team=message.team,
        user=message.user,
        worker=message.worker,
        labels=dict(message.labels),
    )


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
    """Return the fact that *message* tells; a character that cannot be kept costs nobody the fact.

    Raises:
        BadInput: lists every word that means nothing here, as those of a newer agent may.
    """
    faults = list(_unless_known("fact", message.fact, REPORTABLE))
    if message.failure_kind:
        faults += _unless_known("failure_kind", message.failure_kind, [kind.value for kind in FailureKind])
    checkpoint_at = _moment(message.checkpoint_at, "checkpoint_at", faults)
    if faults:
        raise BadInput(f"report of attempt {message.attempt} of run {message.run_id[:100]!r}", faults)
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
        checkpoint_at=checkpoint_at,
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
    faults = list[str]()
    faults += _bad_amounts({name: getattr(terms, name) for name in _CAPS})
    faults += _bad_amounts({f"quota.{name}": getattr(terms.quota, name) for name in _QUOTA})
    if terms.HasField("weight") and not 0 < terms.weight < math.inf:
        faults.append(f"weight must be more than 0, not {terms.weight:g}")
    max_wall = _span(terms.max_wall_s, "max_wall_s", faults)
    if faults:
        raise BadInput(f"team {team.name}", faults)
    given: dict[str, Any] = {name: getattr(terms, name) or None for name in _CAPS if terms.HasField(name)}
    given |= {name: _no_limit(getattr(terms, name)) for name in _LOANS if terms.HasField(name)}
    if terms.HasField("weight"):
        given["weight"] = terms.weight
    if terms.HasField("max_wall_s"):
        given["max_wall"] = max_wall
    quota = {name: getattr(terms.quota, name) or None for name in _QUOTA if terms.quota.HasField(name)}
    return replace(team, quota=replace(team.quota, **quota), **given)


def _bad_amounts(amounts: Mapping[str, float]) -> Iterator[str]:
    for name, amount in amounts.items():
        if amount < 0:
            yield f"{name} cannot be negative"
        elif not math.isfinite(amount):
            yield f"{name} is {amount}, which is no amount"


def _limit(gpus: float | None) -> int:
    return -1 if gpus is None else int(gpus)


def _no_limit(gpus: int) -> float | None:
    return None if gpus < 0 else float(gpus)
