import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Position(_message.Message):
    __slots__ = ("attempt", "seq")
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    attempt: int
    seq: int
    def __init__(self, attempt: _Optional[int] = ..., seq: _Optional[int] = ...) -> None: ...

class ReadEventsRequest(_message.Message):
    __slots__ = ("run_id", "attempt", "kinds", "follow", "limit")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    attempt: int
    kinds: _containers.RepeatedScalarFieldContainer[str]
    follow: bool
    limit: int
    def __init__(self, run_id: _Optional[str] = ..., attempt: _Optional[int] = ..., kinds: _Optional[_Iterable[str]] = ..., follow: _Optional[bool] = ..., limit: _Optional[int] = ..., **kwargs) -> None: ...

class StampedLine(_message.Message):
    __slots__ = ("seq", "time", "kind", "line")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    seq: int
    time: float
    kind: str
    line: bytes
    def __init__(self, seq: _Optional[int] = ..., time: _Optional[float] = ..., kind: _Optional[str] = ..., line: _Optional[bytes] = ...) -> None: ...

class EventChunk(_message.Message):
    __slots__ = ("run_id", "attempt", "lines", "finished")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    attempt: int
    lines: _containers.RepeatedCompositeFieldContainer[StampedLine]
    finished: bool
    def __init__(self, run_id: _Optional[str] = ..., attempt: _Optional[int] = ..., lines: _Optional[_Iterable[_Union[StampedLine, _Mapping]]] = ..., finished: _Optional[bool] = ...) -> None: ...

class SeriesKey(_message.Message):
    __slots__ = ("name", "agent")
    NAME_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    name: str
    agent: str
    def __init__(self, name: _Optional[str] = ..., agent: _Optional[str] = ...) -> None: ...

class SeriesInfo(_message.Message):
    __slots__ = ("key", "attempt", "count", "last_step", "last_value", "min_value", "max_value", "unit")
    KEY_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_STEP_FIELD_NUMBER: _ClassVar[int]
    LAST_VALUE_FIELD_NUMBER: _ClassVar[int]
    MIN_VALUE_FIELD_NUMBER: _ClassVar[int]
    MAX_VALUE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    key: SeriesKey
    attempt: int
    count: int
    last_step: float
    last_value: float
    min_value: float
    max_value: float
    unit: str
    def __init__(self, key: _Optional[_Union[SeriesKey, _Mapping]] = ..., attempt: _Optional[int] = ..., count: _Optional[int] = ..., last_step: _Optional[float] = ..., last_value: _Optional[float] = ..., min_value: _Optional[float] = ..., max_value: _Optional[float] = ..., unit: _Optional[str] = ...) -> None: ...

class ListSeriesRequest(_message.Message):
    __slots__ = ("run_id", "attempt")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    attempt: int
    def __init__(self, run_id: _Optional[str] = ..., attempt: _Optional[int] = ...) -> None: ...

class ListSeriesResponse(_message.Message):
    __slots__ = ("series",)
    SERIES_FIELD_NUMBER: _ClassVar[int]
    series: _containers.RepeatedCompositeFieldContainer[SeriesInfo]
    def __init__(self, series: _Optional[_Iterable[_Union[SeriesInfo, _Mapping]]] = ...) -> None: ...

class ReadSeriesRequest(_message.Message):
    __slots__ = ("run_id", "key", "resolution", "from_step", "to_step", "attempt", "x", "log_x", "smoothing")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    FROM_STEP_FIELD_NUMBER: _ClassVar[int]
    TO_STEP_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    LOG_X_FIELD_NUMBER: _ClassVar[int]
    SMOOTHING_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    key: SeriesKey
    resolution: int
    from_step: float
    to_step: float
    attempt: int
    x: str
    log_x: bool
    smoothing: float
    def __init__(self, run_id: _Optional[str] = ..., key: _Optional[_Union[SeriesKey, _Mapping]] = ..., resolution: _Optional[int] = ..., from_step: _Optional[float] = ..., to_step: _Optional[float] = ..., attempt: _Optional[int] = ..., x: _Optional[str] = ..., log_x: _Optional[bool] = ..., smoothing: _Optional[float] = ...) -> None: ...

class ReadSeriesResponse(_message.Message):
    __slots__ = ("steps", "means", "minima", "maxima", "counts", "total_points", "unit", "lasts", "smoothed")
    STEPS_FIELD_NUMBER: _ClassVar[int]
    MEANS_FIELD_NUMBER: _ClassVar[int]
    MINIMA_FIELD_NUMBER: _ClassVar[int]
    MAXIMA_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_POINTS_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    LASTS_FIELD_NUMBER: _ClassVar[int]
    SMOOTHED_FIELD_NUMBER: _ClassVar[int]
    steps: _containers.RepeatedScalarFieldContainer[float]
    means: _containers.RepeatedScalarFieldContainer[float]
    minima: _containers.RepeatedScalarFieldContainer[float]
    maxima: _containers.RepeatedScalarFieldContainer[float]
    counts: _containers.RepeatedScalarFieldContainer[int]
    total_points: int
    unit: str
    lasts: _containers.RepeatedScalarFieldContainer[float]
    smoothed: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, steps: _Optional[_Iterable[float]] = ..., means: _Optional[_Iterable[float]] = ..., minima: _Optional[_Iterable[float]] = ..., maxima: _Optional[_Iterable[float]] = ..., counts: _Optional[_Iterable[int]] = ..., total_points: _Optional[int] = ..., unit: _Optional[str] = ..., lasts: _Optional[_Iterable[float]] = ..., smoothed: _Optional[_Iterable[float]] = ...) -> None: ...

