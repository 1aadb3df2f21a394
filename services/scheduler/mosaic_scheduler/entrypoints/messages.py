"""What arrives from outside, checked before it is read: every fault is said in words, and at once."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from mosaic.errors import BadInput, did_you_mean
from mosaic.lifecycle import FailureKind
from mosaic.model.attempt import Report
from mosaic.model.run import Priority, RunFilter, RunSpec
from mosaic.model.team import Quota, Team
from mosaic.wire.codec import from_timestamp, from_wire
from mosaic.wire.v1 import scheduler_pb2 as wire
from mosaic_scheduler.entrypoints.texts import sanitize, unstorable
from mosaic_scheduler.handlers.claims import REPORTABLE
from mosaic_scheduler.handlers.submit import Request

_QUOTA = ("gpus", "cpus", "memory_mb")
_LOANS = ("lending_limit_gpus", "borrowing_limit_gpus")
_CAPS = ("max_running", "max_queued", "max_running_per_user", "max_queued_per_user", "max_gpus_per_user")
_TERMS = ("weight", *(f"quota.{name}" for name in _QUOTA), *_LOANS, *_CAPS, "max_wall")

#: Longer than any training, and short enough to be added to any time of day.
_LONGEST_S = 10 * 365 * 86_400
_YEARS = (1970, 9000)

#: What an agent may say of an attempt: an honest one cuts its reasons at 4,000 letters.
_MAX_REASON = 4_000
_MAX_VERSIONS = 256
_MAX_VERSION = 256


def read_request(message: wire.SubmitRequest) -> Request:
    """Return the submit that *message* asks for, with what cannot be read left out and noted in it."""
    spec, faults = message.spec, list[str]()
    config = _config(spec.config_json, faults)
    faults += unstorable(message.idempotency_key, "idempotency_key")
    for name in ("name", "continues"):
        faults += unstorable(getattr(spec, name), name)
    for name in ("labels", "secrets", "environment"):
        faults += unstorable(dict(getattr(spec, name)), name)
    readable = wire.RunSpec()
    readable.CopyFrom(spec)
    readable.ClearField("config_json")
    readable.priority = _priority(spec.priority or Priority.NORMAL.label, faults)
    for name in ("max_wall_s", "hang_limit_s"):
        if _is_bad_span(getattr(spec, name), name, faults):
            readable.ClearField(name)
    if _moment(spec.not_before, "not_before", faults) is None:
        readable.ClearField("not_before")
    asked = from_wire(readable, RunSpec)
    return Request(
        spec=replace(asked, config=config),
        seeds=tuple(message.seeds),
        idempotency_key=message.idempotency_key,
        unreadable=tuple(faults),
    )


def _priority(name: str, faults: list[str]) -> str:
    labels = [member.label for member in Priority]
    faults += _unless_known("priority", name.lower(), labels)
    return name if name.lower() in labels else Priority.NORMAL.label


def _unless_known(field: str, word: str, known: Iterable[str]) -> Iterator[str]:
    """Yield the fault of a *word* that is none of the *known* ones."""
    words = list(known)
    if word not in words:
        yield f"{field} {word[:100]!r} is not one of {', '.join(words)}{did_you_mean(word, words)}"


def _config(text: str, faults: list[str]) -> dict[str, Any]:
    try:
        config = json.loads(text or "{}")
        found = list(unstorable(config, "config"))
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


def _is_bad_span(seconds: float, field: str, faults: list[str]) -> bool:
    is_bad = not 0 <= seconds <= _LONGEST_S
    if is_bad:
        faults.append(f"{field} must lie between 0 and {_LONGEST_S}, not {seconds:g}")
    return is_bad


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
        BadInput: names a state that there is not, and a page of less than nothing.
    """
    faults = [f"page_size cannot be negative, but is {message.page_size}"] if message.page_size < 0 else []
    try:
        wanted = from_wire(message, RunFilter)
    except BadInput as error:
        raise BadInput("list of runs", [*error.faults, *faults]) from error
    if faults:
        raise BadInput("list of runs", faults)
    return wanted


def read_report(message: wire.ReportRequest) -> Report:
    """Return the fact that *message* tells; a character that cannot be kept costs nobody the fact.

    Raises:
        BadInput: lists every word that means nothing here, as those of a newer agent may.
    """
    faults = list(_unless_known("fact", message.fact, REPORTABLE))
    if message.failure_kind:
        faults += _unless_known("failure_kind", message.failure_kind, [kind.value for kind in FailureKind])
    _moment(message.checkpoint_at, "checkpoint_at", faults)
    if faults:
        raise BadInput(f"report of attempt {message.attempt} of run {message.run_id[:100]!r}", faults)
    told = from_wire(message, Report)
    return replace(
        told,
        reason=sanitize(told.reason)[:_MAX_REASON],
        checkpoint=sanitize(told.checkpoint)[:_MAX_REASON],
        versions=_few({sanitize(name): sanitize(version) for name, version in told.versions.items()}),
    )


def _few(versions: dict[str, str]) -> dict[str, str]:
    """Return as many of them as a worker can have; they are kept with every attempt and in the manifest."""
    return {name[:_MAX_VERSION]: versions[name][:_MAX_VERSION] for name in sorted(versions)[:_MAX_VERSIONS]}


def changed_team(team: Team, message: wire.SetTeamRequest) -> Team:
    """Return *team* with the terms that *message* names; the others stay as they are.

    Raises:
        BadInput: lists every term that makes no sense.
    """
    faults = [fault for term in message.terms for fault in _unless_known("term", term, _TERMS)]
    _is_bad_span(message.team.max_wall_s, "max_wall_s", faults)
    if not faults:
        asked = from_wire(message.team, Team)
        named = {term for term in message.terms if not term.startswith("quota.")}
        quota = {term.removeprefix("quota.") for term in message.terms} & set(_QUOTA)
        bounds: Quota = replace(team.quota, **{name: getattr(asked.quota, name) for name in quota})
        team = replace(team, quota=bounds, **{name: getattr(asked, name) for name in named})
        faults = list(_team_faults(team))
    if faults:
        raise BadInput(f"team {team.name}", faults)
    return team


def _team_faults(team: Team) -> Iterator[str]:
    if not 0 < team.weight < math.inf:
        yield f"weight must be more than 0, not {team.weight:g}"
    amounts = {f"quota.{name}": getattr(team.quota, name) for name in _QUOTA}
    amounts |= {name: getattr(team, name) for name in (*_LOANS, *_CAPS)}
    for name, amount in amounts.items():
        if amount is None:
            continue
        if amount < 0:
            yield f"{name} cannot be negative"
        elif not math.isfinite(amount):
            yield f"{name} is {amount}, which is no amount"
        elif name in _CAPS and not amount:
            yield f"{name} cannot be 0; leave its value out to lift the limit"
