"""Telemetry end to end: from a worker's stdout to committed in PostgreSQL, through RabbitMQ.

A worker prints lines of 200 bytes, half metrics, half steps. The agent's own reader, spool and shipper
take them; the telemetry service, a process of its own, stores them. The clock stops when the database
shows the last one. The bare figure is what the same broker does with the same lines in batches of the
same size when nothing is done to them: published with confirms to an equal quorum queue, consumed and
acknowledged. Both are measured in turn, several times, because machines are noisy; medians count. The
last line is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from urllib.error import URLError
from urllib.request import urlopen

import psycopg

from mosaic.agent.telemetry.backlog import Backlog
from mosaic.agent.telemetry.lines import Mask
from mosaic.agent.telemetry.pipes import Listener
from mosaic.agent.telemetry.shipper import Shipper
from mosaic.agent.telemetry.spool import FRAME_BYTES, Spool
from mosaic.agent.telemetry.stream import Stream
from mosaic.events.proof import EventKey
from mosaic.hosting.settings import variable_of
from mosaic.messaging.consumer import DONE, Delivery, Settlement, consume
from mosaic.messaging.event_messages import BrokerFrameSink
from mosaic.messaging.publisher import Message, Publisher
from mosaic.messaging.topology import EVENTS, event_queue, event_routing_key, event_topology
from mosaic.testing.certificates import certificates, environment
from mosaic.testing.ports import free_port
from tests.servers.answers import plain_postgres_url
from tests.servers.choice import ServerSet, servers
from tests.servers.fresh import fresh_database

RUN_ID = "01JD00000000000000BENCH000"
EVENT_KEY = "0" * 64
LINE_BYTES = 200
_BLOCK_LINES = 2_000
_IN_FLIGHT = 64


@dataclass(frozen=True)
class Whole:
    """What the whole way took."""

    events_per_s: float
    #: CPU seconds while events flowed; what the worker took to make them is not in it.
    agent_cpu_s: float
    service_cpu_s: float


def some_lines(first: int, count: int) -> bytes:
    """Return *count* lines of 200 bytes, newline included, as our emitter writes them."""
    lines = []
    for step in range(first, first + count):
        if step % 2:
            payload = f'"name":"losses/value_loss_{step // 2 % 8}","step":{step},"value":{step * 0.37 % 1:.9f}'
            event = "metric"
        else:
            payload = f'"episode_index":{step // 500},"reward":{step * 0.11 % 1:.6f},"step_index":{step % 500}'
            event = "step"
        head = f'{{"event":"{event}","payload":{{{payload}}},"run_id":"{RUN_ID}","timestamp":1763265600.'
        lines.append(head + f"{step % 10**6:06d}".ljust(LINE_BYTES - len(head) - 2, "0") + "}\n")
    return "".join(lines).encode()


def work(events: int) -> None:
    """Be the worker: when asked, print *events* lines as fast as the pipe takes them."""
    blocks = [some_lines(first, _BLOCK_LINES) for first in range(0, 20 * _BLOCK_LINES, _BLOCK_LINES)]
    ready = sys.stdin.fileno()
    os.write(ready, b"r")
    os.read(ready, 1)
    for number in range(events // _BLOCK_LINES):
        os.write(1, blocks[number % len(blocks)])


def be_agent(url: str, events: int) -> None:
    """Be the agent of one attempt: read the worker's pipe, spool, ship; say when the worker began and what it took."""
    publisher = Publisher(url)
    shipper = Shipper(BrokerFrameSink(publisher))
    shipper.start()
    with tempfile.TemporaryDirectory() as folder:
        backlog = Backlog(2**33)
        event_key = EventKey(EVENT_KEY).of_attempt(RUN_ID, 1)
        spool = Spool(Path(folder), RUN_ID, 1, event_key=event_key, on_growth=backlog.change)
        shipper.add(spool)
        stream = Stream(spool, mask=Mask({}), backlog=backlog, clock=time.time)
        spent_s = asyncio.run(_listen(stream, shipper, events))
        spool.flush()
        shipper.last(spool)
        shipper.wait_until_empty(600)
        print(json.dumps({"cpu_s": time.process_time() - spent_s}), flush=True)
        shipper.stop()
    publisher.close()