class Episode(_message.Message):
    __slots__ = ("attempt", "seq", "index", "agent", "episode_return", "length", "step", "time", "kind", "counted")
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    EPISODE_RETURN_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    attempt: int
    seq: int
    index: int
    agent: str
    episode_return: float
    length: int
    step: float
    time: float
    kind: str
    counted: bool
    def __init__(self, attempt: _Optional[int] = ..., seq: _Optional[int] = ..., index: _Optional[int] = ..., agent: _Optional[str] = ..., episode_return: _Optional[float] = ..., length: _Optional[int] = ..., step: _Optional[float] = ..., time: _Optional[float] = ..., kind: _Optional[str] = ..., counted: _Optional[bool] = ...) -> None: ...

class ReadEpisodesRequest(_message.Message):
    __slots__ = ("run_id", "attempt", "after", "last", "kind", "include_lost")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_LOST_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    attempt: int
    after: Position
    last: int
    kind: str
    include_lost: bool
    def __init__(self, run_id: _Optional[str] = ..., attempt: _Optional[int] = ..., after: _Optional[_Union[Position, _Mapping]] = ..., last: _Optional[int] = ..., kind: _Optional[str] = ..., include_lost: _Optional[bool] = ...) -> None: ...

class ReadEpisodesResponse(_message.Message):
    __slots__ = ("episodes", "total")
    EPISODES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    episodes: _containers.RepeatedCompositeFieldContainer[Episode]
    total: int
    def __init__(self, episodes: _Optional[_Iterable[_Union[Episode, _Mapping]]] = ..., total: _Optional[int] = ...) -> None: ...

class ReadLogsRequest(_message.Message):
    __slots__ = ("run_id", "attempt", "tail", "follow")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TAIL_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    attempt: int
    tail: int
    follow: bool
    def __init__(self, run_id: _Optional[str] = ..., attempt: _Optional[int] = ..., tail: _Optional[int] = ..., follow: _Optional[bool] = ...) -> None: ...

class LogEntry(_message.Message):
    __slots__ = ("seq", "time", "stream", "level", "text")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    seq: int
    time: float
    stream: str
    level: str
    text: str
    def __init__(self, seq: _Optional[int] = ..., time: _Optional[float] = ..., stream: _Optional[str] = ..., level: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class LogChunk(_message.Message):
    __slots__ = ("attempt", "entries", "finished")
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    attempt: int
    entries: _containers.RepeatedCompositeFieldContainer[LogEntry]
    finished: bool
    def __init__(self, attempt: _Optional[int] = ..., entries: _Optional[_Iterable[_Union[LogEntry, _Mapping]]] = ..., finished: _Optional[bool] = ...) -> None: ...

class SummariseRequest(_message.Message):
    __slots__ = ("run_ids",)
    RUN_IDS_FIELD_NUMBER: _ClassVar[int]
    run_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, run_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class RunSummary(_message.Message):
    __slots__ = ("run_id", "events", "last_step", "steps_per_s", "mean_return", "episodes", "last_event_at", "finished", "has_returns", "best_return", "returns_of", "evaluation")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    LAST_STEP_FIELD_NUMBER: _ClassVar[int]
    STEPS_PER_S_FIELD_NUMBER: _ClassVar[int]
    MEAN_RETURN_FIELD_NUMBER: _ClassVar[int]
    EPISODES_FIELD_NUMBER: _ClassVar[int]
    LAST_EVENT_AT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    HAS_RETURNS_FIELD_NUMBER: _ClassVar[int]
    BEST_RETURN_FIELD_NUMBER: _ClassVar[int]
    RETURNS_OF_FIELD_NUMBER: _ClassVar[int]
    EVALUATION_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    events: int
    last_step: float
    steps_per_s: float
    mean_return: float
    episodes: int
    last_event_at: _timestamp_pb2.Timestamp
    finished: bool
    has_returns: bool
    best_return: float
    returns_of: str
    evaluation: EvaluationSummary
    def __init__(self, run_id: _Optional[str] = ..., events: _Optional[int] = ..., last_step: _Optional[float] = ..., steps_per_s: _Optional[float] = ..., mean_return: _Optional[float] = ..., episodes: _Optional[int] = ..., last_event_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finished: _Optional[bool] = ..., has_returns: _Optional[bool] = ..., best_return: _Optional[float] = ..., returns_of: _Optional[str] = ..., evaluation: _Optional[_Union[EvaluationSummary, _Mapping]] = ...) -> None: ...

class EvaluationSummary(_message.Message):
    __slots__ = ("count", "episodes", "mean_return", "step")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    EPISODES_FIELD_NUMBER: _ClassVar[int]
    MEAN_RETURN_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    count: int
    episodes: int
    mean_return: float
    step: float
    def __init__(self, count: _Optional[int] = ..., episodes: _Optional[int] = ..., mean_return: _Optional[float] = ..., step: _Optional[float] = ...) -> None: ...

class SummariseResponse(_message.Message):
    __slots__ = ("summaries", "fault")
    SUMMARIES_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    summaries: _containers.RepeatedCompositeFieldContainer[RunSummary]
    fault: str
    def __init__(self, summaries: _Optional[_Iterable[_Union[RunSummary, _Mapping]]] = ..., fault: _Optional[str] = ...) -> None: ...

class GetManifestRequest(_message.Message):
    __slots__ = ("run_id",)
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    def __init__(self, run_id: _Optional[str] = ...) -> None: ...

class Manifest(_message.Message):
    __slots__ = ("run_id", "json", "digest", "path")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    json: str
    digest: str
    path: str
    def __init__(self, run_id: _Optional[str] = ..., json: _Optional[str] = ..., digest: _Optional[str] = ..., path: _Optional[str] = ...) -> None: ...
