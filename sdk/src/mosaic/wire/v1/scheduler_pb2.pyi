import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_STATE_UNSPECIFIED: _ClassVar[RunState]
    RUN_STATE_QUEUED: _ClassVar[RunState]
    RUN_STATE_ADMITTED: _ClassVar[RunState]
    RUN_STATE_RUNNING: _ClassVar[RunState]
    RUN_STATE_PAUSED: _ClassVar[RunState]
    RUN_STATE_STOPPING: _ClassVar[RunState]
    RUN_STATE_SUCCEEDED: _ClassVar[RunState]
    RUN_STATE_FAILED: _ClassVar[RunState]
    RUN_STATE_CANCELLED: _ClassVar[RunState]

class AttemptState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ATTEMPT_STATE_UNSPECIFIED: _ClassVar[AttemptState]
    ATTEMPT_STATE_ADMITTED: _ClassVar[AttemptState]
    ATTEMPT_STATE_CLAIMED: _ClassVar[AttemptState]
    ATTEMPT_STATE_RUNNING: _ClassVar[AttemptState]
    ATTEMPT_STATE_PAUSED: _ClassVar[AttemptState]
    ATTEMPT_STATE_STOPPING: _ClassVar[AttemptState]
    ATTEMPT_STATE_SUCCEEDED: _ClassVar[AttemptState]
    ATTEMPT_STATE_FAILED: _ClassVar[AttemptState]
    ATTEMPT_STATE_CANCELLED: _ClassVar[AttemptState]
    ATTEMPT_STATE_PREEMPTED: _ClassVar[AttemptState]
    ATTEMPT_STATE_LOST: _ClassVar[AttemptState]

