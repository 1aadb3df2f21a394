"""What the agent itself says about an attempt, in the same stream as the worker's lines."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from mosaic.events.envelope import Event, Payload
from mosaic.events.lifecycle import LooseNumber, LooseText


class MachineFacts(Payload):
    """What the agent says of the machine it runs on."""

    hostname: LooseText = None
    cpus: int | None = None
    memory_mb: int | None = None
    #: One for each GPU of the attempt.
    gpu_models: list[str] = Field(default_factory=list)


class AttemptStart(Payload):
    """Where and as what the child was started."""

    attempt: int | None = None
    worker: LooseText = None
    agent: LooseText = None
    node: LooseText = None
    pid: int | None = None
    gpus: list[str] = Field(default_factory=list)
    #: Host name, CPUs, memory and GPU models of the node.
    machine: MachineFacts | None = None
    versions: dict[str, Any] = Field(default_factory=dict)
    #: What it runs in: every package, the digest of the lock, version and commit of worker and platform.
    environment: dict[str, Any] = Field(default_factory=dict)
    #: The checkpoint it continues from, if any.
    resumed_from: LooseText = None


class AttemptEnd(Payload):
    """How it ended."""

    #: A terminal attempt state.
    outcome: str
    #: Negative when a signal ended the child; None when it never started.
    exit_code: int | None = None
    #: From the retry taxonomy; None unless the outcome is ``failed``.
    failure_kind: LooseText = None
    reason: LooseText = None
    node: LooseText = None
    gpus: list[str] = Field(default_factory=list)
    #: Host name, CPUs, memory and GPU models of the node.
    machine: MachineFacts | None = None
    versions: dict[str, Any] = Field(default_factory=dict)


class Starvation(Payload):
    """Why steps are being thinned."""

    spool_bytes: LooseNumber = None
    limit_bytes: LooseNumber = None
    #: One step of this many is kept from here on.
    keep_every: LooseNumber = None


class Relief(Payload):
    """What the thinning cost."""

    dropped_steps: int = 0


class BrokenLine(Payload):
    """Which promise of the line protocol a worker broke."""

    reason: str
    #: The beginning of the line.
    text: LooseText = None


class AttemptStarted(Event):
    """The agent has started the child."""

    event: Literal["attempt_started"] = "attempt_started"
    payload: AttemptStart = Field(default_factory=AttemptStart)


class AttemptEnded(Event):
    """The child and all it started are gone; the last line of its stream."""

    event: Literal["attempt_ended"] = "attempt_ended"
    payload: AttemptEnd


class TelemetryStarved(Event):
    """The spool is over its limit: from here on steps, and only steps, are thinned."""

    event: Literal["telemetry_starved"] = "telemetry_starved"
    payload: Starvation = Field(default_factory=Starvation)


class TelemetryResumed(Event):
    """Every line is kept again."""

    event: Literal["telemetry_resumed"] = "telemetry_resumed"
    payload: Relief = Field(default_factory=Relief)


class ProtocolViolated(Event):
    """The agent could not use a line as what it claims to be."""

    event: Literal["protocol_violated"] = "protocol_violated"
    payload: BrokenLine
