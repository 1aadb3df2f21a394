"""Stand-ins and builders for the tests of telemetry."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from mosaic.events.frame import EncodedFrame, Frame, decode, encode
from mosaic.events.packing import FrameUnreadable
from mosaic.events.proof import EventKey, sign
from mosaic.ids import AgentId, NodeId, RunId, WorkerName
from mosaic.lifecycle import AttemptState, RunState
from mosaic.model.attempt import Attempt, RunFinished
from mosaic.model.resources import Lease
from mosaic.model.run import Run, RunSpec

RUN = "run-1"
#: As scheduler and telemetry share it.
EVENT_KEY = "0" * 64
KEY = EventKey(EVENT_KEY)
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


class SteppedClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **span: float) -> None:
        self.now += timedelta(**span)


class InMemoryManifests:
    """A `ManifestStore` that keeps every version it was given."""

    def __init__(self) -> None:
        self.written: dict[str, list[str]] = {}

    def write(self, run_id: str, manifest_json: str) -> str:
        self.written.setdefault(run_id, []).append(manifest_json)
        return f"memory:{run_id}"


def line(event: str, /, **payload: object) -> bytes:
    record = {"event": event, "payload": payload, "run_id": RUN, "timestamp": NOON.timestamp()}
    return json.dumps(record, sort_keys=True).encode()


def metric(value: float, step: float, name: str = "loss", **more: object) -> bytes:
    return line("metric", name=name, value=value, step=step, **more)


def metrics(count: int, *, first: int = 0, name: str = "loss") -> list[bytes]:
    return [metric(number * 0.5, number, name) for number in range(first, first + count)]


def episode(number: int, total_reward: float, *, steps: int = 10, step: float | None = None, **more: object) -> bytes:
    return line("episode", episode_index=number, total_reward=total_reward, steps=steps, step=step, **more)


def saved(step: float | None, path: str = "") -> bytes:
    """The line of a checkpoint at *step*."""
    return line("checkpoint_saved", checkpoint_path=path or f"checkpoints/{step}.pt", step=step)


def resumed(step: float | None, path: str = "") -> list[bytes]:
    """The first lines of an attempt that goes on from the checkpoint at *step*."""
    path = path or f"checkpoints/{step}.pt"
    loaded = line("checkpoint_loaded", checkpoint_path=f"/runs/run-1/{path}", step=step)
    return [line("attempt_started", resumed_from=path), loaded]


def packed(
    lines: Sequence[bytes],
    *,
    first_seq: int = 0,
    run_id: str = RUN,
    attempt: int = 1,
    time: float = 1000.0,
) -> bytes:
    return encode(Frame(run_id, attempt, first_seq, ((len(lines), time),), list(lines)))


def encoded(lines: Sequence[bytes], *, first_seq: int = 0, run_id: str = RUN, attempt: int = 1) -> EncodedFrame:
    return signed(packed(lines, first_seq=first_seq, run_id=run_id, attempt=attempt))


def signed(body: bytes) -> EncodedFrame:
    """Return a packed frame as the agent of its attempt sends it; what is no frame comes from that of `RUN`."""
    try:
        frame = decode(body)
        named = (frame.run_id, frame.attempt, frame.first_seq, len(frame.lines))
    except FrameUnreadable:
        named = (RUN, 1, 0, 1)
    return EncodedFrame(*named, body, sign(KEY.of_attempt(*named[:2]), body))


def a_finished_run(*last_seqs: int, run_id: str = RUN, outcome: str = "succeeded", **more: Any) -> RunFinished:
    """A run that has ended, with one attempt per given last sequence number."""
    attempts = tuple(
        Attempt(
            run_id=RunId(run_id),
            attempt=number,
            state=AttemptState.SUCCEEDED if number == len(last_seqs) else AttemptState.FAILED,
            agent_id=AgentId("agent-1"),
            node_id=NodeId("node-1"),
            lease=Lease(1.0, 0),
            admitted_at=NOON,
            lease_until=NOON,
            last_seq=last_seq,
            started_at=NOON,
        )
        for number, last_seq in enumerate(last_seqs, start=1)
    )
    spec = RunSpec(WorkerName("reference"), {"b": 2, "a": 1}, seed=7)
    run = Run(RunId(run_id), spec, RunState(outcome), NOON, NOON, attempt=len(attempts), ended_at=NOON, **more)
    return RunFinished(run, attempts)
