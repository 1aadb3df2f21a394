"""How telemetry hears that a run has ended."""

from __future__ import annotations

from collections.abc import Callable

from mosaic.errors import BrokerUnavailable
from mosaic.events.proof import EventKey
from mosaic.messaging.event_messages import run_finished_message
from mosaic.messaging.publisher import Publisher
from mosaic.model.attempt import RunFinished


class DirectRunFinished:
    """For one process: telemetry is called at once."""

    def __init__(self, receive: Callable[[RunFinished], None]) -> None:
        """Hand ended runs to *receive*."""
        self._receive = receive

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

    def publish(self, finished: RunFinished) -> None:
        """Hand over an ended run.

        Raises:
            BrokerUnavailable: the broker did not confirm.
        """
        if not self._publisher.publish([run_finished_message(finished, self._event_key, self._shards)]):
            raise BrokerUnavailable(f"the broker refused the end of run {finished.run.run_id}")
