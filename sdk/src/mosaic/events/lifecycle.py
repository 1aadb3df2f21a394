"""What a worker says about its own life. Payloads are free-form; the fields are those worth agreeing on."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from mosaic.events.envelope import Event, Payload
from mosaic.events.tolerant import as_number_or_none, as_text_or_none

#: Any JSON value, read as text: a worker that reports an error must not fail on its type.
LooseText = Annotated[str | None, BeforeValidator(as_text_or_none)]
#: A number, or None when what was sent is not one.
LooseNumber = Annotated[float | None, BeforeValidator(as_number_or_none)]


class Start(Payload):
    """What is about to be trained."""

    worker_type: LooseText = None
    algo: LooseText = None
    env_id: LooseText = None
    seed: Any = None
    config: Any = None


class Completion(Payload):
    """What came out of a run that reached its end."""

    episodes: LooseNumber = None
    total_reward: LooseNumber = None
    duration_seconds: LooseNumber = None
    final_metrics: Any = None


class Failure(Payload):
    """Why the worker gave up."""

    error: LooseText = None
    error_type: LooseText = None
    traceback: LooseText = None
    episode: LooseNumber = None
    step: LooseNumber = None


class Cancellation(Payload):
    """Why the worker stopped early, and how far it came."""

    reason: LooseText = None
    completed_episodes: LooseNumber = None
    partial_results: Any = None


class Pulse(Payload):
    """How far training is; that it arrives is what counts."""

    episode: LooseNumber = None
    step: LooseNumber = None
    memory_mb: LooseNumber = None
    cpu_percent: LooseNumber = None


class Checkpoint(Payload):
    """A state that training can continue from."""

    #: As the worker sees it; relative paths start at the run directory. ``path`` is read too.
    checkpoint_path: LooseText = None
    episode: LooseNumber = None
    step: LooseNumber = None
    metrics: Any = None
    #: What it was trained on and with: worker, library, library_version, algo, env_id, step, seed, settings_digest.
    passport: Any = None


class Settings(Payload):
    """What really runs, once the worker's presets and its library's defaults are in."""

    #: Name -> ``{"value": ..., "origin": "asked" | "preset" | "default"}``.
    settings: dict[str, Any] = Field(default_factory=dict)
    seed: Any = None
    env_id: LooseText = None
    algo: LooseText = None


class RunStarted(Event):
    """The worker has begun."""

    event: Literal["run_started"] = "run_started"
    payload: Start = Field(default_factory=Start)


class RunCompleted(Event):
    """The worker reached its end."""

    event: Literal["run_completed"] = "run_completed"
    payload: Completion = Field(default_factory=Completion)


class RunFailed(Event):
    """The worker gave up."""

    event: Literal["run_failed"] = "run_failed"
    payload: Failure = Field(default_factory=Failure)


class RunCancelled(Event):
    """The worker stopped because it was asked to."""

    event: Literal["run_cancelled"] = "run_cancelled"
    payload: Cancellation = Field(default_factory=Cancellation)


class Heartbeat(Event):
    """The worker is alive."""

    event: Literal["heartbeat"] = "heartbeat"
    payload: Pulse = Field(default_factory=Pulse)


class CheckpointSaved(Event):
    """A checkpoint is complete on disk."""

    event: Literal["checkpoint_saved"] = "checkpoint_saved"
    payload: Checkpoint = Field(default_factory=Checkpoint)


class CheckpointLoaded(Event):
    """Training continues from a checkpoint."""

    event: Literal["checkpoint_loaded"] = "checkpoint_loaded"
    payload: Checkpoint = Field(default_factory=Checkpoint)


class SettingsResolved(Event):
    """The worker knows every setting it trains with, and where each comes from."""

    event: Literal["settings_resolved"] = "settings_resolved"
    payload: Settings = Field(default_factory=Settings)
