"""Runs that last longer than the broker's patience: the cases that break Celery when it executes the work itself.

The broker here drops a consumer that has not acknowledged a message within a minute, as a stock one does
after thirty. A task that trains inside Celery is then delivered again and executed twice, the worker that
held it goes deaf, and a message that was prefetched behind a long one takes the worker down as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import kombu
import pytest

from mosaic.agent.control.celery_listener import TASK, CeleryDispatchListener, build_app
from mosaic.ids import RunId
from tests.fakes.agent import Bench, a_launch, eventually
from tests.servers.handle import Server

#: RabbitMQ checks its consumers once a minute, so a minute's patience may last for two.
LONGER_THAN_ITS_PATIENCE_S = 125

WORKER = """
import json, os, sys, time
config = json.load(open(sys.argv[2]))
with open(os.environ["MOSAIC_RUN_DIR"] + "/executions", "a") as file:
    file.write("once\\n")
for _ in range(int(config["seconds"] * 10)):
    print(json.dumps({"event": "heartbeat", "payload": {}, "run_id": config["run_id"], "timestamp": 1.0}), flush=True)
    time.sleep(0.1)
"""


class BrokerBench(Bench):
    """An agent that is dispatched to over a real broker."""

    def __init__(self, root: Path, broker_url: str) -> None:
        self.dispatches = CeleryDispatchListener(broker_url)
        self._sender = build_app(broker_url)
        super().__init__(root, WORKER, agent_id=f"agent-{uuid4().hex}", listener=self.dispatches)

    def submit(self, run_id: str, seconds: float) -> None:
        launch = a_launch(run_id=RunId(run_id), config={"seconds": seconds}, lease_for=timedelta(seconds=4))
        self.scheduler.offer(launch)
        self.dispatch(run_id)

    def dispatch(self, run_id: str) -> None:
        ids = {"run_id": run_id, "attempt": 1}
        target = kombu.Queue(self.queue, kombu.Exchange(""), routing_key=self.queue, no_declare=True)
        self._sender.send_task(TASK, kwargs=ids, queue=target, declare=[], confirm_timeout=5)

    def executions(self, run_id: str) -> int:
        return len((self.root / "runs" / run_id / "executions").read_text().splitlines())


@pytest.fixture
def bench(tmp_path: Path, impatient_rabbitmq_server: Server) -> Iterator[BrokerBench]:
    bench = BrokerBench(tmp_path, impatient_rabbitmq_server.url)
    bench.agent.start()
    yield bench
    bench.agent.stop()


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_run_that_outlasts_the_brokers_patience_is_executed_once_and_the_agent_stays_reachable(
    bench: BrokerBench,
) -> None:
    started = time.monotonic()
    bench.submit("long", LONGER_THAN_ITS_PATIENCE_S)
    bench.submit("behind-it", 1)
    bench.scheduler.wait_for("succeeded", "behind-it")
    seconds_behind = time.monotonic() - started

    bench.scheduler.wait_for("succeeded", "long", timeout_s=2 * LONGER_THAN_ITS_PATIENCE_S)
    bench.submit("after-it", 0.1)
    bench.scheduler.wait_for("succeeded", "after-it")

    assert seconds_behind < 30
    assert [1, 1, 1] == [bench.executions(run_id) for run_id in ("long", "behind-it", "after-it")]
    assert bench.agent.faults() == {}


def test_a_dispatch_that_comes_twice_executes_once(bench: BrokerBench) -> None:
    bench.submit("twice", 1)
    for _ in range(5):
        bench.dispatch("twice")

    bench.scheduler.wait_for("succeeded", "twice")

    assert 1 == bench.executions("twice")


def test_a_run_goes_on_while_the_broker_is_away(bench: BrokerBench, impatient_rabbitmq_server: Server) -> None:
    """Celery would cancel it, or execute it again next to itself."""
    bench.submit("goes-on", 8)
    bench.scheduler.wait_for("started", "goes-on")

    impatient_rabbitmq_server.kill()
    impatient_rabbitmq_server.start()
    bench.scheduler.wait_for("succeeded", "goes-on", timeout_s=60)

    assert 1 == bench.executions("goes-on")
    eventually(lambda: bench.dispatches.fault is None, timeout_s=30)


def test_two_agents_with_one_name_do_not_lock_each_other_out(
    bench: BrokerBench, impatient_rabbitmq_server: Server
) -> None:
    """The predecessor may be frozen and still connected; a reused node name would end the newcomer."""
    newcomer = CeleryDispatchListener(impatient_rabbitmq_server.url)
    newcomer.listen(bench.queue, lambda *_: None)

    newcomer.start()

    assert newcomer.fault is None
    newcomer.stop()
