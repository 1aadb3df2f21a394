"""Every field of every value of the model survives protobuf and JSON, and older writing stays readable."""

from __future__ import annotations

import dataclasses
import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from enum import Enum
from importlib import import_module
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from google.protobuf.message import Message

import mosaic.model
from mosaic.errors import BadInput
from mosaic.model import admission, attempt, audit, fleet, identity, people, resources, run, secret, team
from mosaic.model.codec import from_json, to_json
from mosaic.wire import codec
from mosaic.wire.v1 import audit_pb2, identity_pb2, registry_pb2, scheduler_pb2

#: The message of each value that crosses the wire; a value that is in none is stored only.
MESSAGES: Mapping[type, type[Message]] = {
    fleet.Gpu: registry_pb2.Gpu,
    fleet.Node: registry_pb2.Node,
    fleet.Agent: registry_pb2.Agent,
    fleet.Worker: registry_pb2.Worker,
    fleet.Announcement: registry_pb2.RegisterWorkerRequest,
    fleet.Fleet: registry_pb2.Fleet,
    resources.Resources: scheduler_pb2.Resources,
    resources.GpuShare: scheduler_pb2.GpuShare,
    resources.Lease: scheduler_pb2.Lease,
    run.RunSpec: scheduler_pb2.RunSpec,
    run.Run: scheduler_pb2.Run,
    run.RunFilter: scheduler_pb2.ListRunsRequest,
    run.Change: scheduler_pb2.Change,
    run.Explanation: scheduler_pb2.Explanation,
    attempt.Attempt: scheduler_pb2.Attempt,
    attempt.RunDetail: scheduler_pb2.RunDetail,
    attempt.Launch: scheduler_pb2.Launch,
    attempt.HeldAttempt: scheduler_pb2.HeldAttempt,
    attempt.AttemptDirective: scheduler_pb2.AttemptDirective,
    attempt.Report: scheduler_pb2.ReportRequest,
    team.Quota: scheduler_pb2.Quota,
    team.Team: scheduler_pb2.Team,
    secret.Secret: scheduler_pb2.Secret,
    audit.AuditEntry: audit_pb2.AuditEntry,
    audit.AuditFilter: audit_pb2.ReadAuditRequest,
    admission.Invite: registry_pb2.Invite,
    admission.AgentCertificate: registry_pb2.AgentCertificate,
    people.User: identity_pb2.User,
    people.Credential: identity_pb2.Credential,
}

#: Values that are stored or published as JSON and never cross as protobuf.
JSON_ONLY = {attempt.RunFinished, run.RunAccepted, identity.Caller}


def values_of_the_model() -> list[type]:
    modules = [import_module(f"mosaic.model.{one.name}") for one in pkgutil.iter_modules(mosaic.model.__path__)]
    return [
        kind
        for module in modules
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__
    ]


def a_sample(hint: Any, number: int, is_sent: bool) -> Any:
    """Return a value of the type *hint* that is not its default, different for every *number*."""
    hint = getattr(hint, "__supertype__", hint)
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (tuple, frozenset):
        return origin([a_sample(parts[0], number, is_sent)])
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"key": {"deep": [number, None]} if parts[1] is Any else a_sample(parts[1], number, is_sent)}
    if parts and type(None) in parts:
        return a_sample(next(part for part in parts if part is not type(None)), number, is_sent)
    if dataclasses.is_dataclass(hint):
        return a_value(hint, number + 1, is_sent)
    if issubclass(hint, Enum):
        return list(hint)[-1]
    samples = {
        str: f"text {number}",
        bool: True,
        int: 40 + number,
        float: number + 0.5,
        datetime: datetime(2030, 1, 1, 12, 0, number % 60, 250_000, tzinfo=timezone.utc),
        timedelta: timedelta(seconds=number + 0.25),
    }
    return samples[hint]


def a_value(kind: Any, number: int = 1, is_sent: bool = False) -> Any:
    """Return a value whose fields are all told, except those that are never sent if it *is_sent*."""
    hints = get_type_hints(kind)
    left_out = codec.EXCEPTIONS.get(kind.__name__, frozenset()) if is_sent else ()
    names = [field.name for field in dataclasses.fields(kind) if field.init and field.name not in left_out]
    return kind(**{name: a_sample(hints[name], number + place, is_sent) for place, name in enumerate(names)})


def optional_fields() -> Iterator[tuple[type, str]]:
    for kind in values_of_the_model():
        for field in dataclasses.fields(kind):
            if field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING:
                yield kind, field.name


def test_every_value_of_the_model_crosses_or_is_known_not_to() -> None:
    assert set(MESSAGES) | JSON_ONLY == set(values_of_the_model())


@pytest.mark.parametrize("kind", values_of_the_model(), ids=lambda kind: kind.__name__)
def test_every_field_survives_json(kind: Any) -> None:
    value = a_value(kind)

    assert value == from_json(kind, to_json(value))
    assert value == from_json(kind, to_json(value, iso=True))


@pytest.mark.parametrize("kind", list(MESSAGES), ids=lambda kind: kind.__name__)
def test_every_field_survives_protobuf(kind: Any) -> None:
    value = a_value(kind, is_sent=True)

    sent = codec.to_wire(value, MESSAGES[kind]).SerializeToString()

    assert value == codec.from_wire(MESSAGES[kind].FromString(sent), kind)


@pytest.mark.parametrize(("kind", "name"), list(optional_fields()), ids=lambda part: getattr(part, "__name__", part))
def test_what_was_stored_before_a_field_existed_reads_its_default(kind: Any, name: str) -> None:
    written = to_json(a_value(kind))
    for key in (name, f"{name}_s"):
        written.pop(key, None)

    read = getattr(from_json(kind, written), name)

    (field,) = (one for one in dataclasses.fields(kind) if one.name == name)
    has_factory = field.default_factory is not dataclasses.MISSING
    assert (field.default_factory() if has_factory else field.default) == read


@pytest.mark.parametrize("kind", values_of_the_model(), ids=lambda kind: kind.__name__)
def test_what_a_newer_release_stored_besides_is_left_out(kind: Any) -> None:
    value = a_value(kind)

    assert value == from_json(kind, {**to_json(value), "invented_later": 1})


def test_everything_that_cannot_be_read_is_named() -> None:
    message = registry_pb2.RegisterWorkerRequest(agent_id="a", worker=registry_pb2.Worker(metadata_json="[]"))
    message.worker.capabilities_json = "{"
    message.node.gpus.add()

    with pytest.raises(BadInput) as refused:
        codec.from_wire(message, fleet.Announcement)

    first, second = refused.value.faults
    assert first.startswith("worker.metadata_json: is not a JSON object")
    assert second.startswith("worker.capabilities_json: ")
