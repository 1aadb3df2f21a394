"""Dispatch on both of its transports: heard at once, acknowledged at once, heard again after a crash."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, Queue
from typing import Any
from uuid import uuid4

import kombu
import pika
import pytest
from celery.worker import WorkController
from kombu.exceptions import OperationalError
from pika.exceptions import ChannelClosedByBroker

from mosaic.agent.control.celery_listener import IN_PROCESS_URL, TASK, CeleryDispatchListener, build_app
from tests.fakes.agent import eventually
from tests.servers.handle import Server


class Desk:
    """A listener on a queue of its own, somebody who dispatches, and what was heard."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.queue = f"runs.script.{uuid4().hex}"
        self.heard: Queue[tuple[str, int]] = Queue()
        self.listener = CeleryDispatchListener(url)
        self.listener.listen(self.queue, lambda run_id, attempt: self.heard.put((run_id, attempt)))
        self._sender = build_app(url)

    def dispatch(self, run_id: str, attempt: int = 1, **more: Any) -> None:
        ids = {"run_id": run_id, "attempt": attempt}
        target = kombu.Queue(self.queue, kombu.Exchange(""), routing_key=self.queue, no_declare=True)
        self._sender.send_task(TASK, kwargs=ids, queue=target, declare=[], confirm_timeout=5, **more)

    def next(self, timeout_s: float = 10.0) -> tuple[str, int]:
        return self.heard.get(timeout=timeout_s)


@contextmanager
def listening(url: str) -> Iterator[Desk]:
    desk = Desk(url)
    desk.listener.start()
    try:
        yield desk
    finally:
        desk.listener.stop()


@pytest.fixture(params=["in process", "rabbitmq"])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "in process":
        return IN_PROCESS_URL
    found: str = request.getfixturevalue("rabbitmq_url")
    return found


@contextmanager
def channel(url: str) -> Iterator[pika.adapters.blocking_connection.BlockingChannel]:
    connection = pika.BlockingConnection(pika.URLParameters(url))
    try:
        yield connection.channel()
    finally:
        if connection.is_open:
            connection.close()


def test_a_dispatch_brings_its_ids(url: str) -> None:
    with listening(url) as desk:
        desk.dispatch("run-1", 3)

        assert desk.next() == ("run-1", 3)


def test_dispatches_are_heard_at_once(url: str) -> None:
    """Nothing polls: a second of kombu's own polling would show here."""
    with listening(url) as desk:
        desk.dispatch("warm-up")
        desk.next()

        started = time.monotonic()
        for number in range(10):
            desk.dispatch(f"run-{number}")
            desk.next()

        assert time.monotonic() - started < 2.0


def test_two_listeners_of_one_process_hear_their_own_dispatches(url: str) -> None:
    with listening(url) as left, listening(url) as right:
        left.dispatch("left")
        right.dispatch("right")

        assert left.next() == ("left", 1)
        assert right.next() == ("right", 1)
        assert left.heard.empty()
        assert right.heard.empty()


def test_one_listener_can_be_stopped_without_the_other(url: str) -> None:
    with listening(url) as stays:
        with listening(url) as goes:
            goes.dispatch("run-1")
            goes.next()

        stays.dispatch("run-2")

        assert stays.next() == ("run-2", 1)


def test_a_listener_stops_quickly(url: str) -> None:
    with listening(url) as desk:
        desk.dispatch("run-1")
        desk.next()
        started = time.monotonic()

    assert time.monotonic() - started < 4.0


def test_an_answer_that_fails_does_not_end_the_listening(url: str) -> None:
    desk = Desk(url)

    def fail_once(run_id: str, attempt: int) -> None:
        if run_id == "bad":
            raise RuntimeError("this answer fails")
        desk.heard.put((run_id, attempt))

    desk.listener.listen(desk.queue, fail_once)
    desk.listener.start()
    desk.dispatch("bad")
    desk.dispatch("good")

    assert desk.next() == ("good", 1)
    desk.listener.stop()


def test_a_dispatch_is_acknowledged_before_anything_is_executed(rabbitmq_url: str) -> None:
    """What is not acknowledged meets the broker's delivery timeout, and is executed twice."""
    with listening(rabbitmq_url) as desk:
        desk.dispatch("run-1")
        desk.next()

        desk.listener.stop()

        with channel(rabbitmq_url) as broker:
            left = broker.queue_declare(desk.queue, passive=True).method.message_count
        assert left == 0


def test_celery_declares_our_queues_and_no_others(rabbitmq_url: str) -> None:
    with listening(rabbitmq_url) as desk, channel(rabbitmq_url) as broker:
        broker.queue_declare(desk.queue, passive=True)

        with pytest.raises(ChannelClosedByBroker, match="NOT_FOUND"):
            broker.queue_declare("celery_delayed_0", passive=True)


def test_dispatches_are_heard_again_after_the_broker_restarts(rabbitmq_server: Server) -> None:
    with listening(rabbitmq_server.url) as desk:
        rabbitmq_server.stop()
        rabbitmq_server.start()

        eventually(lambda: _is_heard(desk), timeout_s=60)


def test_a_queue_that_a_killed_broker_lost_is_made_anew(rabbitmq_server: Server) -> None:
    """RabbitMQ remembers the name of a young quorum queue, but not the queue: nobody can consume from it."""
    with listening(rabbitmq_server.url) as desk:
        rabbitmq_server.kill()
        rabbitmq_server.start()

        eventually(lambda: _is_heard(desk), timeout_s=90)


def test_an_agent_may_start_before_its_broker(rabbitmq_server: Server) -> None:
    rabbitmq_server.stop()
    desk = Desk(rabbitmq_server.url)
    desk.listener.start(ready_timeout_s=0.5)
    fault = desk.listener.fault

    rabbitmq_server.start()

    assert fault == "the broker is not reached"
    eventually(lambda: _is_heard(desk), timeout_s=60)
    assert desk.listener.fault is None
    desk.listener.stop()


def _is_heard(desk: Desk) -> bool:
    try:
        desk.dispatch("run-1")
        desk.next(timeout_s=1.0)
    except (OperationalError, OSError, Empty):
        return False
    return True


def test_a_worker_that_breaks_is_replaced_by_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = iter([ValueError("out of all bounds")])
    stop = WorkController.stop

    def break_once(worker: WorkController, *arguments: Any, **more: Any) -> Any:
        for fault in ends:
            raise fault
        return stop(worker, *arguments, **more)

    monkeypatch.setattr(WorkController, "stop", break_once)
    with listening(IN_PROCESS_URL) as desk:
        broken = desk.listener._worker
        assert broken is not None
        broken.end()
        eventually(lambda: desk.listener._worker not in (None, broken) and desk.listener.fault is None)

        desk.dispatch("run-1")

        assert ("run-1", 1) == desk.next()


def test_a_message_for_later_holds_up_nothing(url: str) -> None:
    """Celery would keep it, and with it the only place for a message, until its time has come."""
    with listening(url) as desk:
        desk.dispatch("run-1", countdown=86_400)
        desk.dispatch("run-2")

        assert ("run-2", 1) == desk.next()
        assert desk.listener.fault is None
