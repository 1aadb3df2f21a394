from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from queue import Queue
from typing import Any
from urllib.parse import urlsplit

import pika
import pytest

from mosaic.errors import BrokerUnavailable, DatabaseUnavailable, MessageRefused
from mosaic.messaging.connection import declare_once
from mosaic.messaging.consumer import DONE, Delivery, Handler, Settlement, Verdict, consume
from mosaic.messaging.publisher import Message, Publisher
from mosaic.messaging.topology import DEAD_EVENTS, EVENTS, event_queue, event_topology
from tests.fakes.agent import eventually
from tests.servers.fresh import fresh_vhost
from tests.servers.handle import Server

pytestmark = pytest.mark.integration

TOPOLOGY = event_topology(2)


def a_message(body: bytes, key: str = "shard.0") -> Message:
    return Message(EVENTS, key, body)


@contextmanager
def publishing(url: str) -> Iterator[Publisher]:
    declare_once(url, TOPOLOGY)
    publisher = Publisher(url)
    try:
        yield publisher
    finally:
        publisher.close()


@contextmanager
def consuming(url: str, handler: Handler, **more: Any) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(
        target=consume,
        args=(url, TOPOLOGY, event_queue(TOPOLOGY, 0), handler),
        kwargs={"prefetch": 8, "stop": stop, **more},
    )
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(10)
        assert not thread.is_alive()


class Recorder:
    """A handler that notes what it was given and answers as told; by default everything is done."""

    def __init__(self, *answers: Settlement | Exception) -> None:
        self.bodies: list[bytes] = []
        self._answers = list(answers)
        self._changed = threading.Condition()

    def __call__(self, deliveries: Sequence[Delivery]) -> Sequence[Settlement]:
        with self._changed:
            self.bodies += [delivery.body for delivery in deliveries]
            self._changed.notify_all()
            answer = self._answers.pop(0) if self._answers else DONE
        if isinstance(answer, Exception):
            raise answer
        return [answer] * len(deliveries)

    def wait_for(self, count: int) -> list[bytes]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.bodies) >= count, 15), self.bodies
            return list(self.bodies)


def ready_count(url: str, queue: str) -> int:
    connection = pika.BlockingConnection(pika.URLParameters(url))
    try:
        return int(connection.channel().queue_declare(queue, passive=True).method.message_count)
    finally:
        connection.close()


def delete_queue(url: str, queue: str) -> None:
    connection = pika.BlockingConnection(pika.URLParameters(url))
    try:
        connection.channel().queue_delete(queue)
    finally:
        connection.close()


def take(url: str, queue: str) -> tuple[bytes, dict[str, object]]:
    connection = pika.BlockingConnection(pika.URLParameters(url))
    try:
        for _ in range(50):
            method, properties, body = connection.channel().basic_get(queue, auto_ack=True)
            if method is not None:
                return body, properties.headers
            connection.sleep(0.1)
        raise AssertionError(f"nothing arrived in {queue}")
    finally:
        connection.close()


def test_a_queue_that_somebody_deletes_is_made_again(rabbitmq_url: str) -> None:
    recorder, faults = Recorder(), list[str | None]()

    with publishing(rabbitmq_url) as publisher, consuming(rabbitmq_url, recorder, listener=faults.append):
        publisher.publish([a_message(b"before")])
        recorder.wait_for(1)
        delete_queue(rabbitmq_url, f"{EVENTS}.0")
        # Who published into the gap was told so, and sends again.
        eventually(lambda: publisher.publish([a_message(b"after")]) == [0])

        assert [b"before", b"after"] == recorder.wait_for(2)

    (told,) = filter(None, faults)
    assert f"{EVENTS}.0" in told


def test_what_is_confirmed_arrives_in_order(rabbitmq_url: str) -> None:
    recorder = Recorder()
    bodies = [b"%d" % number for number in range(100)]

    with publishing(rabbitmq_url) as publisher, consuming(rabbitmq_url, recorder):
        confirmed = publisher.publish([a_message(body) for body in bodies])

        assert list(range(100)) == confirmed
        assert bodies == recorder.wait_for(100)

    assert ready_count(rabbitmq_url, f"{EVENTS}.0") == 0


def test_a_message_no_queue_wants_is_not_confirmed(rabbitmq_url: str) -> None:
    with publishing(rabbitmq_url) as publisher:
        confirmed = publisher.publish([a_message(b"lost", "nowhere"), a_message(b"kept")])

    assert confirmed == [1]


def test_a_full_queue_refuses_and_says_so(rabbitmq_url: str) -> None:
    small = event_topology(2, max_shard_bytes=100_000)
    declare_once(rabbitmq_url, small)
    publisher = Publisher(rabbitmq_url)
    try:
        answers = [publisher.publish([a_message(b"x" * 60_000)]) for _ in range(12)]
    finally:
        publisher.close()

    assert [0] in answers
    assert [] in answers


