"""How long one scheduling round takes, from scratch and after ten changes, at growing fleet sizes.

``python bench/plan.py`` prints a table for 1x, 4x and 16x of the base fleet (1,000 nodes of 8 GPUs,
8,000 running, 10,000 queued) and ends with one JSON line about the base fleet. Each size runs in
its own process, so that its memory is its own.
"""

from __future__ import annotations

import gc
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta, timezone
from statistics import median
from typing import TypeVar

from mosaic.ids import AgentId, GpuId, NodeId, RunId, TeamName, UserName, WorkerName
from mosaic.model.resources import Resources
from mosaic.model.run import Priority
from mosaic.model.team import Quota, Team
from mosaic_scheduler.domain.changes import AttemptEnded, NodeIs, PlanningChange, RunQueued
from mosaic_scheduler.domain.enactment import changes_of, enacted
from mosaic_scheduler.domain.planner import Planner
from mosaic_scheduler.domain.policy import plan
from mosaic_scheduler.domain.run import QueuedRun, ResumeGrade
from mosaic_scheduler.domain.snapshot import Agent, Gpu, Node, Snapshot

ValueT = TypeVar("ValueT")

NOW = datetime(2030, 1, 1, tzinfo=timezone.utc)
NODES, QUEUED, RUNNING, TEAMS, USERS_PER_TEAM = 1000, 10_000, 8000, 20, 10
WORKERS = ("cleanrl", "xuance", "rllib", "llm-agents")
ROUNDS = 9
CHANGES = 10

#: What runs ask for, and how often: most are small.
SHAPES = (
    (5, Resources(cpus=3, memory_mb=16_000, gpu_fraction=0.25)),
    (7, Resources(cpus=4, memory_mb=16_000, gpu_fraction=0.5)),
    (67, Resources(cpus=6, memory_mb=32_000, gpus=1)),
    (10, Resources(cpus=12, memory_mb=64_000, gpus=2)),
    (3, Resources(cpus=24, memory_mb=128_000, gpus=4)),
    (2, Resources(cpus=48, memory_mb=256_000, gpus=8)),
    (6, Resources(cpus=4, memory_mb=16_000)),
)
LIMITS = (None, timedelta(hours=1), timedelta(hours=8))
PRIORITIES = (
    (10, Priority.LOW),
    (75, Priority.NORMAL),
    (12, Priority.HIGH),
    (3, Priority.URGENT),
)


@dataclass(frozen=True)
class Measured:
    """The medians of one fleet size."""

    factor: int
    queued: int
    running: int
    nodes: int
    starts: int
    cold_ms: float
    incremental_ms: float
    rss_mb: float


def fleet(factor: int, rng: random.Random) -> Snapshot:
    """Build the nodes, agents and teams, and the runs that wait for the first round."""
    nodes = tuple(_node(index) for index in range(NODES * factor))
    agents = tuple(
        Agent(AgentId(f"{worker}@{node.node_id}"), node.node_id, WorkerName(worker))
        for node in nodes
        for worker in WORKERS
    )
    # Three quarters of the GPUs are promised to teams; the rest is for whoever needs it.
    quota = Quota(gpus=len(nodes) * 8 * 0.75 / TEAMS)
    teams = tuple(Team(TeamName(f"team-{index:02}"), weight=1 + index % 3, quota=quota) for index in range(TEAMS))
    queued = tuple(_run(index, rng) for index in range((QUEUED + 2 * RUNNING) * factor))
    return Snapshot(nodes=nodes, agents=agents, teams=teams, queued=queued)


def saturated(factor: int, rng: random.Random) -> Snapshot:
    """Return a fleet in the middle of its day: full, with the asked number of runs waiting."""
    start = fleet(factor, rng)
    earlier = NOW - timedelta(minutes=30)
    full = enacted(start, plan(start, now=earlier), now=earlier)
    return replace(full, queued=full.queued[: QUEUED * factor], running=full.running)


