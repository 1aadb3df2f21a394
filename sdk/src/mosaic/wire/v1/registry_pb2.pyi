import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Worker(_message.Message):
    __slots__ = ("name", "version", "description", "upstream_library", "upstream_version", "metadata_json", "capabilities_json", "config_schema_json", "image", "versions", "resume_grade", "updated_at", "launch", "digest")
    class VersionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    UPSTREAM_LIBRARY_FIELD_NUMBER: _ClassVar[int]
    UPSTREAM_VERSION_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_JSON_FIELD_NUMBER: _ClassVar[int]
    CONFIG_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    RESUME_GRADE_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    LAUNCH_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    description: str
    upstream_library: str
    upstream_version: str
    metadata_json: str
    capabilities_json: str
    config_schema_json: str
    image: str
    versions: _containers.ScalarMap[str, str]
    resume_grade: str
    updated_at: _timestamp_pb2.Timestamp
    launch: _containers.RepeatedScalarFieldContainer[str]
    digest: str
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., description: _Optional[str] = ..., upstream_library: _Optional[str] = ..., upstream_version: _Optional[str] = ..., metadata_json: _Optional[str] = ..., capabilities_json: _Optional[str] = ..., config_schema_json: _Optional[str] = ..., image: _Optional[str] = ..., versions: _Optional[_Mapping[str, str]] = ..., resume_grade: _Optional[str] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., launch: _Optional[_Iterable[str]] = ..., digest: _Optional[str] = ...) -> None: ...

class Gpu(_message.Message):
    __slots__ = ("gpu_id", "model", "memory_mb", "healthy", "index")
    GPU_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MB_FIELD_NUMBER: _ClassVar[int]
    HEALTHY_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    gpu_id: str
    model: str
    memory_mb: int
    healthy: bool
    index: int
    def __init__(self, gpu_id: _Optional[str] = ..., model: _Optional[str] = ..., memory_mb: _Optional[int] = ..., healthy: _Optional[bool] = ..., index: _Optional[int] = ...) -> None: ...

class Node(_message.Message):
    __slots__ = ("node_id", "hostname", "cpus", "memory_mb", "gpus", "draining", "alive")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    HOSTNAME_FIELD_NUMBER: _ClassVar[int]
    CPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MB_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    ALIVE_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    hostname: str
    cpus: int
    memory_mb: int
    gpus: _containers.RepeatedCompositeFieldContainer[Gpu]
    draining: bool
    alive: bool
    def __init__(self, node_id: _Optional[str] = ..., hostname: _Optional[str] = ..., cpus: _Optional[int] = ..., memory_mb: _Optional[int] = ..., gpus: _Optional[_Iterable[_Union[Gpu, _Mapping]]] = ..., draining: _Optional[bool] = ..., alive: _Optional[bool] = ...) -> None: ...

class Agent(_message.Message):
    __slots__ = ("agent_id", "node_id", "worker", "worker_version", "slots", "queue", "draining", "alive", "last_heartbeat", "session_digest", "protocol_version", "worker_digest")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    WORKER_VERSION_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    ALIVE_FIELD_NUMBER: _ClassVar[int]
    LAST_HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    SESSION_DIGEST_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    WORKER_DIGEST_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    node_id: str
    worker: str
    worker_version: str
    slots: int
    queue: str
    draining: bool
    alive: bool
    last_heartbeat: _timestamp_pb2.Timestamp
    session_digest: str
    protocol_version: str
    worker_digest: str
    def __init__(self, agent_id: _Optional[str] = ..., node_id: _Optional[str] = ..., worker: _Optional[str] = ..., worker_version: _Optional[str] = ..., slots: _Optional[int] = ..., queue: _Optional[str] = ..., draining: _Optional[bool] = ..., alive: _Optional[bool] = ..., last_heartbeat: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., session_digest: _Optional[str] = ..., protocol_version: _Optional[str] = ..., worker_digest: _Optional[str] = ...) -> None: ...

class Fleet(_message.Message):
    __slots__ = ("nodes", "agents", "workers", "revision", "denied_serials")
    NODES_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    DENIED_SERIALS_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[Node]
    agents: _containers.RepeatedCompositeFieldContainer[Agent]
    workers: _containers.RepeatedCompositeFieldContainer[Worker]
    revision: int
    denied_serials: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, nodes: _Optional[_Iterable[_Union[Node, _Mapping]]] = ..., agents: _Optional[_Iterable[_Union[Agent, _Mapping]]] = ..., workers: _Optional[_Iterable[_Union[Worker, _Mapping]]] = ..., revision: _Optional[int] = ..., denied_serials: _Optional[_Iterable[str]] = ...) -> None: ...

class RegisterWorkerRequest(_message.Message):
    __slots__ = ("agent_id", "node", "worker", "slots", "queue", "protocol_versions")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    node: Node
    worker: Worker
    slots: int
    queue: str
    protocol_versions: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, agent_id: _Optional[str] = ..., node: _Optional[_Union[Node, _Mapping]] = ..., worker: _Optional[_Union[Worker, _Mapping]] = ..., slots: _Optional[int] = ..., queue: _Optional[str] = ..., protocol_versions: _Optional[_Iterable[str]] = ...) -> None: ...

