"""How telemetry hears whose a run is, and that it has ended: through the broker."""

from __future__ import annotations

from collections.abc import Sequence

from mosaic.errors import BrokerUnavailable
from mosaic.events.proof import EventKey
from mosaic.messaging.event_messages import run_accepted_message, run_finished_message
from mosaic.messaging.publisher import Publisher
from mosaic.model.attempt import RunFinished
from mosaic.model.run import RunAccepted


class BrokerTelemetry:
    """For a cluster: whose a run is goes before its events, and its end follows them."""

    def __init__(self, publisher: Publisher, event_key: EventKey, *, shards: int) -> None:
        """Publish through *publisher* to the shard of each run, signed with *event_key*."""
        self._publisher = publisher
        self._event_key = event_key
        self._shards = shards

    def runs_accepted(self, runs: Sequence[RunAccepted]) -> None:
        """Say whose runs are.

        Raises:
            BrokerUnavailable: the broker did not confirm all of them.
        """
        messages = [run_accepted_message(run, self._event_key, self._shards) for run in runs]
        if len(self._publisher.publish(messages)) < len(messages):
            raise BrokerUnavailable(f"the broker refused to take all of {len(messages)} accepted runs")

    def run_finished(self, finished: RunFinished) -> None:
        """Hand over an ended run.

        Raises:
            BrokerUnavailable: the broker did not confirm.
        """
        if not self._publisher.publish([run_finished_message(finished, self._event_key, self._shards)]):
            raise BrokerUnavailable(f"the broker refused the end of run {finished.run.run_id}")