def measure(factor: int) -> Measured:
    """Time one fleet size."""
    rng = random.Random(7)
    snapshot = saturated(factor, rng)
    gc.collect()
    cold = [_cold(snapshot) for _ in range(ROUNDS)]
    planner = Planner(snapshot)
    planner.apply(changes_of(planner.plan(NOW), queued=planner.queued, running=planner.running, now=NOW))
    incremental, starts = zip(*(_incremental(planner, rng, index) for index in range(3 * ROUNDS)), strict=True)
    return Measured(
        factor=factor,
        queued=len(snapshot.queued),
        running=len(snapshot.running),
        nodes=len(snapshot.nodes),
        starts=int(median(starts)),
        cold_ms=round(median(cold), 1),
        incremental_ms=round(median(incremental), 2),
        rss_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    )


def main() -> None:
    """Measure every size in a process of its own and print what they report."""
    print(" size   nodes  running   queued  from scratch   10 changes    memory")
    base: dict[str, float] = {}
    for factor in (1, 4, 16):
        told = subprocess.run([sys.executable, __file__, str(factor)], check=True, capture_output=True, text=True)
        row = json.loads(told.stdout.splitlines()[-1])
        base = base or row
        print(
            f"{factor:>4}x {row['nodes']:>7} {row['running']:>8} {row['queued']:>8}"
            f" {row['cold_ms']:>10.1f} ms {row['incremental_ms']:>9.2f} ms {row['rss_mb']:>6.0f} MB"
        )
    print(json.dumps({key: base[key] for key in ("cold_ms", "incremental_ms", "rss_mb")}))


def _cold(snapshot: Snapshot) -> float:
    started = time.perf_counter()
    plan(snapshot, now=NOW)
    return (time.perf_counter() - started) * 1000


def _incremental(planner: Planner, rng: random.Random, index: int) -> tuple[float, int]:
    changes = _ten_changes(planner, rng, index)
    now = NOW + timedelta(seconds=index)
    started = time.perf_counter()
    planner.apply(changes)
    decided = planner.plan(now)
    took_ms = (time.perf_counter() - started) * 1000
    planner.apply(changes_of(decided, queued=planner.queued, running=planner.running, now=now))
    return took_ms, len(decided.admissions)


def _ten_changes(planner: Planner, rng: random.Random, index: int) -> list[PlanningChange]:
    """Five attempts end, four runs arrive, one node is reported again."""
    ended = rng.sample(sorted(planner.running), 5)
    arrived = (_run(10**9 + CHANGES * index + number, rng) for number in range(4))
    node = _node(rng.randrange(NODES))
    return [*map(AttemptEnded, ended), *map(RunQueued, arrived), NodeIs(node)]


def _node(index: int) -> Node:
    node_id = NodeId(f"node-{index:05}")
    gpus = tuple(Gpu(GpuId(f"{node_id}-{slot}"), 80_000) for slot in range(8))
    return Node(node_id, cpus=64, memory_mb=512_000, gpus=gpus)


def _run(index: int, rng: random.Random) -> QueuedRun:
    team, user = rng.randrange(TEAMS), rng.randrange(USERS_PER_TEAM)
    # People submit sweeps: a user has one worker and a few shapes, not one of everything.
    habits = random.Random(team * 1000 + user)
    worker = habits.choice(WORKERS)
    shapes = habits.choices(*_split(SHAPES), k=3)
    return QueuedRun(
        run_id=RunId(f"run-{index:010}"),
        team=TeamName(f"team-{team:02}"),
        user=UserName(f"user-{team:02}-{user}"),
        worker=WorkerName(worker),
        resources=rng.choice(shapes),
        submitted_at=NOW - timedelta(seconds=rng.randrange(3600, 86_400)),
        priority=rng.choices(*_split(PRIORITIES))[0],
        max_wall=habits.choice(LIMITS),
        resume_grade=habits.choice((ResumeGrade.EXACT, ResumeGrade.EQUIVALENT, None)),
    )


def _split(weighted: Sequence[tuple[int, ValueT]]) -> tuple[list[ValueT], list[int]]:
    return [value for _, value in weighted], [weight for weight, _ in weighted]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(asdict(measure(int(sys.argv[1])))))
    else:
        main()
