"""Sending what a transaction decided, after it: dispatches to agents, new and ended runs to telemetry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import structlog

from mosaic.errors import QueueUnavailable, Unavailable
from mosaic.ids import AgentId, RunId
from mosaic.model.codec import from_json
from mosaic.model.run import RunAccepted
from mosaic_scheduler.handlers.run_finished import run_finished
from mosaic_scheduler.ports import Clock, Dispatcher, Fleet, OutboxKind, OutboxMessage, RunStore, Telemetry

log = structlog.get_logger(__name__)

#: Messages taken from the outbox at a time.
_AT_ONCE = 200

#: A way that takes nothing is left alone so long: every try costs a deadline, which all others would wait for.
_REST = timedelta(seconds=30)

#: Who is spoken to. Telemetry is reached on several ways, one for each shard of runs.
_AGENTS, _TELEMETRY = "agents", "telemetry"


class Outbox:
    """Sends, each message by its own way; what cannot leave now stays for the next time.

    A message that can never leave is parked with the reason, so that it holds up no other.
    """

    def __init__(
        self,
        *,
        store: RunStore,
        fleet: Fleet,
        dispatcher: Dispatcher,
        telemetry: Telemetry,
        route: Callable[[RunId], str],
        clock: Clock,
    ) -> None:
        """Send from *store*; *route* says which way news of a run take to telemetry."""
        self._store = store
        self._fleet = fleet
        self._dispatcher = dispatcher
        self._telemetry = telemetry
        self._route = route
        self._clock = clock
        #: Ways that take nothing, and until when they are left alone.
        self._resting: dict[str, datetime] = {}

    def flush(self) -> None:
        """Send what the store holds."""
        now, after = self._clock(), 0
        self._resting = {way: until for way, until in self._resting.items() if until > now}
        blocked = set(self._resting)
        while messages := self._store.outbox(_AT_ONCE, after):
            done = [one for batch in self._batches(messages) for one in self._sent(batch, blocked)]
            self._store.sent(done)
            if blocked >= {_AGENTS, _TELEMETRY}:
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

    def _batches(self, messages: Sequence[OutboxMessage]) -> list[list[OutboxMessage]]:
        """Put new runs of one way together, since a submit makes a thousand; everything else leaves alone."""
        accepted: dict[str, list[OutboxMessage]] = {}
        for message in messages:
            if message.kind is OutboxKind.RUN_ACCEPTED:
                accepted.setdefault(self._route(message.run_id), []).append(message)
        others = [[message] for message in messages if message.kind is not OutboxKind.RUN_ACCEPTED]
        return [*accepted.values(), *others]

    def _sent(self, batch: Sequence[OutboxMessage], blocked: set[str]) -> list[int]:
        """Return which of *batch* left. Every refusal costs a deadline: its way is *blocked* from then on."""
        first = batch[0]
        to = _AGENTS if first.kind is OutboxKind.DISPATCH else _TELEMETRY
        way = _AGENTS if to is _AGENTS else f"{to} {self._route(first.run_id)}"
        if to in blocked or way in blocked:
            return []
        try:
            self._send(batch)
        except Unavailable as error:
            is_one_queue = isinstance(error, QueueUnavailable)
            blocked.add(way if is_one_queue else to)
            if is_one_queue:
                self._resting[way] = self._clock() + _REST
            log.warning("not confirmed; it stays in the outbox", way=way, run_id=first.run_id, reason=str(error))
        except Exception as error:
            # Whatever is wrong with this one, the next may be fine.
            if len(batch) > 1:
                return [one for message in batch for one in self._sent([message], blocked)]
            self._park(first, f"{type(error).__name__}: {error}")
        else:
            return [message.message_id for message in batch]
        return []

    def _send(self, batch: Sequence[OutboxMessage]) -> None:
        first = batch[0]
        if first.kind is OutboxKind.DISPATCH:
            self._dispatch(first.run_id, first.attempt, AgentId(first.payload["agent_id"]))
        elif first.kind is OutboxKind.RUN_ACCEPTED:
            self._telemetry.runs_accepted(
                [from_json(RunAccepted, {"run_id": one.run_id, **one.payload}) for one in batch]
            )
        else:
            self._publish(first.run_id)

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
        self._telemetry.run_finished(run_finished(run, attempts))

    def _dispatch(self, run_id: RunId, attempt: int, agent_id: AgentId) -> None:
        queue = self._fleet.view().queues.get(agent_id)
        # An agent that is gone: its lease will run out, dispatching cannot help.
        if queue is not None:
            self._dispatcher.dispatch(queue, run_id, attempt)