async def _listen(stream: Stream, shipper: Shipper, events: int) -> float:
    """Hear the worker to its end; return the CPU seconds spent before it began."""
    loop = asyncio.get_running_loop()
    command = [sys.executable, "-m", "bench.telemetry", "--role", "worker", "--events", str(events)]
    ours, theirs = socket.socketpair()
    worker = subprocess.Popen(
        command, stdin=theirs.fileno(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, pipesize=2**20
    )
    assert worker.stdout
    assert worker.stderr
    listener = Listener(
        stream,
        loop,
        on_lifecycle_line=lambda _: None,
        on_first_line=lambda: None,
        on_frames=shipper.wake,
    )
    listener.listen(worker.stdout.fileno(), worker.stderr.fileno(), is_roomy=True)
    ours.recv(1)
    print(json.dumps({"started": time.time()}), flush=True)
    spent_s = time.process_time()
    ours.send(b"x")
    while worker.poll() is None:
        await asyncio.sleep(0.01)
    listener.drain()
    return spent_s


def measure_whole(amqp_url: str, database_url: str, events: int) -> Whole:
    """Measure from the worker's first line to the last commit."""
    with tempfile.TemporaryDirectory() as folder, _service(amqp_url, database_url, folder) as service:
        agent = subprocess.Popen(_role("agent", amqp_url, events), stdout=subprocess.PIPE)
        assert agent.stdout is not None
        started = float(json.loads(agent.stdout.readline())["started"])
        spent_s = _cpu_s(service)
        ended = _wait_for(database_url, events)
        service_cpu_s = _cpu_s(service) - spent_s
        agent_cpu_s = float(json.loads(agent.stdout.readline())["cpu_s"])
        agent.wait()
    return Whole(events / (ended - started), agent_cpu_s, service_cpu_s)


def _cpu_s(process: subprocess.Popen[bytes]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _role(role: str, url: str, events: int) -> list[str]:
    return [sys.executable, "-m", "bench.telemetry", "--role", role, "--url", url, "--events", str(events)]


@contextmanager
def _service(amqp_url: str, database_url: str, folder: str) -> Iterator[subprocess.Popen[bytes]]:
    health = f"127.0.0.1:{free_port()}"
    settings = {
        "database_url": database_url,
        "broker_url": amqp_url,
        "manifest_root": folder,
        "event_key": EVENT_KEY,
        "grpc_address": "127.0.0.1:0",
        "health_address": health,
        "log_level": "error",
    }
    env = {**os.environ, **{variable_of("MOSAIC_TELEMETRY", name): value for name, value in settings.items()}}
    env |= environment(certificates().service("telemetry"))
    process = subprocess.Popen([sys.executable, "-m", "mosaic_telemetry"], env=env)
    try:
        while not _is_ready(health):
            assert process.poll() is None
            time.sleep(0.1)
        yield process
    finally:
        process.terminate()
        process.wait()


def _is_ready(health: str) -> bool:
    try:
        with urlopen(f"http://{health}/readyz", timeout=5):
            return True
    except (URLError, OSError):
        return False


def _wait_for(database_url: str, events: int) -> float:
    """Return the moment at which the database showed all *events*."""
    query = "SELECT counts FROM telemetry_streams WHERE run_id = %s"
    # One connection without transactions: asking must not take what is measured.
    with psycopg.connect(plain_postgres_url(database_url), autocommit=True) as connection:
        while True:
            row = connection.execute(query, [RUN_ID]).fetchone()
            if row is not None and sum(json.loads(row[0]).values()) >= events:
                return time.time()
            time.sleep(0.02)


def measure_bare(amqp_url: str, events: int) -> float:
    """Return events per second when the broker alone handles them."""
    receiver = subprocess.Popen(_role("receiver", amqp_url, events), stdout=subprocess.PIPE)
    assert receiver.stdout is not None
    receiver.stdout.readline()
    per_batch = FRAME_BYTES // LINE_BYTES
    body = some_lines(0, per_batch)
    message = Message(EVENTS, event_routing_key(RUN_ID, 4), body)
    publisher = Publisher(amqp_url)
    publisher.publish([message])
    batches = events // per_batch
    started = time.time()
    for begin in range(0, batches, _IN_FLIGHT):
        wave = [message] * min(_IN_FLIGHT, batches - begin)
        confirmed = publisher.publish(wave, timeout_s=60)
        assert len(confirmed) == len(wave)
    ended = json.loads(receiver.stdout.readline())["ended"]
    publisher.close()
    receiver.wait()
    return batches * per_batch / float(ended - started)


def receive(url: str, events: int) -> None:
    """Be the bare consumer: take everything, acknowledge it, say when the last one came."""
    per_batch = FRAME_BYTES // LINE_BYTES
    expected, received, stop = 1 + events // per_batch, 0, threading.Event()

    def take(deliveries: Sequence[Delivery]) -> Sequence[Settlement]:
        nonlocal received
        received += len(deliveries)
        if received >= expected:
            print(json.dumps({"ended": time.time()}), flush=True)
            stop.set()
        return [DONE] * len(deliveries)

    topology = event_topology()
    shard = int(event_routing_key(RUN_ID, 4).rpartition(".")[2])
    consume(
        url,
        topology,
        event_queue(topology, shard),
        take,
        prefetch=64,
        stop=stop,
        listener=lambda fault: print(json.dumps({"ready": fault is None}), flush=True),
    )


def _measure(running: ServerSet, events: int, rounds: int) -> tuple[list[float], list[Whole]]:
    """Return the bare figures and the whole ones that lie between them."""
    broker = running.rabbitmq.url
    bare, whole = [measure_bare(broker, events)], []
    for _ in range(rounds):
        with fresh_database(running.postgres) as database:
            whole.append(measure_whole(broker, database, events))
        bare.append(measure_bare(broker, events))
    return bare, whole


def _report(bare: Sequence[float], whole: Sequence[Whole], events: int) -> None:
    ratios = [
        one.events_per_s * 2 / (before + after) for one, (before, after) in zip(whole, pairwise(bare), strict=True)
    ]
    speed = median(one.events_per_s for one in whole)
    agent_us, service_us = (
        median(seconds) / events * 1e6
        for seconds in ([one.agent_cpu_s for one in whole], [one.service_cpu_s for one in whole])
    )
    print(f"bare publish and consume  {median(bare):12,.0f} events/s   {_each(bare)}")
    print(f"worker to PostgreSQL      {speed:12,.0f} events/s   {_each([one.events_per_s for one in whole])}")
    print(f"CPU per event             agent {agent_us:.2f} us, telemetry service {service_us:.2f} us")
    print(f"ratio                     {' '.join(f'{ratio:.3f}' for ratio in ratios)}")
    figures = {"events_per_s": round(speed), "ratio_to_bare": round(median(ratios), 3), "bare": round(median(bare))}
    print(json.dumps({**figures, "agent_us": round(agent_us, 2), "service_us": round(service_us, 2)}))


def _each(figures: Sequence[float]) -> str:
    return " ".join(f"{figure:,.0f}" for figure in figures)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--role", choices=["worker", "agent", "receiver"])
    parser.add_argument("--url", default="")
    chosen = parser.parse_args()
    if chosen.role == "worker":
        return work(chosen.events)
    if chosen.role == "agent":
        return be_agent(chosen.url, chosen.events)
    if chosen.role == "receiver":
        return receive(chosen.url, chosen.events)
    events = chosen.events // _BLOCK_LINES * _BLOCK_LINES
    with servers(["rabbitmq", "postgres"], durable=True) as running:
        _report(*_measure(running, events, chosen.rounds), events)
    return None


if __name__ == "__main__":
    main()
