"""Publish with confirms, many messages in flight; one failure type."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

import pika
from pika.exceptions import ChannelClosedByBroker

from mosaic.errors import BrokerUnavailable, MessageRefused, QueueUnavailable
from mosaic.messaging.connection import connection_parameters, described, pauses

_PERSISTENT = 2
#: AMQP's PRECONDITION_FAILED: here, that a message is larger than the broker allows.
_TOO_LARGE = 406


@dataclass(frozen=True, slots=True)
class Message:
    """What is published where."""

    exchange: str
    routing_key: str
    body: bytes
    headers: Mapping[str, str | int] = field(default_factory=lambda: MappingProxyType({}))
    content_type: str = "application/octet-stream"


class _Batch:
    """The messages of one `Publisher.publish` and what became of them."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.confirmed: set[int] = set()
        self.returned: set[int] = set()
        self.settled = threading.Event()
        self.unanswered = len(messages)
        #: Why the broker will never take it, as far as that is known.
        self.refusal = ""

    def settle(self, index: int, *, confirmed: bool) -> None:
        if confirmed and index not in self.returned:
            self.confirmed.add(index)
        self.unanswered -= 1
        if not self.unanswered:
            self.settled.set()


class Publisher:
    """A connection that publishes persistent messages and waits for the broker's confirms.

    It connects in its own thread at the first use and reconnects for ever; any thread may publish.
    """

    def __init__(self, url: str, *, name: str = "mosaic-publisher") -> None:
        """Remember where to connect; exchanges and queues are declared by who consumes them."""
        self._parameters = connection_parameters(url, name)
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._link: _Link | None = None
        self._fault = "no connection was made yet"

    def publish(self, messages: Sequence[Message], *, timeout_s: float = 10.0) -> list[int]:
        """Publish *messages* and return the indexes of those the broker has taken charge of.

        The others were refused (a queue is full), unroutable, or not confirmed within *timeout_s*;
        they may arrive all the same, so receivers must know a repeated message.

        Raises:
            BrokerUnavailable: there is no connection, or the broker confirmed nothing before it broke.
            QueueUnavailable: there is one, but nothing was confirmed in time.
            MessageRefused: one of *messages* is larger than the broker allows.

        """
        if not messages:
            return []
        deadline = time.monotonic() + timeout_s
        link = self._wait_for_link(deadline)
        batch = _Batch(messages)
        link.send(batch)
        batch.settled.wait(max(0.0, deadline - time.monotonic()))
        link.forget(batch)
        if batch.unanswered and not batch.confirmed:
            raise link.failure(batch, timeout_s)
        return sorted(batch.confirmed)

    def close(self) -> None:
        """Close the connection; unconfirmed messages are reported as such."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            link, thread = self._link, self._thread
        if link is not None:
            link.close()
        if thread is not None:
            thread.join()

    def _wait_for_link(self, deadline: float) -> _Link:
        with self._changed:
            if self._closing:
                raise BrokerUnavailable("this publisher is closed")
            if self._thread is None:
                self._thread = threading.Thread(target=self._stay_connected, name="publisher", daemon=True)
                self._thread.start()
            ready = self._changed.wait_for(
                lambda: self._link is not None or self._closing, max(0.0, deadline - time.monotonic())
            )
            if not ready or self._link is None:
                raise BrokerUnavailable(f"the broker cannot be reached: {self._fault}")
            return self._link

    def _stay_connected(self) -> None:
        retries = pauses()
        while not self._closing:
            link = _Link(self._parameters, on_open=self._opened)
            try:
                link.run()
                fault = link.fault
            except Exception as error:
                # Whatever a breaking connection raises, nothing unconfirmed is taken for sent: begin anew.
                fault = described(error)
            if link.was_open:
                retries = pauses()
            with self._changed:
                self._link, self._fault = None, fault
                self._changed.wait_for(lambda: self._closing, next(retries))

    def _opened(self, link: _Link) -> None:
        with self._changed:
            self._link = link
            self._changed.notify_all()
            if self._closing:
                link.close()


class _Link:
    """One connection with one channel in confirm mode, from open to close. Runs in the publisher's thread."""

    def __init__(self, parameters: pika.URLParameters, *, on_open: Any) -> None:
        self._parameters = parameters
        self._on_open = on_open
        self._channel: Any = None
        self._blocked = False
        self._next_tag = 1
        self._in_flight: dict[int, tuple[_Batch, int]] = {}
        self._batches: set[_Batch] = set()
        self._guard = threading.Lock()
        self.is_open = False
        self.was_open = False
        self.fault = "the connection ended or the broker is too slow"

    def run(self) -> None:
        """Serve until the connection ends."""
        self._connection = pika.SelectConnection(
            self._parameters,
            on_open_callback=lambda connection: connection.channel(on_open_callback=self._channel_open),
            on_open_error_callback=lambda _, error: self._ended(error),
            on_close_callback=lambda _, reason: self._ended(reason),
        )
        self._connection.add_on_connection_blocked_callback(lambda *_: self._set_blocked(True))
        self._connection.add_on_connection_unblocked_callback(lambda *_: self._set_blocked(False))
        try:
            self._connection.ioloop.start()
        finally:
            self._fail_everything()
            self._connection.ioloop.close()

    def send(self, batch: _Batch) -> None:
        """Hand *batch* to the connection's thread; a closed connection settles nothing of it."""
        with self._guard:
            if self.is_open:
                self._batches.add(batch)
                self._connection.ioloop.add_callback_threadsafe(partial(self._publish, batch))
                return
        batch.settled.set()

    def forget(self, batch: _Batch) -> None:
        """Nobody waits for *batch* any more; confirms that still come for it are harmless."""
        with self._guard:
            self._batches.discard(batch)

    def failure(self, batch: _Batch, timeout_s: float) -> BrokerUnavailable | MessageRefused:
        """Return why nothing of *batch* was confirmed."""
        if batch.refusal:
            return MessageRefused(f"the broker refuses the message: {batch.refusal}")
        kind = QueueUnavailable if self.is_open and not self._blocked else BrokerUnavailable
        return kind(f"the broker confirmed nothing within {timeout_s:g} s: {self.fault}")

    def close(self) -> None:
        """End the connection in good order."""
        with self._guard:
            if self.is_open:
                self._connection.ioloop.add_callback_threadsafe(self._connection.close)

    def _channel_open(self, channel: Any) -> None:
        self._channel = channel
        channel.add_on_close_callback(self._channel_closed)
        channel.add_on_return_callback(self._returned)
        channel.confirm_delivery(self._confirmed, callback=lambda _: self._ready())

    def _ready(self) -> None:
        self.is_open = self.was_open = True
        self._on_open(self)

    def _publish(self, batch: _Batch) -> None:
        if self._blocked or not self._channel.is_open:
            batch.settled.set()
            return
        for index, message in enumerate(batch.messages):
            tag, self._next_tag = self._next_tag, self._next_tag + 1
            self._in_flight[tag] = (batch, index)
            properties = pika.BasicProperties(
                content_type=message.content_type,
                delivery_mode=_PERSISTENT,
                headers=dict(message.headers),
                message_id=str(tag),
            )
            self._channel.basic_publish(message.exchange, message.routing_key, message.body, properties, mandatory=True)

    def _returned(self, _channel: Any, _method: Any, properties: Any, _body: bytes) -> None:
        batch, index = self._in_flight[int(properties.message_id)]
        batch.returned.add(index)

    def _confirmed(self, frame: Any) -> None:
        method = frame.method
        tags = [method.delivery_tag]
        if method.multiple:
            tags = [tag for tag in self._in_flight if tag <= method.delivery_tag]
        for tag in tags:
            batch, index = self._in_flight.pop(tag)
            batch.settle(index, confirmed=method.NAME == "Basic.Ack")

    def _set_blocked(self, blocked: bool) -> None:
        self._blocked = blocked
        self.fault = "the broker is short of memory or disk and blocks publishers"

    def _channel_closed(self, _channel: Any, reason: Exception) -> None:
        self.fault = described(reason)
        if isinstance(reason, ChannelClosedByBroker) and reason.reply_code == _TOO_LARGE:
            self._blame(reason.reply_text)
        if self._connection.is_open:
            self._connection.close()

    def _blame(self, why: str) -> None:
        """Note whose the message was that ended the channel; of several batches it could be any, so it is none."""
        batches = {batch for batch, _ in self._in_flight.values()}
        if len(batches) == 1:
            batches.pop().refusal = why

    def _ended(self, reason: Any) -> None:
        if not self.was_open:
            self.fault = described(reason)
        self._connection.ioloop.stop()

    def _fail_everything(self) -> None:
        with self._guard:
            self.is_open = False
            for batch in self._batches:
                batch.settled.set()
