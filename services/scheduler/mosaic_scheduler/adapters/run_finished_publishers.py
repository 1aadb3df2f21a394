"""How telemetry hears that a run has ended."""

from __future__ import annotations

from collections.abc import Callable

from mosaic.errors import QueueUnavailable
from mosaic.events.proof import EventKey
from mosaic.ids import RunId
from mosaic.messaging.event_messages import run_finished_message
from mosaic.messaging.publisher import Publisher
from mosaic.messaging.topology import event_routing_key
from mosaic.model.attempt import RunFinished

_DEADLINE_S = 5.0


class DirectRunFinished:
    """For one process: telemetry is called at once."""

    def __init__(self, receive: Callable[[RunFinished], None]) -> None:
        """Hand ended runs to *receive*."""
        self._receive = receive

    def route(self, run_id: RunId) -> str:
        """Return the one way there is."""
        return ""

    def publish(self, finished: RunFinished) -> None:
        """Hand over an ended run."""
        self._receive(finished)


class BrokerRunFinished:
    """For a cluster: the end of a run follows its events through the broker."""

    def __init__(self, publisher: Publisher, event_key: EventKey, *, shards: int) -> None:
        """Publish through *publisher* to the shard of each run, signed with *event_key*."""
        self._publisher = publisher
        self._event_key = event_key
        self._shards = shards

    def route(self, run_id: RunId) -> str:
        """Return the shard of the run."""
        return event_routing_key(run_id, self._shards)

    def publish(self, finished: RunFinished) -> None:
        """Hand over an ended run.

        Raises:
            BrokerUnavailable: the broker did not confirm.
            QueueUnavailable: the queue of the run's shard is missing, full or broken.
            MessageRefused: the broker will never take it.
        """
        message = run_finished_message(finished, self._event_key, self._shards)
        if not self._publisher.publish([message], timeout_s=_DEADLINE_S):
            raise QueueUnavailable(f"no queue takes what is sent to {message.routing_key} of {message.exchange}")
