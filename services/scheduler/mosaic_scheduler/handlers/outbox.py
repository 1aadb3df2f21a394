"""Sending what a transaction decided, after it: dispatches to agents, ended runs to telemetry."""

from __future__ import annotations

from datetime import datetime

import structlog

from mosaic.errors import Unavailable
from mosaic.ids import AgentId, RunId
from mosaic_scheduler.handlers.run_finished import run_finished
from mosaic_scheduler.ports import Dispatcher, Fleet, OutboxKind, OutboxMessage, RunFinishedPublisher, RunStore

log = structlog.get_logger(__name__)

#: Messages taken from the outbox at a time.
_AT_ONCE = 200


class Outbox:
    """Sends; what cannot leave now stays for the next time."""

    def __init__(
        self, *, store: RunStore, fleet: Fleet, dispatcher: Dispatcher, publisher: RunFinishedPublisher
    ) -> None:
        self._store = store
        self._fleet = fleet
        self._dispatcher = dispatcher
        self._publisher = publisher

    def flush(self) -> None:
        """Send what the store holds."""
        refused: set[OutboxKind] = set()
        while True:
            messages = self._store.outbox(limit=_AT_ONCE)
            done = [message.message_id for message in messages if self._sent(message, refused)]
            self._store.sent(done)
            if len(done) < _AT_ONCE:
                return

    def dispatch_again(self, admitted_before: datetime) -> None:
        """Dispatch attempts that no agent has claimed since before that time."""
        with self._store.read() as work:
            unclaimed = work.unclaimed(admitted_before)
        for attempt in unclaimed:
            if not self._dispatch(attempt.run_id, attempt.attempt, attempt.agent_id):
                return

    def _sent(self, message: OutboxMessage, refused: set[OutboxKind]) -> bool:
        """Tell whether *message* left. Every refusal costs a deadline: its kind is *refused* from then on."""
        if message.kind not in refused and not self._send(message):
            refused.add(message.kind)
        return message.kind not in refused

    def _send(self, message: OutboxMessage) -> bool:
        if message.kind is OutboxKind.DISPATCH:
            return self._dispatch(message.run_id, message.attempt, AgentId(message.payload["agent_id"]))
        return self._publish(message.run_id)

    def _publish(self, run_id: RunId) -> bool:
        with self._store.read() as work:
            run, attempts = work.run(run_id), work.attempts(run_id)
        assert run is not None, "runs are kept for ever"
        try:
            self._publisher.publish(run_finished(run, attempts))
        except Unavailable as error:
            log.warning("end of run not delivered; it stays in the outbox", run_id=run_id, reason=str(error))
            return False
        return True

    def _dispatch(self, run_id: RunId, attempt: int, agent_id: AgentId) -> bool:
        queue = self._fleet.view().queues.get(agent_id)
        if queue is None:
            return True  # the agent is gone: its lease will run out, dispatching cannot help
        try:
            self._dispatcher.dispatch(queue, run_id, attempt)
        except Unavailable as error:
            log.warning("dispatch not confirmed; it stays in the outbox", run_id=run_id, reason=str(error))
            return False
        return True
