"""How telemetry hears that a run has ended."""

from __future__ import annotations

from collections.abc import Callable

from mosaic.errors import BrokerUnavailable
from mosaic.events.sealed import RunSealed
from mosaic.messaging.event_messages import seal_message
from mosaic.messaging.publisher import Publisher


class DirectSeals:
    """For one process: telemetry is called at once."""

    def __init__(self, receive: Callable[[RunSealed], None]) -> None:
        """Hand seals to *receive*."""
        self._receive = receive

    def seal(self, ended: RunSealed) -> None:
        """Hand over the facts of an ended run."""
        self._receive(ended)


class BrokerSeals:
    """For a cluster: the seal follows the run's events through the broker."""

    def __init__(self, publisher: Publisher, *, shards: int) -> None:
        """Publish through *publisher* to the shard of each run."""
        self._publisher = publisher
        self._shards = shards

    def seal(self, ended: RunSealed) -> None:
        """Hand over the facts of an ended run.

        Raises:
            BrokerUnavailable: the broker did not confirm.
        """
        if not self._publisher.publish([seal_message(ended, self._shards)]):
            raise BrokerUnavailable(f"the broker refused the seal of run {ended.run_id}")