class Directive(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DIRECTIVE_CONTINUE: _ClassVar[Directive]
    DIRECTIVE_CANCEL: _ClassVar[Directive]
    DIRECTIVE_PREEMPT: _ClassVar[Directive]
    DIRECTIVE_PAUSE: _ClassVar[Directive]
    DIRECTIVE_RESUME: _ClassVar[Directive]
    DIRECTIVE_ABANDON: _ClassVar[Directive]
    DIRECTIVE_EXPIRE: _ClassVar[Directive]
RUN_STATE_UNSPECIFIED: RunState
RUN_STATE_QUEUED: RunState
RUN_STATE_ADMITTED: RunState
RUN_STATE_RUNNING: RunState
RUN_STATE_PAUSED: RunState
RUN_STATE_STOPPING: RunState
RUN_STATE_SUCCEEDED: RunState
RUN_STATE_FAILED: RunState
RUN_STATE_CANCELLED: RunState
ATTEMPT_STATE_UNSPECIFIED: AttemptState
ATTEMPT_STATE_ADMITTED: AttemptState
ATTEMPT_STATE_CLAIMED: AttemptState
ATTEMPT_STATE_RUNNING: AttemptState
ATTEMPT_STATE_PAUSED: AttemptState
ATTEMPT_STATE_STOPPING: AttemptState
ATTEMPT_STATE_SUCCEEDED: AttemptState
ATTEMPT_STATE_FAILED: AttemptState
ATTEMPT_STATE_CANCELLED: AttemptState
ATTEMPT_STATE_PREEMPTED: AttemptState
ATTEMPT_STATE_LOST: AttemptState
DIRECTIVE_CONTINUE: Directive
DIRECTIVE_CANCEL: Directive
DIRECTIVE_PREEMPT: Directive
DIRECTIVE_PAUSE: Directive
DIRECTIVE_RESUME: Directive
DIRECTIVE_ABANDON: Directive
DIRECTIVE_EXPIRE: Directive

class Resources(_message.Message):
    __slots__ = ("cpus", "memory_mb", "gpus", "gpu_fraction", "gpu_memory_mb")
    CPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MB_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    GPU_FRACTION_FIELD_NUMBER: _ClassVar[int]
    GPU_MEMORY_MB_FIELD_NUMBER: _ClassVar[int]
    cpus: float
    memory_mb: int
    gpus: int
    gpu_fraction: float
    gpu_memory_mb: int
    def __init__(self, cpus: _Optional[float] = ..., memory_mb: _Optional[int] = ..., gpus: _Optional[int] = ..., gpu_fraction: _Optional[float] = ..., gpu_memory_mb: _Optional[int] = ...) -> None: ...

class RunSpec(_message.Message):
    __slots__ = ("worker", "config_json", "seed", "name", "team", "user", "priority", "resources", "max_wall_s", "max_retries", "not_before", "labels", "secrets", "hang_limit_s", "environment", "continues")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class SecretsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class EnvironmentEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    WORKER_FIELD_NUMBER: _ClassVar[int]
    CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEAM_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    MAX_WALL_S_FIELD_NUMBER: _ClassVar[int]
    MAX_RETRIES_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    SECRETS_FIELD_NUMBER: _ClassVar[int]
    HANG_LIMIT_S_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    CONTINUES_FIELD_NUMBER: _ClassVar[int]
    worker: str
    config_json: str
    seed: int
    name: str
    team: str
    user: str
    priority: str
    resources: Resources
    max_wall_s: float
    max_retries: int
    not_before: _timestamp_pb2.Timestamp
    labels: _containers.ScalarMap[str, str]
    secrets: _containers.ScalarMap[str, str]
    hang_limit_s: float
    environment: _containers.ScalarMap[str, str]
    continues: str
    def __init__(self, worker: _Optional[str] = ..., config_json: _Optional[str] = ..., seed: _Optional[int] = ..., name: _Optional[str] = ..., team: _Optional[str] = ..., user: _Optional[str] = ..., priority: _Optional[str] = ..., resources: _Optional[_Union[Resources, _Mapping]] = ..., max_wall_s: _Optional[float] = ..., max_retries: _Optional[int] = ..., not_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., labels: _Optional[_Mapping[str, str]] = ..., secrets: _Optional[_Mapping[str, str]] = ..., hang_limit_s: _Optional[float] = ..., environment: _Optional[_Mapping[str, str]] = ..., continues: _Optional[str] = ...) -> None: ...

class SubmitRequest(_message.Message):
    __slots__ = ("spec", "seeds", "idempotency_key", "dry_run")
    SPEC_FIELD_NUMBER: _ClassVar[int]
    SEEDS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    spec: RunSpec
    seeds: _containers.RepeatedScalarFieldContainer[int]
    idempotency_key: str
    dry_run: bool
    def __init__(self, spec: _Optional[_Union[RunSpec, _Mapping]] = ..., seeds: _Optional[_Iterable[int]] = ..., idempotency_key: _Optional[str] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class SubmitResponse(_message.Message):
    __slots__ = ("runs", "prediction", "repeated_submit")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    PREDICTION_FIELD_NUMBER: _ClassVar[int]
    REPEATED_SUBMIT_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[Run]
    prediction: _containers.RepeatedScalarFieldContainer[str]
    repeated_submit: bool
    def __init__(self, runs: _Optional[_Iterable[_Union[Run, _Mapping]]] = ..., prediction: _Optional[_Iterable[str]] = ..., repeated_submit: _Optional[bool] = ...) -> None: ...

class Run(_message.Message):
    __slots__ = ("run_id", "spec", "state", "attempt", "reason_code", "reason", "submitted_at", "started_at", "ended_at", "agent_id", "node_id", "gpu_ids", "revision", "updated_at", "not_before", "checkpoint", "checkpoint_at", "passed_over", "evicted_for")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    REASON_CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    GPU_IDS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_AT_FIELD_NUMBER: _ClassVar[int]
    PASSED_OVER_FIELD_NUMBER: _ClassVar[int]
    EVICTED_FOR_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    spec: RunSpec
    state: RunState
    attempt: int
    reason_code: str
    reason: str
    submitted_at: _timestamp_pb2.Timestamp
    started_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    agent_id: str
    node_id: str
    gpu_ids: _containers.RepeatedScalarFieldContainer[str]
    revision: int
    updated_at: _timestamp_pb2.Timestamp
    not_before: _timestamp_pb2.Timestamp
    checkpoint: str
    checkpoint_at: _timestamp_pb2.Timestamp
    passed_over: int
    evicted_for: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_id: _Optional[str] = ..., spec: _Optional[_Union[RunSpec, _Mapping]] = ..., state: _Optional[_Union[RunState, str]] = ..., attempt: _Optional[int] = ..., reason_code: _Optional[str] = ..., reason: _Optional[str] = ..., submitted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., agent_id: _Optional[str] = ..., node_id: _Optional[str] = ..., gpu_ids: _Optional[_Iterable[str]] = ..., revision: _Optional[int] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., not_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., checkpoint: _Optional[str] = ..., checkpoint_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., passed_over: _Optional[int] = ..., evicted_for: _Optional[_Iterable[str]] = ...) -> None: ...

class Attempt(_message.Message):
    __slots__ = ("attempt", "state", "agent_id", "node_id", "admitted_at", "claimed_at", "started_at", "ended_at", "failure_kind", "reason", "exit_code", "last_seq", "resumed_from", "run_id", "lease", "lease_until", "borrowed", "ends_by", "directive", "versions")
    class VersionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    ADMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    CLAIMED_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_KIND_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    RESUMED_FROM_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    LEASE_UNTIL_FIELD_NUMBER: _ClassVar[int]
    BORROWED_FIELD_NUMBER: _ClassVar[int]
    ENDS_BY_FIELD_NUMBER: _ClassVar[int]
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    attempt: int
    state: AttemptState
    agent_id: str
    node_id: str
    admitted_at: _timestamp_pb2.Timestamp
    claimed_at: _timestamp_pb2.Timestamp
    started_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    failure_kind: str
    reason: str
    exit_code: int
    last_seq: int
    resumed_from: str
    run_id: str
    lease: Lease
    lease_until: _timestamp_pb2.Timestamp
    borrowed: bool
    ends_by: _timestamp_pb2.Timestamp
    directive: Directive
    versions: _containers.ScalarMap[str, str]
    def __init__(self, attempt: _Optional[int] = ..., state: _Optional[_Union[AttemptState, str]] = ..., agent_id: _Optional[str] = ..., node_id: _Optional[str] = ..., admitted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., claimed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., failure_kind: _Optional[str] = ..., reason: _Optional[str] = ..., exit_code: _Optional[int] = ..., last_seq: _Optional[int] = ..., resumed_from: _Optional[str] = ..., run_id: _Optional[str] = ..., lease: _Optional[_Union[Lease, _Mapping]] = ..., lease_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., borrowed: _Optional[bool] = ..., ends_by: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., directive: _Optional[_Union[Directive, str]] = ..., versions: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Change(_message.Message):
    __slots__ = ("at", "attempt", "fact", "before", "after", "actor", "detail", "run_id")
    AT_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    FACT_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    at: _timestamp_pb2.Timestamp
    attempt: int
    fact: str
    before: str
    after: str
    actor: str
    detail: str
    run_id: str
    def __init__(self, at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., attempt: _Optional[int] = ..., fact: _Optional[str] = ..., before: _Optional[str] = ..., after: _Optional[str] = ..., actor: _Optional[str] = ..., detail: _Optional[str] = ..., run_id: _Optional[str] = ...) -> None: ...

class RunDetail(_message.Message):
    __slots__ = ("run", "attempts", "history")
    RUN_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    run: Run
    attempts: _containers.RepeatedCompositeFieldContainer[Attempt]
    history: _containers.RepeatedCompositeFieldContainer[Change]
    def __init__(self, run: _Optional[_Union[Run, _Mapping]] = ..., attempts: _Optional[_Iterable[_Union[Attempt, _Mapping]]] = ..., history: _Optional[_Iterable[_Union[Change, _Mapping]]] = ...) -> None: ...

class RunCommand(_message.Message):
    __slots__ = ("run_id", "reason")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    reason: str
    def __init__(self, run_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class GetRunRequest(_message.Message):
    __slots__ = ("run_id",)
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    def __init__(self, run_id: _Optional[str] = ...) -> None: ...

class ListRunsRequest(_message.Message):
    __slots__ = ("states", "team", "user", "worker", "labels", "page_size", "page_token", "name")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    STATES_FIELD_NUMBER: _ClassVar[int]
    TEAM_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedScalarFieldContainer[RunState]
    team: str
    user: str
    worker: str
    labels: _containers.ScalarMap[str, str]
    page_size: int
    page_token: str
    name: str
    def __init__(self, states: _Optional[_Iterable[_Union[RunState, str]]] = ..., team: _Optional[str] = ..., user: _Optional[str] = ..., worker: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class ListRunsResponse(_message.Message):
    __slots__ = ("runs", "next_page_token")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[Run]
    next_page_token: str
    def __init__(self, runs: _Optional[_Iterable[_Union[Run, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class WatchRunsRequest(_message.Message):
    __slots__ = ("run_ids",)
    RUN_IDS_FIELD_NUMBER: _ClassVar[int]
    run_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class Explanation(_message.Message):
    __slots__ = ("sentences", "estimated_start", "assumption", "queue_position")
    SENTENCES_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_START_FIELD_NUMBER: _ClassVar[int]
    ASSUMPTION_FIELD_NUMBER: _ClassVar[int]
    QUEUE_POSITION_FIELD_NUMBER: _ClassVar[int]
    sentences: _containers.RepeatedScalarFieldContainer[str]
    estimated_start: _timestamp_pb2.Timestamp
    assumption: str
    queue_position: int
    def __init__(self, sentences: _Optional[_Iterable[str]] = ..., estimated_start: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., assumption: _Optional[str] = ..., queue_position: _Optional[int] = ...) -> None: ...

class Quota(_message.Message):
    __slots__ = ("cpus", "memory_mb", "gpus")
    CPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MB_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    cpus: float
    memory_mb: int
    gpus: float
    def __init__(self, cpus: _Optional[float] = ..., memory_mb: _Optional[int] = ..., gpus: _Optional[float] = ...) -> None: ...

class Team(_message.Message):
    __slots__ = ("name", "weight", "quota", "max_running", "max_queued", "max_running_per_user", "max_queued_per_user", "max_gpus_per_user", "max_wall_s", "lending_limit_gpus", "borrowing_limit_gpus")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    MAX_RUNNING_FIELD_NUMBER: _ClassVar[int]
    MAX_QUEUED_FIELD_NUMBER: _ClassVar[int]
    MAX_RUNNING_PER_USER_FIELD_NUMBER: _ClassVar[int]
    MAX_QUEUED_PER_USER_FIELD_NUMBER: _ClassVar[int]
    MAX_GPUS_PER_USER_FIELD_NUMBER: _ClassVar[int]
    MAX_WALL_S_FIELD_NUMBER: _ClassVar[int]
    LENDING_LIMIT_GPUS_FIELD_NUMBER: _ClassVar[int]
    BORROWING_LIMIT_GPUS_FIELD_NUMBER: _ClassVar[int]
    name: str
    weight: float
    quota: Quota
    max_running: int
    max_queued: int
    max_running_per_user: int
    max_queued_per_user: int
    max_gpus_per_user: float
    max_wall_s: float
    lending_limit_gpus: float
    borrowing_limit_gpus: float
    def __init__(self, name: _Optional[str] = ..., weight: _Optional[float] = ..., quota: _Optional[_Union[Quota, _Mapping]] = ..., max_running: _Optional[int] = ..., max_queued: _Optional[int] = ..., max_running_per_user: _Optional[int] = ..., max_queued_per_user: _Optional[int] = ..., max_gpus_per_user: _Optional[float] = ..., max_wall_s: _Optional[float] = ..., lending_limit_gpus: _Optional[float] = ..., borrowing_limit_gpus: _Optional[float] = ...) -> None: ...

class SetTeamRequest(_message.Message):
    __slots__ = ("team", "terms")
    TEAM_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    team: Team
    terms: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, team: _Optional[_Union[Team, _Mapping]] = ..., terms: _Optional[_Iterable[str]] = ...) -> None: ...

class ListTeamsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListTeamsResponse(_message.Message):
    __slots__ = ("teams",)
    TEAMS_FIELD_NUMBER: _ClassVar[int]
    teams: _containers.RepeatedCompositeFieldContainer[Team]
    def __init__(self, teams: _Optional[_Iterable[_Union[Team, _Mapping]]] = ...) -> None: ...

class Secret(_message.Message):
    __slots__ = ("name", "team", "user", "updated_at")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEAM_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    name: str
    team: str
    user: str
    updated_at: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., team: _Optional[str] = ..., user: _Optional[str] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SetSecretRequest(_message.Message):
    __slots__ = ("name", "value", "team")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    TEAM_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    team: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ..., team: _Optional[str] = ...) -> None: ...

class ListSecretsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListSecretsResponse(_message.Message):
    __slots__ = ("secrets",)
    SECRETS_FIELD_NUMBER: _ClassVar[int]
    secrets: _containers.RepeatedCompositeFieldContainer[Secret]
    def __init__(self, secrets: _Optional[_Iterable[_Union[Secret, _Mapping]]] = ...) -> None: ...

class DeleteSecretRequest(_message.Message):
    __slots__ = ("name", "team")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEAM_FIELD_NUMBER: _ClassVar[int]
    name: str
    team: str
    def __init__(self, name: _Optional[str] = ..., team: _Optional[str] = ...) -> None: ...

class DeleteSecretResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ClaimRequest(_message.Message):
    __slots__ = ("run_id", "attempt", "agent_id", "session_token")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    attempt: int
    agent_id: str
    session_token: str
    def __init__(self, run_id: _Optional[str] = ..., attempt: _Optional[int] = ..., agent_id: _Optional[str] = ..., session_token: _Optional[str] = ...) -> None: ...

class GpuShare(_message.Message):
    __slots__ = ("gpu_id", "share", "memory_mb")
    GPU_ID_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MB_FIELD_NUMBER: _ClassVar[int]
    gpu_id: str
    share: float
    memory_mb: int
    def __init__(self, gpu_id: _Optional[str] = ..., share: _Optional[float] = ..., memory_mb: _Optional[int] = ...) -> None: ...

class Lease(_message.Message):
    __slots__ = ("cpus", "memory_mb", "gpus")
    CPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MB_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    cpus: float
    memory_mb: int
    gpus: _containers.RepeatedCompositeFieldContainer[GpuShare]
    def __init__(self, cpus: _Optional[float] = ..., memory_mb: _Optional[int] = ..., gpus: _Optional[_Iterable[_Union[GpuShare, _Mapping]]] = ...) -> None: ...

class Launch(_message.Message):
    __slots__ = ("run_id", "attempt", "secrets", "control_token", "event_key", "hang_limit_s", "grace_s", "lease_for_s", "resume_from", "spec", "lease")
    class SecretsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    SECRETS_FIELD_NUMBER: _ClassVar[int]
    CONTROL_TOKEN_FIELD_NUMBER: _ClassVar[int]
    EVENT_KEY_FIELD_NUMBER: _ClassVar[int]
    HANG_LIMIT_S_FIELD_NUMBER: _ClassVar[int]
    GRACE_S_FIELD_NUMBER: _ClassVar[int]
    LEASE_FOR_S_FIELD_NUMBER: _ClassVar[int]
    RESUME_FROM_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    attempt: int
    secrets: _containers.ScalarMap[str, str]
    control_token: str
    event_key: str
    hang_limit_s: float
    grace_s: float
    lease_for_s: float
    resume_from: str
    spec: RunSpec
    lease: Lease
    def __init__(self, run_id: _Optional[str] = ..., attempt: _Optional[int] = ..., secrets: _Optional[_Mapping[str, str]] = ..., control_token: _Optional[str] = ..., event_key: _Optional[str] = ..., hang_limit_s: _Optional[float] = ..., grace_s: _Optional[float] = ..., lease_for_s: _Optional[float] = ..., resume_from: _Optional[str] = ..., spec: _Optional[_Union[RunSpec, _Mapping]] = ..., lease: _Optional[_Union[Lease, _Mapping]] = ...) -> None: ...

class RenewRequest(_message.Message):
    __slots__ = ("agent_id", "session_token", "held")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    session_token: str
    held: _containers.RepeatedCompositeFieldContainer[HeldAttempt]
    def __init__(self, agent_id: _Optional[str] = ..., session_token: _Optional[str] = ..., held: _Optional[_Iterable[_Union[HeldAttempt, _Mapping]]] = ...) -> None: ...

class HeldAttempt(_message.Message):
    __slots__ = ("run_id", "attempt", "control_token")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    CONTROL_TOKEN_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    attempt: int
    control_token: str
    def __init__(self, run_id: _Optional[str] = ..., attempt: _Optional[int] = ..., control_token: _Optional[str] = ...) -> None: ...

class RenewResponse(_message.Message):
    __slots__ = ("directives",)
    DIRECTIVES_FIELD_NUMBER: _ClassVar[int]
    directives: _containers.RepeatedCompositeFieldContainer[AttemptDirective]
    def __init__(self, directives: _Optional[_Iterable[_Union[AttemptDirective, _Mapping]]] = ...) -> None: ...

class AttemptDirective(_message.Message):
    __slots__ = ("run_id", "attempt", "directive")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    attempt: int
    directive: Directive
    def __init__(self, run_id: _Optional[str] = ..., attempt: _Optional[int] = ..., directive: _Optional[_Union[Directive, str]] = ...) -> None: ...

class ReportRequest(_message.Message):
    __slots__ = ("run_id", "attempt", "control_token", "fact", "failure_kind", "reason", "exit_code", "last_seq", "checkpoint", "checkpoint_at", "versions")
    class VersionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    CONTROL_TOKEN_FIELD_NUMBER: _ClassVar[int]
    FACT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_KIND_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_AT_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    attempt: int
    control_token: str
    fact: str
    failure_kind: str
    reason: str
    exit_code: int
    last_seq: int
    checkpoint: str
    checkpoint_at: _timestamp_pb2.Timestamp
    versions: _containers.ScalarMap[str, str]
    def __init__(self, run_id: _Optional[str] = ..., attempt: _Optional[int] = ..., control_token: _Optional[str] = ..., fact: _Optional[str] = ..., failure_kind: _Optional[str] = ..., reason: _Optional[str] = ..., exit_code: _Optional[int] = ..., last_seq: _Optional[int] = ..., checkpoint: _Optional[str] = ..., checkpoint_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., versions: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ReportResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