class RegisterWorkerResponse(_message.Message):
    __slots__ = ("accepted_version", "session_token", "heartbeat_interval_s")
    ACCEPTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    SESSION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_INTERVAL_S_FIELD_NUMBER: _ClassVar[int]
    accepted_version: str
    session_token: str
    heartbeat_interval_s: float
    def __init__(self, accepted_version: _Optional[str] = ..., session_token: _Optional[str] = ..., heartbeat_interval_s: _Optional[float] = ...) -> None: ...

class HeartbeatRequest(_message.Message):
    __slots__ = ("agent_id", "session_token", "gpus")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    session_token: str
    gpus: _containers.RepeatedCompositeFieldContainer[Gpu]
    def __init__(self, agent_id: _Optional[str] = ..., session_token: _Optional[str] = ..., gpus: _Optional[_Iterable[_Union[Gpu, _Mapping]]] = ...) -> None: ...

class HeartbeatResponse(_message.Message):
    __slots__ = ("draining",)
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    draining: bool
    def __init__(self, draining: _Optional[bool] = ...) -> None: ...

class RetireRequest(_message.Message):
    __slots__ = ("agent_id", "session_token")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    session_token: str
    def __init__(self, agent_id: _Optional[str] = ..., session_token: _Optional[str] = ...) -> None: ...

class RetireResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class LeaveRequest(_message.Message):
    __slots__ = ("agent_id", "session_token")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    session_token: str
    def __init__(self, agent_id: _Optional[str] = ..., session_token: _Optional[str] = ...) -> None: ...

class LeaveResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RenewCertificateRequest(_message.Message):
    __slots__ = ("agent_id", "request")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    request: str
    def __init__(self, agent_id: _Optional[str] = ..., request: _Optional[str] = ...) -> None: ...

class RenewCertificateResponse(_message.Message):
    __slots__ = ("certificate", "ca")
    CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    CA_FIELD_NUMBER: _ClassVar[int]
    certificate: str
    ca: str
    def __init__(self, certificate: _Optional[str] = ..., ca: _Optional[str] = ...) -> None: ...

class Invite(_message.Message):
    __slots__ = ("invite_id", "uses", "created_at", "expires_at", "created_by", "worker")
    INVITE_ID_FIELD_NUMBER: _ClassVar[int]
    USES_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    invite_id: str
    uses: int
    created_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    created_by: str
    worker: str
    def __init__(self, invite_id: _Optional[str] = ..., uses: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_by: _Optional[str] = ..., worker: _Optional[str] = ...) -> None: ...

class AgentCertificate(_message.Message):
    __slots__ = ("serial", "agent_id", "issued_at", "expires_at", "via", "worker", "denied_at")
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    ISSUED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    VIA_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    DENIED_AT_FIELD_NUMBER: _ClassVar[int]
    serial: str
    agent_id: str
    issued_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    via: str
    worker: str
    denied_at: _timestamp_pb2.Timestamp
    def __init__(self, serial: _Optional[str] = ..., agent_id: _Optional[str] = ..., issued_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., via: _Optional[str] = ..., worker: _Optional[str] = ..., denied_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class InviteRequest(_message.Message):
    __slots__ = ("uses", "ttl_s", "worker")
    USES_FIELD_NUMBER: _ClassVar[int]
    TTL_S_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    uses: int
    ttl_s: float
    worker: str
    def __init__(self, uses: _Optional[int] = ..., ttl_s: _Optional[float] = ..., worker: _Optional[str] = ...) -> None: ...

class InviteResponse(_message.Message):
    __slots__ = ("token", "invite")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    INVITE_FIELD_NUMBER: _ClassVar[int]
    token: str
    invite: Invite
    def __init__(self, token: _Optional[str] = ..., invite: _Optional[_Union[Invite, _Mapping]] = ...) -> None: ...

class ListAdmittedRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListAdmittedResponse(_message.Message):
    __slots__ = ("invites", "certificates")
    INVITES_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATES_FIELD_NUMBER: _ClassVar[int]
    invites: _containers.RepeatedCompositeFieldContainer[Invite]
    certificates: _containers.RepeatedCompositeFieldContainer[AgentCertificate]
    def __init__(self, invites: _Optional[_Iterable[_Union[Invite, _Mapping]]] = ..., certificates: _Optional[_Iterable[_Union[AgentCertificate, _Mapping]]] = ...) -> None: ...

class RevokeAgentRequest(_message.Message):
    __slots__ = ("agent_id", "invite_id")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    INVITE_ID_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    invite_id: str
    def __init__(self, agent_id: _Optional[str] = ..., invite_id: _Optional[str] = ...) -> None: ...

class RevokeAgentResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeWorkerRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class GetFleetRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WatchFleetRequest(_message.Message):
    __slots__ = ("once",)
    ONCE_FIELD_NUMBER: _ClassVar[int]
    once: bool
    def __init__(self, once: _Optional[bool] = ...) -> None: ...

class DrainRequest(_message.Message):
    __slots__ = ("node_id", "agent_id", "draining")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    agent_id: str
    draining: bool
    def __init__(self, node_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., draining: _Optional[bool] = ...) -> None: ...

class DrainResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
