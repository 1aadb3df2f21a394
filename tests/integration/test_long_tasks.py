"""Trainings that outlast every patience of the broker.

Each test would fail where a Celery task lasts as long as the training does. The broker gives up on
deliveries after one minute (and looks once a minute); one run outlives that while the others disturb it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pika
import pytest
from pika.exceptions import AMQPError, ChannelClosedByBroker

from mosaic.client import Run, RunDetail
from mosaic.lifecycle import AttemptState, RunState
from tests.servers.choice import ServerSet
from tests.servers.handle import Server
from tests.stack.broker import Broker
from tests.stack.evidence import compare
from tests.stack.orphans import worker_processes
from tests.stack.process import Part
from tests.stack.runs import submit, wait_for, wait_for_end, wait_for_manifest, wait_for_state
from tests.stack.stack import Servers, Stack
from tests.stack.waiting import until

#: The broker's patience and the time between two looks at it, and a little.
OUTLIVES_THE_TIMEOUT_S = 125.0
PAUSE_MS = 250.0
ENDLESS = {"episodes": 100_000, "pause_ms": PAUSE_MS}


class NaiveConsumer:
    """Takes a message and acknowledges nothing: what a task that runs as long as its training does."""

    def __init__(self, url: str) -> None:
        self.closed_with: Exception | None = None
        self._connection = pika.BlockingConnection(pika.URLParameters(url))
        channel = self._connection.channel()
        channel.queue_declare("naive", durable=True, arguments={"x-queue-type": "quorum"})
        channel.basic_publish("", "naive", b"train for hours")
        channel.basic_consume("naive", lambda *_: None)
        self._thread = threading.Thread(target=self._consume, args=(channel,), daemon=True)
        self._thread.start()

    def _consume(self, channel: pika.adapters.blocking_connection.BlockingChannel) -> None:
        try:
            channel.start_consuming()
        except AMQPError as error:
            self.closed_with = error

    def close(self) -> None:
        """Give up. Whoever consumes closes the connection; once the channel is cut off, nobody consumes."""
        if self._thread.is_alive():
            self._connection.add_callback_threadsafe(self._connection.close)
        self._thread.join(timeout=10)
        # The broker may have been restarted since; then there is nothing left to say goodbye to.
        with suppress(AMQPError):
            if self._connection.is_open:
                self._connection.close()


@pytest.fixture(scope="module")
def stack(
    _module_impatient_rabbitmq: Server, shared_servers: ServerSet, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """One agent with one slot, on a broker without patience."""
    servers = Servers(_module_impatient_rabbitmq, shared_servers.postgres, shared_servers.redis)
    settings = {"MOSAIC_SCHEDULER_RETRY_WAIT_FACTOR": "0.02"}
    with Stack(servers, tmp_path_factory.mktemp("long"), agents=1, slots=1, settings=settings) as running:
        yield running


@pytest.fixture(scope="module")
def broker(stack: Stack) -> Broker:
    return Broker(stack.servers.rabbitmq, stack.broker_url)


@pytest.fixture(scope="module")
def naive(stack: Stack) -> Iterator[NaiveConsumer]:
    # On a virtual host of its own, so that cutting the platform's connections leaves it alone.
    consumer = NaiveConsumer(stack.servers.rabbitmq.url)
    yield consumer
    consumer.close()


@pytest.fixture(scope="module")
def long_run(stack: Stack, naive: NaiveConsumer) -> Run:
    """A run on the first agent that fills its only slot for longer than the broker waits."""
    episodes = int(OUTLIVES_THE_TIMEOUT_S * 1000 / PAUSE_MS)
    run = submit(stack.mosaic, episodes=episodes, pause_ms=PAUSE_MS)
    return wait_for_state(stack.mosaic, run.run_id, RunState.RUNNING).run


@pytest.fixture(scope="module")
def second_agent(stack: Stack, long_run: Run) -> Part:
    """An agent that comes later and has one free slot."""
    return stack.add_agent("agent2")


def test_what_waits_behind_a_long_run_waits_in_the_database(stack: Stack, broker: Broker, long_run: Run) -> None:
    """E4: a prefetched, unacknowledged message behind a long task ends the consumer."""
    waiting = [submit(stack.mosaic) for _ in range(3)]

    states = {stack.mosaic.run(run.run_id).run.state for run in waiting}

    assert {RunState.QUEUED} == states
    assert 0 == broker.queues()[f"dispatch.drill.{long_run.agent_id}"]["messages"], "neither ready nor unacknowledged"
    for run in waiting:
        stack.mosaic.cancel(run.run_id)


def test_only_the_declared_queues_exist(stack: Stack, broker: Broker, long_run: Run) -> None:
    """E11, E8: no queues for delays, none for remote control; E7: no argument that older brokers ignore."""
    queues = broker.queues()

    dispatches = [name for name in queues if name.startswith("dispatch.drill.")]
    events = [name for name in queues if name.startswith("mosaic.events.")]
    assert set(queues) == {*dispatches, *events, "dispatch.dead"}
    arguments = queues[f"dispatch.drill.{long_run.agent_id}"]["arguments"]
    assert "quorum" == arguments["x-queue-type"]
    assert "dispatch.dead" == arguments["x-dead-letter-exchange"]
    assert {"x-delivery-limit", "x-expires"} < arguments.keys()
    assert not {"x-consumer-timeout", "x-max-priority"} & arguments.keys()


def test_an_agent_that_joins_does_not_get_what_already_runs(stack: Stack, long_run: Run, second_agent: Part) -> None:
    """E2: a redelivered task would start on the newcomer, beside the first."""
    run = submit(stack.mosaic)

    assert "agent2" == wait_for_end(stack.mosaic, run.run_id).attempts[0].agent_id
    assert [1] == [attempt.attempt for attempt in stack.mosaic.run(long_run.run_id).attempts]
    assert 1 == len(worker_processes(stack.runs_root / long_run.run_id))


def test_order_is_decided_by_priority_and_not_by_the_queue(stack: Stack, second_agent: Part) -> None:
    """E10: a quorum queue delivers first in, first out, whatever the priority."""
    blocker = submit(stack.mosaic, **ENDLESS)
    wait_for_state(stack.mosaic, blocker.run_id, RunState.RUNNING)
    low = submit(stack.mosaic, priority="low")
    urgent = submit(stack.mosaic, priority="urgent", episodes=1)

    stack.mosaic.cancel(blocker.run_id)

    started = [wait_for_end(stack.mosaic, run.run_id).run.started_at for run in (urgent, low)]
    assert sorted(started) == started  # type: ignore[type-var]


def test_killing_an_agent_ends_its_training_and_its_successor_ends_the_rest(stack: Stack, second_agent: Part) -> None:
    """E6, E5: a training survived the death of its Celery worker and wrote on beside its successor."""
    run = submit(stack.mosaic, grandchild=True, **ENDLESS)
    folder = stack.runs_root / run.run_id
    until(lambda: len(worker_processes(folder)) == 2, what="the worker and its child")

    second_agent.kill()

    until(lambda: not any("drill_worker" in command for command in worker_processes(folder).values()), what="its end")
    leftovers = set(worker_processes(folder))
    second_agent.start()
    second_agent.wait_until_ready()
    assert not leftovers & set(worker_processes(folder)), "gone before the agent takes anything new"
    wait_for(
        stack.mosaic,
        run.run_id,
        lambda it: it.run.attempt == 2 and it.run.state is RunState.RUNNING,
        what="running again",
    )
    stack.mosaic.cancel(run.run_id)
    wait_for_end(stack.mosaic, run.run_id)


def test_an_agent_can_be_replaced_while_its_predecessor_is_frozen(stack: Stack, second_agent: Part) -> None:
    """E8: the same node name, still held by a frozen connection, ends the successor at its start."""
    stack.mosaic.drain(agent_id="agent2")
    frozen = stack.add_agent("agent3")
    run = submit(stack.mosaic, checkpoint_every=1, **ENDLESS)
    wait_for_state(stack.mosaic, run.run_id, RunState.RUNNING)

    frozen.freeze()
    twin = stack.add_agent("twin", agent_id="agent3", node_id="agent3")

    again = wait_for(
        stack.mosaic,
        run.run_id,
        lambda it: it.run.attempt == 2 and it.run.state is RunState.RUNNING,
        what="on the twin",
    )
    assert [AttemptState.LOST, AttemptState.RUNNING] == [attempt.state for attempt in again.attempts]
    stack.mosaic.cancel(run.run_id)
    wait_for_end(stack.mosaic, run.run_id)
    twin.stop()
    frozen.thaw()
    until(lambda: not worker_processes(stack.runs_root / run.run_id), what="the attempt that was lost to be ended")
    frozen.stop()
    del stack.parts["twin"], stack.parts["agent3"]
    stack.mosaic.drain(agent_id="agent2", draining=False)


def test_lost_connections_neither_restart_nor_double_a_run(
    stack: Stack, broker: Broker, long_run: Run, second_agent: Part
) -> None:
    """E3: a worker that reconnects gets its unacknowledged task again and trains a second time."""
    before = set(worker_processes(stack.runs_root / long_run.run_id))

    # The broker lists a connection some seconds after it was opened.
    until(lambda: broker.cut_connections() >= 4, what="the connections to be cut")
    run = submit(stack.mosaic)

    assert RunState.SUCCEEDED == wait_for_end(stack.mosaic, run.run_id).run.state
    assert before == set(worker_processes(stack.runs_root / long_run.run_id))
    assert [1] == [attempt.attempt for attempt in stack.mosaic.run(long_run.run_id).attempts]


def test_a_broker_without_memory_stops_neither_training_nor_submits(
    stack: Stack, broker: Broker, long_run: Run, second_agent: Part
) -> None:
    """Publishers are blocked by a memory alarm, and one that waits for ever blocks whoever called it."""
    with broker.memory_alarm():
        asked_at = time.monotonic()
        run = submit(stack.mosaic)
        assert time.monotonic() - asked_at < 5
        said = _size_of_what_was_said(stack, long_run)
        until(lambda: _size_of_what_was_said(stack, long_run) > said + 2000, what="the training to go on")
        assert 0 == len(list(stack.mosaic.events(run.run_id)))

    assert RunState.SUCCEEDED == wait_for_end(stack.mosaic, run.run_id).run.state
    assert [1] == [attempt.attempt for attempt in stack.mosaic.run(run.run_id).attempts]


def test_a_run_that_outlives_the_delivery_timeout_completes_once(
    stack: Stack, long_run: Run, naive: NaiveConsumer, second_agent: Part
) -> None:
    """E1, E9: the broker ends the channel of a late acknowledgement, and the worker consumes no more."""
    ended = wait_for_end(stack.mosaic, long_run.run_id, seconds=OUTLIVES_THE_TIMEOUT_S + 60)

    assert [AttemptState.SUCCEEDED] == [attempt.state for attempt in ended.attempts]
    until(lambda: naive.closed_with, what="the broker to lose patience with the naive way")
    assert isinstance(naive.closed_with, ChannelClosedByBroker)
    assert 406 == naive.closed_with.reply_code
    wait_for_manifest(stack.mosaic, long_run.run_id)
    [compared] = compare(stack.mosaic, long_run.run_id, stack.runs_root).values()
    assert compared.is_whole, str(compared)
    stack.mosaic.drain(agent_id="agent2")
    following = submit(stack.mosaic)
    assert "agent1" == wait_for_end(stack.mosaic, following.run_id).attempts[0].agent_id, "it still listens"
    stack.mosaic.drain(agent_id="agent2", draining=False)


def test_a_broker_that_restarts_does_not_restart_what_runs(stack: Stack, second_agent: Part) -> None:
    """Training goes on without the broker, lines wait on disk, submits wait in the outbox."""
    run = submit(stack.mosaic, episodes=80, pause_ms=PAUSE_MS)
    wait_for_state(stack.mosaic, run.run_id, RunState.RUNNING)

    stack.servers.rabbitmq.kill()
    meanwhile = submit(stack.mosaic)
    stack.servers.rabbitmq.start()

    for asked in (run, meanwhile):
        ended = wait_for_end(stack.mosaic, asked.run_id, seconds=90)
        assert [AttemptState.SUCCEEDED] == [attempt.state for attempt in ended.attempts]
        wait_for_manifest(stack.mosaic, asked.run_id)
        [compared] = compare(stack.mosaic, asked.run_id, stack.runs_root).values()
        assert compared.is_whole, str(compared)


def is_running_again(detail: RunDetail) -> bool:
    return detail.run.attempt == 2 and detail.run.state is RunState.RUNNING


def _size_of_what_was_said(stack: Stack, run: Run) -> int:
    return sum(path.stat().st_size for path in (stack.runs_root / run.run_id / "said").iterdir())
