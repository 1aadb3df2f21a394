"""Stand-ins and builders for the tests of telemetry."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from mosaic.events.frame import EncodedFrame, Frame, encode
from mosaic.events.sealed import RunSealed, SealedAttempt

RUN = "run-1"
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


def episode(number: int, total_reward: float, *, steps: int = 10, step: float | None = None) -> bytes:
    return line("episode", episode_index=number, total_reward=total_reward, steps=steps, step=step)


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
    body = packed(lines, first_seq=first_seq, run_id=run_id, attempt=attempt)
    return EncodedFrame(run_id, attempt, first_seq, len(lines), body)


def a_seal(*last_seqs: int, run_id: str = RUN, outcome: str = "succeeded", **more: object) -> RunSealed:
    """The seal of a run with one attempt per given last sequence number."""
    attempts = [
        SealedAttempt(
            attempt=number,
            state="succeeded" if number == len(last_seqs) else "failed",
            last_seq=last_seq,
            started_at=NOON,
            agent_id="agent-1",
            node_id="node-1",
        )
        for number, last_seq in enumerate(last_seqs, start=1)
    ]
    spec = {"worker": "reference", "config": {"b": 2, "a": 1}, "seed": 7}
    return RunSealed.model_validate(
        {"run_id": run_id, "outcome": outcome, "spec": spec, "attempts": attempts, "ended_at": NOON, **more}
    )
