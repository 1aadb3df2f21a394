"""Sending what a transaction decided, after it: dispatches to agents, ended runs to telemetry."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog

from mosaic.errors import QueueUnavailable, Unavailable
from mosaic.ids import AgentId, RunId
from mosaic_scheduler.handlers.run_finished import run_finished
from mosaic_scheduler.ports import Clock, Dispatcher, Fleet, OutboxKind, OutboxMessage, RunFinishedPublisher, RunStore

log = structlog.get_logger(__name__)

#: Messages taken from the outbox at a time.
_AT_ONCE = 200

#: A way that takes nothing is left alone so long: every try costs a deadline, which all others would wait for.
_REST = timedelta(seconds=30)

_SENDABLE = frozenset({OutboxKind.DISPATCH.value, OutboxKind.RUN_FINISHED.value})


class Outbox:
    """Sends, each message by its own way; what cannot leave now stays for the next time.

    A message that can never leave is parked with the reason, so that it holds up no other.
    """

    def __init__(
        self, *, store: RunStore, fleet: Fleet, dispatcher: Dispatcher, publisher: RunFinishedPublisher, clock: Clock
    ) -> None:
        self._store = store
        self._fleet = fleet
        self._dispatcher = dispatcher
        self._publisher = publisher
        self._clock = clock
        #: Ways that take nothing, and until when they are left alone.
        self._resting: dict[str, datetime] = {}

    def flush(self) -> None:
        """Send what the store holds."""
        now, after = self._clock(), 0
        self._resting = {way: until for way, until in self._resting.items() if until > now}
        blocked = set(self._resting)
        while messages := self._store.outbox(_AT_ONCE, after):
            done = [message.message_id for message in messages if self._sent(message, blocked)]
            self._store.sent(done)
            if blocked >= _SENDABLE:
                return
            after = messages[-1].message_id

    def dispatch_again(self, admitted_before: datetime) -> None:
        """Dispatch attempts that no agent has claimed since before that time."""
        with self._store.read() as work:
            unclaimed = work.unclaimed(admitted_before)
        for attempt in unclaimed:
            try:
                self._dispatch(attempt.run_id, attempt.attempt, attempt.agent_id)
            except Unavailable as error:
                log.warning("dispatch not confirmed; it is tried again", run_id=attempt.run_id, reason=str(error))
                return
            except Exception:
                log.exception("attempt cannot be dispatched", run_id=attempt.run_id, agent_id=attempt.agent_id)

    def _sent(self, message: OutboxMessage, blocked: set[str]) -> bool:
        """Tell whether *message* left. Every refusal costs a deadline: its way is *blocked* from then on."""
        kind = message.kind.value
        way = f"{kind} {self._publisher.route(message.run_id)}" if message.kind is OutboxKind.RUN_FINISHED else kind
        if kind in blocked or way in blocked:
            return False
        try:
            self._send(message)
        except QueueUnavailable as error:
            blocked.add(way)
            self._resting[way] = self._clock() + _REST
            log.warning("one queue takes nothing; its messages stay in the outbox", way=way, reason=str(error))
            return False
        except Unavailable as error:
            blocked.add(kind)
            log.warning("not confirmed; it stays in the outbox", kind=kind, run_id=message.run_id, reason=str(error))
            return False
        except Exception as error:
            # Whatever is wrong with this one, the next may be fine.
            self._park(message, f"{type(error).__name__}: {error}")
            return False
        return True

    def _send(self, message: OutboxMessage) -> None:
        if message.kind is OutboxKind.DISPATCH:
            self._dispatch(message.run_id, message.attempt, AgentId(message.payload["agent_id"]))
        else:
            self._publish(message.run_id)

    def _park(self, message: OutboxMessage, reason: str) -> None:
        self._store.park(message, reason)
        log.error(
            "message parked: it cannot leave as it is; a restart tries again",
            kind=message.kind.value,
            run_id=message.run_id,
            reason=reason[:1000],
        )

    def _publish(self, run_id: RunId) -> None:
        with self._store.read() as work:
            run, attempts = work.run(run_id), work.attempts(run_id)
        assert run is not None, "runs are kept for ever"
        self._publisher.publish(run_finished(run, attempts))

    def _dispatch(self, run_id: RunId, attempt: int, agent_id: AgentId) -> None:
        queue = self._fleet.view().queues.get(agent_id)
        # An agent that is gone: its lease will run out, dispatching cannot help.
        if queue is not None:
            self._dispatcher.dispatch(queue, run_id, attempt)
