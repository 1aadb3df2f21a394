"""How telemetry hears whose a run is, and that it has ended: through the broker."""

from __future__ import annotations

from collections.abc import Sequence

from mosaic.errors import QueueUnavailable
from mosaic.events.proof import EventKey
from mosaic.messaging.event_messages import run_accepted_message, run_finished_message
from mosaic.messaging.publisher import Message, Publisher
from mosaic.messaging.topology import EVENTS
from mosaic.model.attempt import RunFinished
from mosaic.model.run import RunAccepted

_DEADLINE_S = 5.0


class BrokerTelemetry:
    """For a cluster: whose a run is goes before its events, and its end follows them."""

    def __init__(self, publisher: Publisher, event_key: EventKey, *, shards: int) -> None:
        """Publish through *publisher* to the shard of each run, signed with *event_key*."""
        self._publisher = publisher
        self._event_key = event_key
        self._shards = shards

    def runs_accepted(self, runs: Sequence[RunAccepted]) -> None:
        """Say whose runs are; all of them are of one shard.

        Raises:
            BrokerUnavailable: the broker did not confirm.
            QueueUnavailable: the queue of their shard is missing, full or broken.
        """
        messages = [run_accepted_message(run, self._event_key, self._shards) for run in runs]
        self._publish(messages)

    def run_finished(self, finished: RunFinished) -> None:
        """Hand over an ended run.

        Raises:
            BrokerUnavailable: the broker did not confirm.
            QueueUnavailable: the queue of the run's shard is missing, full or broken.
            MessageRefused: the broker will never take it.
        """
        self._publish([run_finished_message(finished, self._event_key, self._shards)])

    def _publish(self, messages: Sequence[Message]) -> None:
        if len(self._publisher.publish(messages, timeout_s=_DEADLINE_S)) < len(messages):
            raise QueueUnavailable(f"no queue takes all that is sent to {messages[0].routing_key} of {EVENTS}")
