"""Frames and seals as messages: what an agent and the scheduler publish, and telemetry consumes."""

from __future__ import annotations

from collections.abc import Sequence

from mosaic.events.frame import EncodedFrame
from mosaic.events.sealed import RunSealed
from mosaic.messaging.publisher import Message, Publisher
from mosaic.messaging.topology import DEFAULT_SHARDS, EVENTS, event_routing_key

#: Header that tells the two kinds of message apart.
KIND = "kind"
FRAME = "frame"
SEAL = "seal"


def frame_message(frame: EncodedFrame, shards: int = DEFAULT_SHARDS) -> Message:
    """Return *frame* as a message to the shard of its run; its headers help who looks into the queue."""
    headers: dict[str, str | int] = {
        KIND: FRAME,
        "run_id": frame.run_id,
        "attempt": frame.attempt,
        "first_seq": frame.first_seq,
        "count": frame.count,
    }
    return Message(EVENTS, event_routing_key(frame.run_id, shards), frame.body, headers)


def seal_message(seal: RunSealed, shards: int = DEFAULT_SHARDS) -> Message:
    """Return *seal* as a message to the shard of its run, behind its events."""
    headers: dict[str, str | int] = {KIND: SEAL, "run_id": seal.run_id}
    key = event_routing_key(seal.run_id, shards)
    return Message(EVENTS, key, seal.to_json(), headers, "application/json")


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
