"""Frames, beginnings and ends of runs as messages: what an agent and the scheduler publish, and telemetry consumes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mosaic.errors import BadInput
from mosaic.events.frame import EncodedFrame
from mosaic.events.proof import EventKey
from mosaic.ids import is_id
from mosaic.messaging.publisher import Message, Publisher
from mosaic.messaging.topology import DEFAULT_SHARDS, EVENTS, event_routing_key
from mosaic.model.attempt import RunFinished
from mosaic.model.codec import from_json, to_json
from mosaic.model.run import RunAccepted

#: Header that tells the kinds of message apart.
KIND = "kind"
FRAME = "frame"
RUN_ACCEPTED = "run_accepted"
RUN_FINISHED = "run_finished"
#: Header that shows who sent it, see `mosaic.events.proof`.
PROOF = "proof"


def kind_of(headers: Mapping[str, Any]) -> str:
    """Return what kind of message has *headers*, which may hold anything."""
    return str(headers.get(KIND, ""))


def frame_message(frame: EncodedFrame, shards: int = DEFAULT_SHARDS) -> Message:
    """Return *frame* as a message to the shard of its run, with the proof of whose it is."""
    headers: dict[str, str | int] = {
        KIND: FRAME,
        "run_id": frame.run_id,
        "attempt": frame.attempt,
        "first_seq": frame.first_seq,
        "count": frame.count,
        PROOF: frame.proof,
    }
    return Message(EVENTS, event_routing_key(frame.run_id, shards), frame.body, headers)


def read_frame(headers: Mapping[str, Any], body: bytes) -> EncodedFrame:
    """Return what `frame_message` wrote; headers that it would not write prove nothing."""
    run_id, proof = (str(headers.get(name, "")) for name in ("run_id", PROOF))
    attempt, first_seq, count = (_number(headers.get(name)) for name in ("attempt", "first_seq", "count"))
    return EncodedFrame(run_id, attempt, first_seq, count, body, proof)


def run_finished_message(finished: RunFinished, key: EventKey, shards: int = DEFAULT_SHARDS) -> Message:
    """Return *finished* as a message to the shard of its run, behind its events."""
    run_id = finished.run.run_id
    body = json.dumps(to_json(finished)).encode()
    headers: dict[str, str | int] = {KIND: RUN_FINISHED, "run_id": run_id, PROOF: key.sign(RUN_FINISHED, body)}
    return Message(EVENTS, event_routing_key(run_id, shards), body, headers, "application/json")


def run_accepted_message(accepted: RunAccepted, key: EventKey, shards: int = DEFAULT_SHARDS) -> Message:
    """Return *accepted* as a message to the shard of its run, before its events."""
    body = json.dumps(to_json(accepted)).encode()
    headers: dict[str, str | int] = {KIND: RUN_ACCEPTED, "run_id": accepted.run_id}
    headers[PROOF] = key.sign(RUN_ACCEPTED, body)
    return Message(EVENTS, event_routing_key(accepted.run_id, shards), body, headers, "application/json")


def read_run_accepted(body: bytes) -> RunAccepted:
    """Return what `run_accepted_message` wrote.

    Raises:
        BadInput: lists everything that is wrong with it.

    """
    return from_json(RunAccepted, _object(body, "accepted run"))


def read_run_finished(body: bytes) -> RunFinished:
    """Return what `run_finished_message` wrote.

    Raises:
        BadInput: lists everything that is wrong with it.

    """
    finished = from_json(RunFinished, _object(body, "end of a run"))
    # Files are named after it.
    if not is_id(finished.run.run_id):
        raise BadInput("end of a run", [f"run.run_id: {finished.run.run_id[:100]!r} is not an id"])
    return finished


def _object(body: bytes, what: str) -> dict[str, Any]:
    try:
        data = json.loads(body)
    except ValueError as error:
        raise BadInput(what, [f"it is not JSON: {error}"]) from error
    if not isinstance(data, dict):
        raise BadInput(what, [f"it is not an object but {type(data).__name__}"])
    return data


def _number(value: object) -> int:
    return value if type(value) is int else 0


class BrokerFrameSink:
    """Sends frames to the telemetry service through RabbitMQ. A `mosaic.events.frame.FrameSink`."""

    def __init__(self, publisher: Publisher, *, shards: int = DEFAULT_SHARDS, timeout_s: float = 10.0) -> None:
        self._publisher = publisher
        self._shards = shards
        self._timeout_s = timeout_s

    def send(self, frames: Sequence[EncodedFrame]) -> Sequence[int]:
        """Publish *frames* and return the indexes of those the broker keeps.

        Raises:
            BrokerUnavailable: nothing was confirmed.

        """
        messages = [frame_message(frame, self._shards) for frame in frames]
        return self._publisher.publish(messages, timeout_s=self._timeout_s)
