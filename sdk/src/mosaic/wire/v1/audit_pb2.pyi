import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReadAuditRequest(_message.Message):
    __slots__ = ("team", "actor", "since", "after", "limit")
    TEAM_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    team: str
    actor: str
    since: _timestamp_pb2.Timestamp
    after: int
    limit: int
    def __init__(self, team: _Optional[str] = ..., actor: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., after: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class AuditEntry(_message.Message):
    __slots__ = ("time", "actor", "action", "target", "team", "allowed", "reason", "kind", "via", "request_id", "address", "before_json", "after_json", "service", "seq", "hash")
    TIME_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    TEAM_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    VIA_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BEFORE_JSON_FIELD_NUMBER: _ClassVar[int]
    AFTER_JSON_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    time: _timestamp_pb2.Timestamp
    actor: str
    action: str
    target: str
    team: str
    allowed: bool
    reason: str
    kind: str
    via: str
    request_id: str
    address: str
    before_json: str
    after_json: str
    service: str
    seq: int
    hash: str
    def __init__(self, time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., actor: _Optional[str] = ..., action: _Optional[str] = ..., target: _Optional[str] = ..., team: _Optional[str] = ..., allowed: _Optional[bool] = ..., reason: _Optional[str] = ..., kind: _Optional[str] = ..., via: _Optional[str] = ..., request_id: _Optional[str] = ..., address: _Optional[str] = ..., before_json: _Optional[str] = ..., after_json: _Optional[str] = ..., service: _Optional[str] = ..., seq: _Optional[int] = ..., hash: _Optional[str] = ...) -> None: ...
