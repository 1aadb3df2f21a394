"""Dispatch to agents through Celery: JSON, ids only, confirmed or refused within a deadline."""

from __future__ import annotations

from celery import Celery
from kombu.entity import Exchange, Queue
from kombu.exceptions import OperationalError

from mosaic.errors import BrokerUnavailable
from mosaic.ids import RunId
from mosaic.messaging.connection import tls_options
from mosaic.messaging.topology import DEAD_DISPATCHES

#: The one task there is; agents register it under this name.
TASK = "mosaic.dispatch"

_DEADLINE_S = 5

#: Where dispatches end that an agent refused; kept short, since a lease brings a lost run back anyway.
_DEAD = Queue(
    DEAD_DISPATCHES,
    Exchange(DEAD_DISPATCHES, "fanout"),
    queue_arguments={"x-queue-type": "quorum", "x-max-length": 10_000},
)


class CeleryDispatcher:
    """Publishes the task to the queue of one agent, which only that agent declares."""

    def __init__(self, app: Celery) -> None:
        """Use *app*, whose transport confirms what it publishes."""
        self._app = app

    def dispatch(self, queue: str, run_id: RunId, attempt: int) -> None:
        """Ask the agent behind *queue* to look at the attempt.

        Raises:
            BrokerUnavailable: the broker did not confirm in time.
        """
        target = Queue(queue, Exchange(""), routing_key=queue, no_declare=True)
        try:
            self._app.send_task(
                TASK,
                kwargs={"run_id": run_id, "attempt": attempt},
                queue=target,
                declare=[_DEAD],
                retry=True,
                retry_policy={"max_retries": 1, "interval_start": 0},
                timeout=_DEADLINE_S,
                confirm_timeout=_DEADLINE_S,
            )
        except (OperationalError, OSError) as error:
            raise BrokerUnavailable(f"the broker did not take the dispatch to {queue}: {error}") from error


def producer_app(broker_url: str) -> Celery:
    """Return the Celery application that only publishes."""
    app = Celery("mosaic-scheduler", broker=broker_url, set_as_current=False)
    app.conf.update(
        broker_use_ssl=tls_options(broker_url),
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_create_missing_queues=False,
        broker_connection_retry_on_startup=True,
        broker_transport_options={
            "confirm_publish": True,
            "max_retries": 1,
            "interval_start": 0,
            "interval_max": 1,
        },
        broker_connection_timeout=_DEADLINE_S,
        worker_send_task_events=False,
    )
    return app
