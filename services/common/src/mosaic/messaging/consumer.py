"""The handler returns a verdict; the consumer, and only it, settles with the broker."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import TracebackType
from typing import Any

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import AMQPConnectionError, AMQPError

from mosaic.errors import Unavailable
from mosaic.messaging.connection import connection_parameters, declare, described, pauses
from mosaic.messaging.topology import QueueSpec, Topology

#: How long the thread that speaks to the broker waits for news before it looks at the stop event.
_LOOK_UP_S = 0.25

#: A broker that takes longer to hand out a queue has lost it, or most of its replicas.
_PATIENCE_S = 30.0


class Verdict(Enum):
    """What the broker should do with a message once its handler has returned."""

    DONE = "done"  #: stored, or already known: remove it
    LATER = "later"  #: our fault (database away): hand it over again after a pause
    NEVER = "never"  #: the message's fault (unreadable, impossible): dead-letter it, with the reason


@dataclass(frozen=True, slots=True)
class Settlement:
    """A verdict and, for the dead-letter queue, its reason."""

    verdict: Verdict
    reason: str = ""


DONE = Settlement(Verdict.DONE)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message as it came."""

    tag: int
    routing_key: str
    headers: Mapping[str, Any]
    body: bytes


#: Takes what has arrived, oldest first, and answers for each.
Handler = Callable[[Sequence[Delivery]], Sequence[Settlement]]

#: Told when consuming is interrupted (with the reason) and when it works again (with None).
Listener = Callable[[str | None], None]


def consume(
    url: str,
    topology: Topology,
    source: QueueSpec,
    handler: Handler,
    *,
    prefetch: int,
    stop: threading.Event,
    lanes: int = 1,
    name: str = "mosaic-consumer",
    listener: Listener = lambda fault: None,
    patience_s: float = _PATIENCE_S,
) -> None:
    """Feed *source* to *handler* until *stop* is set; settle every message exactly once.

    Nothing is acknowledged before the handler returns. The handler runs in a thread of its own, so
    heartbeats go on while it works; with several *lanes*, so many batches are in work at once, and the
    handler must not mind their order. What it wants later, or what met an `Unavailable`, is kept and
    handed over again after a pause; a message whose handling raises anything else is tried alone, up
    to ``source.max_deliveries`` times, and then dead-lettered. A lost connection is made again for
    ever, and so is one on which the broker does not hand out *source* within *patience_s*. What is
    unsettled at stop goes back to the queue.
    """
    parameters = connection_parameters(url, name)
    retries = pauses()
    while not stop.is_set():
        session = _Session(topology, source, handler, prefetch, lanes)
        try:
            session.open(parameters, stop, patience_s)
            listener(None)
            retries = pauses()
            session.serve(stop)
        except Exception as error:
            # Whatever a breaking connection raises, unsettled messages are back in the queue: begin anew.
            listener(described(error))
            stop.wait(next(retries))
        finally:
            session.close()


