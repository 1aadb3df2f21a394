"""What the front door costs: a run, a list out of 100,000, submits, 200 who watch. The last line is one JSON object.

Services and console are processes on real servers, as on a cluster. Beside each figure stands its baseline of the same
round: the same question asked of the service itself, without the door, and for memory the libraries alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa

from bench.memory import resident_mb
from bench.platforms import TINY, percentile, stack
from mosaic.client import Login, Mosaic, Resources, RunSpec
from mosaic.ids import UserName, WorkerName, new_run_id
from mosaic.model.identity import Caller, Role
from mosaic.model.run import RunFilter
from mosaic_console.adapters.grpc_platform import Endpoints, GrpcServices
from tests.stack.environment import WORKER
from tests.stack.runs import wait_for_end
from tests.stack.stack import Stack

STORED = 100_000
PAGE = 50
VIEWERS = 200
_OWNER = Caller(UserName("ada"), roles=frozenset({Role.ADMIN}))
_SMALL = Resources(cpus=0.1, memory_mb=16)
_BARE = "import fastapi, grpc, jinja2, uvicorn, sys; sys.stdin.read()"


def fill(running: Stack, count: int) -> None:
    """Store *count* copies of a run that has ended, older than all others."""
    (run,) = running.mosaic.submit(WORKER, TINY, seed=1, resources=_SMALL)
    wait_for_end(running.mosaic, run.run_id)
    engine = sa.create_engine(running.database_url("scheduler").replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        columns = connection.execute(sa.text("SELECT * FROM runs LIMIT 0")).keys()
        names = ", ".join(f'"{name}"' for name in columns if name != "run_id")
        then = time.time() - 90 * 86_400
        ids = [{"id": new_run_id(then + number)} for number in range(count)]
        copy = sa.text(f'INSERT INTO runs ("run_id", {names}) SELECT :id, {names} FROM runs WHERE run_id = :it')
        for first in range(0, count, 5000):
            connection.execute(copy, [{**one, "it": run.run_id} for one in ids[first : first + 5000]])
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("ANALYZE runs"))
    engine.dispose()


def in_turns(rounds: int, door: Callable[[], object], bare: Callable[[], object]) -> tuple[float, float]:
    """Return the medians of both in milliseconds, taken in turns."""
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 10):
        for times, ask in zip(taken, (door, bare), strict=True):
            began = time.perf_counter()
            ask()
            if number >= 10:
                times.append((time.perf_counter() - began) * 1000)
    return median(taken[0]), median(taken[1])


def submits_per_s(makers: list[Callable[[RunSpec], object]], count: int) -> float:
    """Return how many runs a second all *makers* together submit, each one at a time, one run each."""
    # Nothing of it starts: what is measured is the way to the store and back.
    later = datetime.now(timezone.utc) + timedelta(days=1)
    spec = RunSpec(WorkerName(WORKER), TINY, seed=1, not_before=later, resources=_SMALL)
    threads = [
        threading.Thread(target=lambda submit=submit: [submit(spec) for _ in range(count // len(makers))])
        for submit in makers
    ]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return count / (time.perf_counter() - began)


async def watch(login: Login, run_ids: list[str], ready: asyncio.Semaphore) -> dict[str, float]:
    """Follow the runs until all have ended; return when the end of each was heard. A number that is not new fails."""
    place = urlsplit(login.url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    topics = ",".join(f"run:{run_id}" for run_id in run_ids)
    writer.write(
        f"GET /api/v1/live?topics={topics} HTTP/1.1\r\nHost: {place.netloc}\r\n"
        f"Authorization: Bearer {login.token}\r\n\r\n".encode()
    )
    ended: dict[str, float] = {}
    seq = 0
    while len(ended) < len(run_ids):
        line = (await reader.readline()).decode()
        assert line, "the stream broke off"
        if line.startswith("retry:"):
            ready.release()
        if line.startswith("id: "):
            number = int(line.partition(".")[2])
            assert number > seq, "a number came twice"
            seq = number
        if line.startswith("data: "):
            run = json.loads(line.removeprefix("data: "))["run"]
            if run["ended_at"]:
                ended.setdefault(run["run_id"], time.time() - datetime.fromisoformat(run["ended_at"]).timestamp())
    writer.close()
    return ended


async def watched(running: Stack, viewers: int, runs: int) -> tuple[int, float]:
    """Return how many viewers heard of every end, and the 95th percentile of how late they heard, in seconds."""
    ready = asyncio.Semaphore(0)
    config = {"episodes": 20, "steps": 5, "pause_ms": 100.0}
    made = [running.mosaic.submit(WORKER, config, seed=seed, resources=_SMALL)[0].run_id for seed in range(runs)]
    tasks = [asyncio.create_task(watch(running.login, made, ready)) for _ in range(viewers)]
    for _ in range(viewers):
        await ready.acquire()
    done, late = await asyncio.wait(tasks, timeout=120)
    for task in late:
        task.cancel()
    heard = [task.result() for task in done if task.exception() is None]
    delays = [delay for ended in heard for delay in ended.values()]
    return len(heard), percentile(delays, 95)


def bare_mb() -> float:
    """Return the resident memory of the libraries alone."""
    with subprocess.Popen([sys.executable, "-c", _BARE], stdin=subprocess.PIPE) as process:
        time.sleep(4)
        found = resident_mb(process.pid)
        process.kill()
    return found


def measure(running: Stack, services: GrpcServices, stored: int) -> dict[str, Any]:
    """Return every figure."""
    door, bare = running.mosaic, services.of(_OWNER)
    fill(running, stored)
    at_rest = resident_mb(running.parts["console"].pid)
    run_id = door.runs(limit=1)[0].run_id
    get, bare_get = in_turns(200, lambda: door.run(run_id), lambda: bare.run(run_id))
    listed, bare_listed = in_turns(100, lambda: door.runs(limit=PAGE), lambda: bare.page(RunFilter(), size=PAGE))
    clients = [Mosaic(running.login) for _ in range(8)]
    submitted = submits_per_s([client.submit for client in clients], 800)
    bare_submitted = submits_per_s([services.of(_OWNER).submit for _ in range(8)], 800)
    for client in clients:
        client.close()
    viewers, late = asyncio.run(watched(running, VIEWERS, 10))
    return {
        "get_run_p50_ms": round(get, 2),
        "bare_get_run_p50_ms": round(bare_get, 2),
        "list_runs_p50_ms": round(listed, 2),
        "bare_list_runs_p50_ms": round(bare_listed, 2),
        "stored": stored,
        "page": PAGE,
        "submit_per_s": round(submitted, 1),
        "bare_submit_per_s": round(bare_submitted, 1),
        "live_viewers": viewers,
        "live_p95_s": round(late, 2),
        "console_mb": round(at_rest, 1),
        "console_mb_after": round(resident_mb(running.parts["console"].pid), 1),
        "bare_mb": round(bare_mb(), 1),
    }


def main() -> None:
    """Measure, and print the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stored", type=int, default=STORED)
    stored = parser.parse_args().stored
    with stack(slots=10) as running:
        services = GrpcServices(Endpoints(*running.addresses.values(), running.certificates.service("console")))
        try:
            figures = measure(running, services, stored)
        finally:
            services.close()
    for name, value in figures.items():
        print(f"{name:24} {value:>12,}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
