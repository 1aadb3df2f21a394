"""Celery's consumer, cut down to what dispatch needs and fit to run in a thread beside others.

Celery's own loop for AMQP lives in a hub that all workers of a process would share; its other loop
sends no heartbeats, declares 28 queues for delays that dispatches never have, and ends for the whole
process at once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import structlog
from celery import bootsteps
from celery.exceptions import WorkerShutdown
from celery.worker.consumer import Consumer

log = structlog.get_logger()

#: How long the loop sleeps when nothing comes; also how late it notices that it should end.
_NAP_S = 0.5
_HEARTBEAT_CHECKS = 2
_CONSUME_PATIENCE_S = 10.0
_RETRY = {"interval_start": 0.1, "interval_step": 0.4, "interval_max": 2.0}


class DispatchConsumer(Consumer):  # type: ignore[misc]
    """Receives dispatches until its blueprint is closed; reconnects for ever, within seconds."""

    class Blueprint(Consumer.Blueprint):  # type: ignore[misc]
        """The steps of Celery's consumer, but for delayed delivery."""

        default_steps = tuple(step for step in Consumer.Blueprint.default_steps if "delayed_delivery" not in str(step))

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.amqheartbeat = self.app.conf.broker_heartbeat

    def ensure_connected(self, connection: Any) -> Any:
        """Connect, trying until it works or the listener is stopped."""
        connected = connection.ensure_connection(
            self._note_fault, max_retries=None, callback=self._leave_if_closed, **_RETRY
        )
        self.first_connection_attempt = False
        return connected

    def loop(self, _consumer: Any, connection: Any, tasks: Any, blueprint: Any, *_: Any) -> None:
        """Receive dispatches until *blueprint* is closed."""
        tasks.on_message = self._guarded(self.create_task_handler())
        self._consume(connection, tasks)
        self.on_ready()
        has_heartbeats = connection.supports_heartbeats
        while blueprint.state == bootsteps.RUN:
            self.perform_pending_operations()
            with contextlib.suppress(TimeoutError):
                connection.drain_events(timeout=_NAP_S)
            if has_heartbeats:
                connection.heartbeat_check(rate=_HEARTBEAT_CHECKS)

    def _guarded(self, handle: Callable[[Any], None]) -> Callable[[Any], None]:
        """Refuse what the scheduler never sends: Celery would keep a message for later, and its place with it."""

        def receive(message: Any) -> None:
            headers = message.headers or {}
            if "task" in headers and not headers.get("eta"):
                handle(message)
            else:
                log.warning("message refused: it is no dispatch", task=str(headers.get("task"))[:100])
                message.reject()

        return receive

    def _consume(self, connection: Any, tasks: Any) -> None:
        """Ask for dispatches, and make the queue anew when the broker does not say yes.

        A quorum queue that was declared seconds before its broker was killed may exist in name only:
        asking for its messages is never answered. A lost dispatch is sent again, so the queue may go.
        """
        if connection.transport.driver_type != "amqp":
            tasks.consume()
            return
        socket = connection.connection.transport.sock
        socket.settimeout(_CONSUME_PATIENCE_S)
        try:
            tasks.consume()
        except TimeoutError:
            self._delete_queues()
            raise
        socket.settimeout(None)

    def _delete_queues(self) -> None:
        names = list(self.app.amqp.queues.consume_from)
        log.error("dispatch queue is broken, making it anew", queues=names)
        with self.app.connection_for_write() as connection:
            for name in names:
                connection.default_channel.queue_delete(name)

    def _note_fault(self, error: BaseException, pause_s: float) -> None:
        log.warning("broker not reached, trying again", reason=str(error), pause_s=pause_s)

    def _leave_if_closed(self) -> None:
        if self.blueprint.state != bootsteps.RUN:
            raise WorkerShutdown(0)
