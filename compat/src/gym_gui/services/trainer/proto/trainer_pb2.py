"""Messages of upstream's trainer service, made from a table when first imported.

Needs protobuf, of whatever version the worker's environment has: there is no generated code that
could disagree with it.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

_PACKAGE = "gymgui.trainer"

#: name=number[:type]; a leading ``*`` is repeated, ``?`` optional, ``|`` a member of the oneof ``event``.
_MESSAGES = {
    "SubmitRunRequest": "run_id=1 config_json=2",
    "SubmitRunResponse": "run_id=1 digest=2",
    "CancelRunRequest": "run_id=1",
    "CancelRunResponse": "",
    "RegisterWorkerRequest": (
        "run_id=1 worker_id=2 worker_kind=3 proto_version=4 schema_id=5 schema_version=6:uint32 "
        "supports_pause=7:bool supports_checkpoint=8:bool"
    ),
    "RegisterWorkerResponse": "accepted_version=1 session_token=2",
    "ControlEvent": "run_id=1 |grant_steps=10:uint32 |pause=11:bool |resume=12:bool |max_rate_hz=13:uint32",
    "RunRecord": (
        "run_id=1 status=2:RunStatus digest=3 created_at=4:time updated_at=5:time last_heartbeat=6:time "
        "?gpu_slot=7:int32 ?failure_reason=8 *gpu_slots=9:int32 seq_id=10:uint64"
    ),
    "ListRunsRequest": "*status_filter=1:RunStatus",
    "ListRunsResponse": "*runs=1:RunRecord",
    "WatchRunsRequest": "*status_filter=1:RunStatus since_seq=2:uint64",
    "HeartbeatRequest": "run_id=1",
    "HeartbeatResponse": "",
    "HealthCheckRequest": "",
    "HealthCheckResponse": "pid=1:uint64 started_at=2:time listen_address=3 healthy=4:bool",
    "StreamStepsRequest": "run_id=1 since_seq=2:uint64",
    "StreamEpisodesRequest": "run_id=1 since_seq=2:uint64",
    "RunStep": (
        "run_id=1 episode_index=2:uint64 step_index=3:uint64 action_json=4 observation_json=5 "
        "reward=6:double terminated=7:bool truncated=8:bool timestamp=9:time policy_label=10 "
        "backend=11 seq_id=12:uint64 "
        "agent_id=13 render_hint_json=14 frame_ref=15 payload_version=16:uint32 render_payload_json=17 "
        "episode_seed=18:uint64 worker_id=19"
    ),
    "RunEpisode": (
        "run_id=1 episode_index=2:uint64 total_reward=3:double steps=4:uint64 terminated=5:bool "
        "truncated=6:bool metadata_json=7 timestamp=8:time seq_id=9:uint64 agent_id=10 worker_id=11"
    ),
    "PublishTelemetryResponse": "accepted=1:uint64 dropped=2:uint64",
}

_STATUSES = ("UNSPECIFIED", "INIT", "HSHK", "RDY", "EXEC", "PAUSE", "FAULT", "TERM")

_Field = descriptor_pb2.FieldDescriptorProto


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="trainer.proto", package=_PACKAGE, syntax="proto3")
    file.dependency.append(timestamp_pb2.DESCRIPTOR.name)
    statuses = file.enum_type.add(name="RunStatus")
    for number, status in enumerate(_STATUSES):
        statuses.value.add(name=f"RUN_STATUS_{status}", number=number)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields.split():
            _add_field(message, field)
    return file


def _add_field(message: descriptor_pb2.DescriptorProto, text: str) -> None:
    mark = text[0] if text[0] in "*?|" else ""
    name, _, rest = text.removeprefix(mark).partition("=")
    number, _, kind = rest.partition(":")
    field = message.field.add(name=name, number=int(number), label=_Field.LABEL_OPTIONAL)
    _set_type(field, kind or "string")
    if mark == "*":
        field.label = _Field.LABEL_REPEATED
    elif mark == "|":
        if not message.oneof_decl:
            message.oneof_decl.add(name="event")
        field.oneof_index = 0
    elif mark == "?":
        field.proto3_optional = True
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}")


def _set_type(field: descriptor_pb2.FieldDescriptorProto, kind: str) -> None:
    if kind == "time":
        field.type = _Field.TYPE_MESSAGE
        field.type_name = ".google.protobuf.Timestamp"
    elif kind in _MESSAGES:
        field.type = _Field.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{kind}"
    elif kind == "RunStatus":
        field.type = _Field.TYPE_ENUM
        field.type_name = f".{_PACKAGE}.RunStatus"
    else:
        field.type = _Field.Type.Value(f"TYPE_{kind.upper()}")


def _message_class(name: str) -> Any:
    descriptor = DESCRIPTOR.message_types_by_name[name]
    # protobuf before 4.22 has only the older of the two ways.
    factory: Any = message_factory
    if hasattr(factory, "GetMessageClass"):
        return factory.GetMessageClass(descriptor)
    return factory.MessageFactory().GetPrototype(descriptor)


def _define_names() -> None:
    for name in _MESSAGES:
        globals()[name] = _message_class(name)
    for number, status in enumerate(_STATUSES):
        globals()[f"RUN_STATUS_{status}"] = number


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


descriptor_pool.Default().AddSerializedFile(_file().SerializeToString())
DESCRIPTOR = descriptor_pool.Default().FindFileByName("trainer.proto")
_define_names()
