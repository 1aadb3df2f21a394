"""Sending what a transaction decided, after it: dispatches to agents, new and ended runs to telemetry."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import structlog

from mosaic.errors import Unavailable
from mosaic.ids import AgentId, RunId
from mosaic.model.codec import from_json
from mosaic.model.run import RunAccepted
from mosaic_scheduler.handlers.run_finished import run_finished
from mosaic_scheduler.ports import Dispatcher, Fleet, OutboxKind, OutboxMessage, RunStore, Telemetry

log = structlog.get_logger(__name__)

#: Messages taken from the outbox at a time.
_AT_ONCE = 200


class Outbox:
    """Sends; what cannot leave now stays for the next time."""

    def __init__(self, *, store: RunStore, fleet: Fleet, dispatcher: Dispatcher, telemetry: Telemetry) -> None:
        self._store = store
        self._fleet = fleet
        self._dispatcher = dispatcher
        self._telemetry = telemetry

    def flush(self) -> None:
        """Send what the store holds."""
        refused: set[OutboxKind] = set()
        while True:
            messages = self._store.outbox(limit=_AT_ONCE)
            accepted = [message for message in messages if message.kind is OutboxKind.RUN_ACCEPTED]
            others = [message for message in messages if message.kind is not OutboxKind.RUN_ACCEPTED]
            done = [message.message_id for message in others if self._sent(message, refused)]
            done += self._told(accepted, refused)
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

    def _told(self, accepted: Sequence[OutboxMessage], refused: set[OutboxKind]) -> list[int]:
        """Return which of *accepted* telemetry has heard of: all of them, or none."""
        if not accepted or OutboxKind.RUN_ACCEPTED in refused:
            return []
        runs = [from_json(RunAccepted, {"run_id": one.run_id, **one.payload}) for one in accepted]
        try:
            self._telemetry.runs_accepted(runs)
        except Unavailable as error:
            log.warning("accepted runs not delivered; they stay in the outbox", count=len(runs), reason=str(error))
            refused.add(OutboxKind.RUN_ACCEPTED)
            return []
        return [message.message_id for message in accepted]

    def _send(self, message: OutboxMessage) -> bool:
        if message.kind is OutboxKind.DISPATCH:
            return self._dispatch(message.run_id, message.attempt, AgentId(message.payload["agent_id"]))
        return self._publish(message.run_id)

    def _publish(self, run_id: RunId) -> bool:
        with self._store.read() as work:
            run, attempts = work.run(run_id), work.attempts(run_id)
        assert run is not None, "runs are kept for ever"
        try:
            self._telemetry.run_finished(run_finished(run, attempts))
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
