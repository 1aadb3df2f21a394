"""What training produces: metrics, episodes, steps, log text, artifacts, and kinds we do not know."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from mosaic.events.envelope import Event, Payload


class MetricPoint(Payload):
    """One value of one series."""

    name: str
    #: Not-a-number and infinity are values too: they are how divergence shows.
    value: float
    step: float
    #: What ``step`` counts.
    unit: str | None = None
    agent: str | None = None


class EpisodeResult(Payload):
    """How one episode went."""

    #: None when the line names no episode in any of the known ways.
    episode_index: int | None = None
    total_reward: float
    #: Its length.
    steps: int | None = None
    #: Where in training it ended, counted like the steps of metrics.
    step: float | None = None
    #: Whose share of a team's episode it is; None for an episode of the run itself.
    agent_id: str | None = None
    #: It was played to judge what was learned, not to learn; ``is_eval`` and ``is_evaluation`` are read too.
    evaluation: bool | None = None
    terminated: bool | None = None
    truncated: bool | None = None
    seed: int | None = None


class StepTaken(Payload):
    """One step of one environment."""

    episode_index: int | None = None
    step_index: int | None = None
    reward: float | None = None
    terminated: bool | None = None
    truncated: bool | None = None
    agent_id: str | None = None
    action: Any = None
    observation: Any = None
    info: Any = None


class LogText(Payload):
    """Text for people."""

    text: str
    level: str = "info"
    #: ``stdout``, ``stderr`` or a name of the worker's choice.
    stream: str | None = None


class ArtifactFile(Payload):
    """A file or folder worth keeping."""

    path: str
    #: ``checkpoint``, ``tensorboard``, ``video``, ...; an open vocabulary.
    kind: str = "file"
    sha256: str | None = None
    size_bytes: int | None = None


class Metric(Event):
    """A series has a new value."""

    event: Literal["metric"] = "metric"
    payload: MetricPoint


class Episode(Event):
    """An episode ended."""

    event: Literal["episode"] = "episode"
    payload: EpisodeResult


class Step(Event):
    """An environment made a step; the only kind that may be thinned under pressure."""

    event: Literal["step"] = "step"
    payload: StepTaken = Field(default_factory=StepTaken)


class Log(Event):
    """The worker, or the agent for its stderr, says something to people."""

    event: Literal["log"] = "log"
    payload: LogText


class Artifact(Event):
    """A file is ready."""

    event: Literal["artifact"] = "artifact"
    payload: ArtifactFile


class Custom(Event):
    """A kind this version does not know, kept whole."""

    event: Literal["custom"] = "custom"
    #: The word the worker used.
    kind: str
    payload: dict[str, Any] = Field(default_factory=dict)
