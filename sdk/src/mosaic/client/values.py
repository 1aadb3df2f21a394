"""What the platform tells about runs, as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mosaic.lifecycle import AttemptState, RunState, is_terminal


@dataclass(frozen=True, slots=True)
class Resources:
    """What a run asks for; 0 leaves it to the worker's own estimate."""

    cpus: float = 0.0
    memory_mb: int = 0
    gpus: int = 0
    gpu_fraction: float = 0.0
    gpu_memory_mb: int = 0


@dataclass(frozen=True, slots=True)
class Submission:
    """What a person asks for: one worker, one config, and a seed or several."""

    worker: str
    config: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    #: One run for each; empty = one run with `seed`.
    seeds: tuple[int, ...] = ()
    name: str = ""
    team: str = ""
    user: str = ""
    priority: str = "normal"
    resources: Resources = Resources()
    max_wall_s: float = 0.0
    #: Crashes that are tried again; -1 = the platform's default.
    max_retries: int = -1
    hang_limit_s: float = 0.0
    labels: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    not_before: datetime | None = None
    #: A repeated submit with the same key returns the runs of the first.
    idempotency_key: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it stands."""

    run_id: str
    worker: str
    state: RunState
    attempt: int
    name: str
    team: str
    user: str
    priority: str
    seed: int | None
    config: Mapping[str, Any]
    reason_code: str
    reason: str
    submitted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    config_digest: str
    agent_id: str
    node_id: str
    gpu_ids: tuple[str, ...]
    labels: Mapping[str, str]
    resources: Resources

    @property
    def has_ended(self) -> bool:
        """Tell whether nothing more will happen to it."""
        return is_terminal(self.state)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One execution of a run."""

    attempt: int
    state: AttemptState
    agent_id: str
    node_id: str
    gpu_ids: tuple[str, ...]
    admitted_at: datetime | None
    claimed_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    failure_kind: str
    reason: str
    exit_code: int | None
    last_seq: int
    resumed_from: str


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a run's history."""

    at: datetime | None
    attempt: int
    fact: str
    before: str
    after: str
    actor: str
    detail: str


@dataclass(frozen=True, slots=True)
class RunDetail:
    """A run with its attempts and its history."""

    run: Run
    attempts: tuple[Attempt, ...]
    history: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a run waits, and when it may start."""

    sentences: tuple[str, ...]
    estimated_start: datetime | None
    assumption: str
    queue_position: int


@dataclass(frozen=True, slots=True)
class EventLine:
    """One stamped line of a run, as the worker wrote it."""

    attempt: int
    seq: int
    time: float
    kind: str
    line: bytes

    def as_json(self) -> dict[str, Any]:
        """Return the event with its stamp; text that is no JSON object stands under ``text``."""
        try:
            event = json.loads(self.line)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            event = {"text": self.line.decode("utf-8", "replace")}
        return {
            "attempt": self.attempt,
            "seq": self.seq,
            "time": self.time,
            "kind": self.kind,
            "event": event,
        }


@dataclass(frozen=True, slots=True)
class SeriesInfo:
    """A curve that can be read."""

    name: str
    agent: str
    attempt: int
    count: int
    last_step: float
    last_value: float
    min_value: float
    max_value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve in buckets: where several points fell into one, its extremes are kept."""

    name: str
    agent: str
    unit: str
    total_points: int
    steps: tuple[float, ...]
    means: tuple[float, ...]
    minima: tuple[float, ...]
    maxima: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Episode:
    """One finished episode."""

    attempt: int
    seq: int
    index: int
    agent: str
    episode_return: float
    length: int
    step: float
    time: float


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of log text."""

    attempt: int
    seq: int
    time: float
    stream: str
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The newest numbers of a run."""

    run_id: str
    events: int
    last_step: float
    steps_per_s: float
    #: Mean return of the newest episodes; None before the first.
    mean_return: float | None
    episodes: int
    last_event_at: datetime | None
    is_sealed: bool


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU of a node."""

    gpu_id: str
    model: str
    memory_mb: int
    healthy: bool
    index: int


@dataclass(frozen=True, slots=True)
class Node:
    """A machine whose agents share its CPUs, memory and GPUs."""

    node_id: str
    hostname: str
    cpus: int
    memory_mb: int
    gpus: tuple[Gpu, ...]
    draining: bool
    #: Some agent of it has been heard within its deadline.
    alive: bool


@dataclass(frozen=True, slots=True)
class Agent:
    """Who executes the runs of one worker on a node."""

    agent_id: str
    node_id: str
    worker: str
    worker_version: str
    #: Attempts at once.
    slots: int
    queue: str
    draining: bool
    alive: bool
    last_heartbeat: datetime | None
    protocol_version: str


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker as its agents announced it."""

    name: str
    version: str
    description: str
    upstream_library: str
    upstream_version: str
    metadata: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    #: JSON Schema of its config.
    config_schema: Mapping[str, Any]
    image: str
    versions: Mapping[str, str]
    #: How faithfully it continues from a checkpoint: A, B, C, or nothing if that was not found out.
    resume_grade: str
    updated_at: datetime | None
    #: Arguments after the interpreter.
    launch: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fleet:
    """Machines, agents and workers as they stand."""

    nodes: tuple[Node, ...]
    agents: tuple[Agent, ...]
    workers: tuple[Worker, ...]
    #: Grows with every change.
    revision: int


@dataclass(frozen=True, slots=True)
class Team:
    """The terms of a team; 0 = no limit, where nothing else is said."""

    name: str
    weight: float
    #: What it is guaranteed.
    gpus: int
    cpus: float
    memory_mb: int
    #: Idle GPUs others may use, and GPUs it may borrow; -1 = any number.
    lending_limit_gpus: int
    borrowing_limit_gpus: int
    max_running: int
    max_queued: int
    max_running_per_user: int
    max_queued_per_user: int
    max_gpus_per_user: float
    #: Longest any attempt of it may take.
    max_wall_s: float


@dataclass(frozen=True, slots=True)
class TeamTerms:
    """Terms to be set, as in `Team`; None leaves one as it is."""

    weight: float | None = None
    gpus: int | None = None
    cpus: float | None = None
    memory_mb: int | None = None
    lending_limit_gpus: int | None = None
    borrowing_limit_gpus: int | None = None
    max_running: int | None = None
    max_queued: int | None = None
    max_running_per_user: int | None = None
    max_queued_per_user: int | None = None
    max_gpus_per_user: float | None = None
    max_wall_s: float | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of an ended run."""

    run_id: str
    content: Mapping[str, Any]
    digest: str
    path: str
