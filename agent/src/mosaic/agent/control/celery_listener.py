"""Dispatch through Celery: a message carries two ids, is acknowledged at once, and never runs anything long.

The broker's delivery timeout, prefetching, redelivery and shutdown rules all bite tasks that last as
long as a training does. None of them can bite a task that lasts a millisecond.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
import uuid
from collections.abc import Iterable
from typing import Any

import structlog
from celery import Celery, bootsteps
from celery.worker import WorkController
from kombu.entity import Exchange, Queue

from mosaic.agent.control.memory_transport import TRANSPORT, interrupt
from mosaic.agent.ports import OnDispatch
from mosaic.messaging.connection import tls_options
from mosaic.messaging.topology import DEAD_DISPATCHES

log = structlog.get_logger()

TASK = "mosaic.dispatch"
#: A broker URL that stands for this process: no broker at all.
IN_PROCESS_URL = "memory://"

_QUEUE_EXPIRES_MS = 3_600_000
_DELIVERY_LIMIT = 5
_RESTART_PAUSE_S = 1.0
_STOP_PATIENCE_S = 5.0
_CONFIRMED = {"confirm_publish": True, "max_retries": 5, "interval_start": 0, "interval_max": 2}


def dispatch_queue(name: str) -> Queue:
    """Return the queue of one agent, which declares it; where its refused dispatches go, the scheduler declares."""
    arguments = {
        "x-queue-type": "quorum",
        "x-expires": _QUEUE_EXPIRES_MS,
        "x-delivery-limit": _DELIVERY_LIMIT,
        # Not the default exchange: who may write to that one reaches every queue.
        "x-dead-letter-exchange": DEAD_DISPATCHES,
    }
    # The default exchange routes by queue name, so a sender needs to declare nothing.
    return Queue(name, Exchange(""), routing_key=name, durable=True, queue_arguments=arguments)


def build_app(broker_url: str, queues: Iterable[str] = ()) -> Celery:
    """Return a Celery application that knows one task and declares *queues*; it connects to nothing yet."""
    is_in_process = broker_url == IN_PROCESS_URL
    app = Celery("mosaic", set_as_current=False, fixups=[])
    # Celery would bind every queue to an exchange of its own, which an agent has no right to declare.
    app.amqp.default_exchange = Exchange("")
    app.conf.update(
        broker_url="memory://localhost//" if is_in_process else broker_url,
        broker_transport=TRANSPORT if is_in_process else None,
        broker_use_ssl=tls_options(broker_url),
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_acks_late=False,
        task_reject_on_worker_lost=False,
        task_create_missing_queues=False,
        task_queues=[dispatch_queue(name) for name in queues],
        worker_prefetch_multiplier=1,
        worker_concurrency=1,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        worker_detect_quorum_queues=True,
        # Nothing is ever unacknowledged while it runs, so there is nothing to cancel; False would only warn.
        worker_cancel_long_running_tasks_on_connection_loss=True,
        worker_consumer="mosaic.agent.control.celery_consumer:DispatchConsumer",
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_heartbeat=30,
        broker_transport_options={} if is_in_process else _CONFIRMED,
    )
    return app


class _Worker(WorkController):  # type: ignore[misc]
    """A Celery worker that says when it listens and can be ended from another thread."""

    def __init__(self, **options: Any) -> None:
        self.ready = threading.Event()
        super().__init__(**options)

    def on_consumer_ready(self, consumer: Any) -> None:
        self.ready.set()

    def end(self) -> None:
        """Let the loop run out. Celery's own flag for this would end every worker of the process."""
        self.consumer.blueprint.state = bootsteps.CLOSE
        interrupt()


class CeleryDispatchListener:
    """A Celery worker in a thread that passes dispatches on to whoever listens on the queue they came by.

    It installs no signal handlers, and its node name is never used twice.
    """

    def __init__(self, broker_url: str) -> None:
        self._broker_url = broker_url
        self._handlers: dict[str, OnDispatch] = {}
        self._worker: _Worker | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dispatch", daemon=True)

    @property
    def fault(self) -> str | None:
        """Why no dispatch arrives at the moment, None when they do."""
        worker = self._worker
        is_listening = worker is not None and worker.ready.is_set() and worker.consumer.connection is not None
        return None if is_listening else "the broker is not reached"

    def listen(self, queue: str, on_dispatch: OnDispatch) -> None:
        """Call *on_dispatch* for everything that arrives in *queue*. Call it before `start`."""
        self._handlers[queue] = on_dispatch

    def start(self, ready_timeout_s: float = 10.0) -> None:
        """Listen from now on; waits a while for the broker, then goes on trying in the background."""
        for noisy in ("celery.worker.strategy", "celery.app.trace"):
            logging.getLogger(noisy).setLevel(logging.WARNING)
        self._worker = worker = self._new_worker()
        self._thread.start()
        if not worker.ready.wait(ready_timeout_s):
            log.warning("broker not reached yet, trying on", queues=sorted(self._handlers))

    def stop(self) -> None:
        """Listen no more."""
        self._stopping.set()
        deadline = time.monotonic() + _STOP_PATIENCE_S
        # A loop that was just going to sleep does not see that it should end: tell it until it has.
        while self._thread.is_alive() and time.monotonic() < deadline:
            worker = self._worker
            if worker is not None:
                worker.end()
            self._thread.join(timeout=0.05)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._listen()
            except Exception:
                log.exception("dispatch listener broke, starting it again")
                self._stopping.wait(_RESTART_PAUSE_S)

    def _listen(self) -> None:
        """Pass dispatches on until the worker ends; the next one is a new one."""
        worker = self._worker = self._worker or self._new_worker()
        try:
            # Celery looks its tasks up in the application of the thread.
            worker.app.set_current()
            worker.start()
            worker.stop()
        finally:
            self._worker = None
        if not self._stopping.wait(_RESTART_PAUSE_S if worker.exitcode else 0):
            log.error("dispatch listener ended by itself, starting it again", exit_code=worker.exitcode)

    def _new_worker(self) -> _Worker:
        app = build_app(self._broker_url, self._handlers)
        self._register_task(app)
        return _Worker(
            app=app,
            pool="solo",
            use_eventloop=False,
            concurrency=1,
            hostname=f"agent-{uuid.uuid4().hex}@{socket.gethostname()}",
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            task_events=False,
            quiet=True,
        )

    def _register_task(self, app: Celery) -> None:
        handlers = self._handlers

        def answer(self: Any, run_id: str, attempt: int) -> None:
            handlers[self.request.delivery_info["routing_key"]](run_id, attempt)

        app.task(name=TASK, bind=True, ignore_result=True, shared=False)(answer)
        app.finalize()