class _Session:
    """One connection: one thread speaks to the broker, others run the handler."""

    def __init__(self, topology: Topology, source: QueueSpec, handler: Handler, prefetch: int, lanes: int) -> None:
        self._topology = topology
        self._source = source
        self._prefetch = prefetch
        # Less than all that may be here, so that the broker refills while the handler works.
        self._batch = max(1, prefetch // 4)
        self._inbox: queue.SimpleQueue[Delivery | None] = queue.SimpleQueue()
        self._ending = threading.Event()
        self._desk = _Desk(handler, source.max_deliveries)
        self._lanes = [
            threading.Thread(target=self._run_lane, name=f"{source.name} lane {lane}", daemon=True)
            for lane in range(lanes)
        ]
        #: Why this session cannot go on.
        self._fault: Exception | None = None
        self._connection: pika.BlockingConnection | None = None

    def open(self, parameters: pika.URLParameters, stop: threading.Event, patience_s: float) -> None:
        self._connection = pika.BlockingConnection(parameters)
        with _Patience(self._connection, self._source.name, stop, patience_s):
            self._subscribe()
        for lane in self._lanes:
            lane.start()

    def _subscribe(self) -> None:
        assert self._connection is not None
        self._channel = self._connection.channel()
        declare(self._channel, self._topology)
        self._channel.confirm_delivery()
        self._channel.add_on_cancel_callback(self._cancelled)
        self._channel.basic_qos(prefetch_count=self._prefetch)
        self._channel.basic_consume(self._source.name, self._received)

    def serve(self, stop: threading.Event) -> None:
        assert self._connection is not None
        while not stop.is_set():
            self._connection.process_data_events(time_limit=_LOOK_UP_S)
            if self._fault is not None:
                raise self._fault
        self._finish_work()
        self._connection.process_data_events(time_limit=0)

    def close(self) -> None:
        self._finish_work()
        if self._connection is not None and self._connection.is_open:
            # However a connection breaks while it is closed, it has left its messages to the broker: as wanted.
            with suppress(Exception):
                self._connection.close()

    def _received(self, _channel: BlockingChannel, method: Any, properties: Any, body: bytes) -> None:
        headers = properties.headers or {}
        self._inbox.put(Delivery(method.delivery_tag, method.routing_key, headers, body))

    def _cancelled(self, _method: Any) -> None:
        """Note that the broker hands out nothing more: the queue was deleted, and the next session makes it anew."""
        self._fault = AMQPError(f"the broker no longer hands out the queue {self._source.name}")

    def _finish_work(self) -> None:
        self._ending.set()
        for _ in self._lanes:
            self._inbox.put(None)
        for lane in self._lanes:
            if lane.is_alive():
                lane.join()

    def _run_lane(self) -> None:
        try:
            self._work()
        except Exception as error:
            # What this lane held would never be settled: the broker gets all of it back with the connection.
            self._fault = error

    def _work(self) -> None:
        waiting: list[Delivery] = []
        retries = pauses(longest_s=5.0)
        while not self._ending.is_set():
            if len(waiting) < self._batch:
                waiting += self._arrivals(self._batch - len(waiting), block=not waiting)
            outcomes = self._desk.judge(waiting)
            waiting = [delivery for delivery, answer in outcomes if answer.verdict is Verdict.LATER]
            self._hand_back([pair for pair in outcomes if pair[1].verdict is not Verdict.LATER])
            if waiting:
                self._ending.wait(next(retries))
            else:
                retries = pauses(longest_s=5.0)

    def _arrivals(self, most: int, *, block: bool) -> list[Delivery]:
        arrived: list[Delivery] = []
        try:
            first = self._inbox.get(block=block)
            while first is not None:
                arrived.append(first)
                if len(arrived) == most:
                    break
                first = self._inbox.get_nowait()
        except queue.Empty:
            pass
        return arrived

    def _hand_back(self, outcomes: Sequence[tuple[Delivery, Settlement]]) -> None:
        if outcomes and self._connection is not None:
            try:
                self._connection.add_callback_threadsafe(partial(self._settle, outcomes))
            except AMQPError:
                # The connection is gone: the broker delivers these again, and the handler will know them.
                self._ending.set()

    def _settle(self, outcomes: Sequence[tuple[Delivery, Settlement]]) -> None:
        for delivery, answer in outcomes:
            if answer.verdict is Verdict.NEVER:
                self._bury(delivery, answer.reason)
            self._channel.basic_ack(delivery.tag)

    def _bury(self, delivery: Delivery, reason: str) -> None:
        # Not by rejecting: the broker's own dead-lettering has no place for our reason.
        headers = {**delivery.headers, "reason": reason[:1000], "queue": self._source.name}
        properties = pika.BasicProperties(headers=headers, delivery_mode=2)
        # Mandatory: where the queue of the dead was deleted, the next session declares it again.
        exchange, key = self._source.dead_exchange, delivery.routing_key
        self._channel.basic_publish(exchange, key, delivery.body, properties, mandatory=True)


class _Patience:
    """Drops a connection on which the broker does not answer in time, or not before the stop.

    The thread waits for the answer inside pika, without a deadline; only timers of the inner connection run there.
    An orderly close would wait for the same answer.
    """

    def __init__(
        self, connection: pika.BlockingConnection, queue_name: str, stop: threading.Event, patience_s: float
    ) -> None:
        self._inner: Any = connection._impl
        self._queue_name = queue_name
        self._stop = stop
        self._deadline = time.monotonic() + patience_s
        self._timer: Any = None

    def __enter__(self) -> None:
        self._look()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inner.ioloop.remove_timeout(self._timer)

    def _look(self) -> None:
        if not self._stop.is_set() and time.monotonic() < self._deadline:
            self._timer = self._inner.ioloop.call_later(_LOOK_UP_S, self._look)
            return
        why = f"the broker does not hand out the queue {self._queue_name}; the runbook says how to bring it back"
        self._inner._terminate_stream(AMQPConnectionError(why))


class _Desk:
    """Calls the handler and turns whatever happens into settlements."""

    def __init__(self, handler: Handler, max_deliveries: int) -> None:
        self._handler = handler
        self._max_deliveries = max_deliveries
        self._failures: dict[int, int] = {}

    def judge(self, deliveries: Sequence[Delivery]) -> list[tuple[Delivery, Settlement]]:
        if not deliveries:
            return []
        try:
            answers = self._handler(deliveries)
        except Unavailable as error:
            answers = [Settlement(Verdict.LATER, str(error))] * len(deliveries)
        except Exception as error:  # the only place that does not know what a handler may raise
            if len(deliveries) > 1:
                return [self.judge([delivery])[0] for delivery in deliveries]
            answers = [self._blame(deliveries[0], error)]
        return list(zip(deliveries, answers, strict=True))

    def _blame(self, delivery: Delivery, error: Exception) -> Settlement:
        failures = self._failures.pop(delivery.tag, 0) + 1
        reason = f"its handler failed {failures} times, last with {type(error).__name__}: {error}"
        if failures >= self._max_deliveries:
            return Settlement(Verdict.NEVER, reason)
        self._failures[delivery.tag] = failures
        return Settlement(Verdict.LATER, reason)
