"""Where a run goes among the nodes that fit."""

from __future__ import annotations

import pytest

from mosaic.ids import GpuId
from mosaic_scheduler.domain.policy import plan
from mosaic_scheduler.domain.run import QueuedRun, RunningAttempt
from mosaic_scheduler.domain.snapshot import Gpu, Node
from tests.builders import NOON, a_fleet, a_node, a_run, an_attempt, started

CASES = {
    "one GPU goes to the node with least to spare, so that a whole node stays free": (
        (a_node("n1"), a_node("n2")),
        (an_attempt(on="n2"),),
        a_run(gpus=1),
        "n2",
    ),
    "a gang of four goes where exactly four are left": (
        (a_node("n1"), a_node("n2")),
        (an_attempt(on="n2", gpus=(0, 1, 2, 3)),),
        a_run(gpus=4),
        "n2",
    ),
    "a fraction joins a shared GPU before it breaks a whole one": (
        (a_node("n1"), a_node("n2", gpus=1)),
        (an_attempt(on="n1", share=0.5, gpu_memory_mb=40_000),),
        a_run(gpu_fraction=0.5),
        "n1",
    ),
    "a run without GPUs goes to a node without GPUs": (
        (a_node("n1"), a_node("n2", gpus=0)),
        (),
        a_run(gpus=0),
        "n2",
    ),
    "among equal nodes the one with fewer free CPUs is filled first": (
        (a_node("n1"), a_node("n2", cpus=32)),
        (),
        a_run(gpus=1),
        "n2",
    ),
    "among quite equal nodes the name decides": ((a_node("n2"), a_node("n1")), (), a_run(gpus=1), "n1"),
}


@pytest.mark.parametrize(("nodes", "running", "run", "expected"), CASES.values(), ids=CASES.keys())
def test_packing(nodes: tuple[Node, ...], running: tuple[RunningAttempt, ...], run: QueuedRun, expected: str) -> None:
    decided = plan(a_fleet(*nodes, queued=(run,), running=running), now=NOON)

    assert {"run-1": expected} == started(decided)


def test_the_smallest_gpu_that_will_do_is_taken() -> None:
    cards = (Gpu(GpuId("big"), 80_000), Gpu(GpuId("small"), 24_000), Gpu(GpuId("tiny"), 8_000))
    run = a_run(gpus=1, gpu_memory_mb=16_000)

    decided = plan(a_fleet(a_node(cards=cards), queued=(run,)), now=NOON)

    assert [held.gpu_id for held in decided.admissions[0].lease.gpus] == ["small"]


def test_small_runs_fill_one_node_before_the_next() -> None:
    runs = tuple(a_run(f"r{number}", gpus=2) for number in range(4))

    decided = plan(a_fleet(a_node("n1"), a_node("n2"), queued=runs), now=NOON)

    assert {"n1"} == set(started(decided).values())