def test_a_queue_that_the_broker_does_not_hand_out_is_named_and_tried_again(rabbitmq_server: Server) -> None:
    """As when most replicas of a quorum queue are away: whoever subscribes gets no answer."""
    faults: Queue[str | None] = Queue()
    with fresh_vhost(rabbitmq_server) as url, publishing(url) as publisher:
        publisher.publish([a_message(b"kept")])
        process = f"'{urlsplit(url).path[1:]}_{EVENTS}.0'"
        rabbitmq_server.execute("rabbitmqctl", "eval", f"sys:suspend({process}).")
        recorder = Recorder()

        with consuming(url, recorder, patience_s=1.0, listener=faults.put):
            fault = faults.get(timeout=15)
            rabbitmq_server.execute("rabbitmqctl", "eval", f"sys:resume({process}).")
            assert [b"kept"] == recorder.wait_for(1)

    assert fault is not None
    assert "does not hand out the queue mosaic.events.0" in fault


def test_no_broker_is_one_kind_of_error() -> None:
    with (
        closing(Publisher("amqp://guest:guest@127.0.0.1:1/")) as publisher,
        pytest.raises(BrokerUnavailable, match="cannot be reached"),
    ):
        publisher.publish([a_message(b"x")], timeout_s=0.5)


def test_what_the_handler_wants_later_comes_again_and_is_not_lost(rabbitmq_url: str) -> None:
    recorder = Recorder(Settlement(Verdict.LATER), DatabaseUnavailable())

    with publishing(rabbitmq_url) as publisher, consuming(rabbitmq_url, recorder):
        publisher.publish([a_message(b"again")])

        assert recorder.wait_for(3) == [b"again"] * 3

    assert ready_count(rabbitmq_url, f"{EVENTS}.0") == 0


def test_what_can_never_be_used_is_dead_lettered_with_the_reason(rabbitmq_url: str) -> None:
    recorder = Recorder(Settlement(Verdict.NEVER, "not a frame"))

    with publishing(rabbitmq_url) as publisher, consuming(rabbitmq_url, recorder):
        publisher.publish([a_message(b"rubbish")])
        body, headers = take(rabbitmq_url, DEAD_EVENTS)

    assert body == b"rubbish"
    assert headers["reason"] == "not a frame"
    assert headers["queue"] == f"{EVENTS}.0"


def test_a_message_that_breaks_its_handler_does_not_take_others_with_it(rabbitmq_url: str) -> None:
    stored: list[bytes] = []

    def handler(deliveries: Sequence[Delivery]) -> Sequence[Settlement]:
        if any(delivery.body == b"poison" for delivery in deliveries):
            raise ZeroDivisionError("boom")
        stored.extend(delivery.body for delivery in deliveries)
        return [DONE] * len(deliveries)

    with publishing(rabbitmq_url) as publisher:
        publisher.publish([a_message(b"before"), a_message(b"poison"), a_message(b"after")])
        with consuming(rabbitmq_url, handler):
            body, headers = take(rabbitmq_url, DEAD_EVENTS)

    assert stored == [b"before", b"after"]
    assert body == b"poison"
    assert "failed 5 times, last with ZeroDivisionError: boom" in str(headers["reason"])


def test_a_handler_that_answers_for_too_few_gets_them_again(rabbitmq_url: str) -> None:
    """Whatever ends the thread of a handler, its messages are not kept by a consumer that looks well."""
    faults: list[str | None] = []
    given: list[bytes] = []

    def handler(deliveries: Sequence[Delivery]) -> Sequence[Settlement]:
        given.extend(delivery.body for delivery in deliveries)
        return [] if len(given) == 1 else [DONE] * len(deliveries)

    with publishing(rabbitmq_url) as publisher:
        publisher.publish([a_message(b"one")])
        with consuming(rabbitmq_url, handler, listener=faults.append):
            eventually(lambda: len(given) == 2)
            eventually(lambda: len(faults) == 3)

    assert [b"one", b"one"] == given
    assert (None, True, None) == (faults[0], str(faults[1]).startswith("ValueError: "), faults[2])


def test_what_is_unsettled_at_stop_goes_back_to_the_queue(rabbitmq_url: str) -> None:
    recorder = Recorder(*[Settlement(Verdict.LATER)] * 1000)

    with publishing(rabbitmq_url) as publisher:
        publisher.publish([a_message(b"waits")])
        with consuming(rabbitmq_url, recorder):
            recorder.wait_for(1)
        patient = Recorder()
        with consuming(rabbitmq_url, patient):
            patient.wait_for(1)

    assert patient.bodies == [b"waits"]


@contextmanager
def largest_message(server: Server, size: int) -> Iterator[None]:
    """Lower the limit of the broker's messages for a while; 3.10 looks it up in one place, 4.0 in another."""
    settings = "application:set_env(rabbit, max_message_size, {0}), persistent_term:put(max_message_size, {0})."
    server.execute("rabbitmqctl", "eval", settings.format(size))
    try:
        yield
    finally:
        server.execute("rabbitmqctl", "eval", settings.format(16 * 1024 * 1024))


def test_a_message_that_is_larger_than_the_broker_allows_is_refused_for_good_and_the_next_one_leaves(
    rabbitmq_server: Server,
) -> None:
    with (
        largest_message(rabbitmq_server, 100_000),
        fresh_vhost(rabbitmq_server) as url,
        publishing(url) as publisher,
    ):
        with pytest.raises(MessageRefused, match="100000"):
            publisher.publish([a_message(b"x" * 200_000)])

        # It may still take the connection that is being closed; what it may not do is take the blame.
        eventually(lambda: _sent(publisher, a_message(b"x" * 50_000)))


def _sent(publisher: Publisher, message: Message) -> bool:
    try:
        return publisher.publish([message]) == [0]
    except BrokerUnavailable:
        return False
