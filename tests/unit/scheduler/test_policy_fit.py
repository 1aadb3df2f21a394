"""Whether a run fits on a node."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mosaic.ids import GpuId
from mosaic_scheduler.domain.policy import plan
from mosaic_scheduler.domain.run import QueuedRun, RunningAttempt
from mosaic_scheduler.domain.snapshot import Gpu, Node
from tests.builders import NOON, a_fleet, a_node, a_run, an_attempt, started, why

FITS = {
    "a run fits on an empty node": (a_node(), a_run(gpus=8, cpus=64, memory_mb=512_000), ()),
    "two halves share one GPU": (
        a_node(gpus=1),
        a_run(gpu_fraction=0.5),
        (an_attempt(share=0.5, gpu_memory_mb=40_000),),
    ),
    "ten tenths fill a GPU exactly": (
        a_node(gpus=1),
        a_run(gpu_fraction=0.1),
        tuple(an_attempt(f"old-{n}", share=0.1, gpu_memory_mb=8000) for n in range(9)),
    ),
    "a GPU with more memory than asked for will do": (a_node(), a_run(gpu_memory_mb=24_000), ()),
    "a run without GPUs fits where all GPUs are taken": (
        a_node(gpus=1),
        a_run(gpus=0),
        (an_attempt(),),
    ),
}

WAITS = {
    "a gang starts whole or not at all": (
        a_node(gpus=4),
        a_run(gpus=4),
        (an_attempt(),),
        "needs 4 GPUs on one node; the most free on any is 3",
    ),
    "CPUs are taken": (
        a_node(cpus=8),
        a_run(cpus=4),
        (an_attempt(cpus=6),),
        "needs 4 CPUs on one node with the GPUs it needs; the most free on any is 2",
    ),
    "memory is taken": (
        a_node(memory_mb=1000),
        a_run(memory_mb=600, gpus=0),
        (an_attempt(memory_mb=500),),
        "needs 600 MB of memory on one node; the most free on any is 500",
    ),
    "half a GPU is not left when a whole one is taken": (
        a_node(gpus=1),
        a_run(gpu_fraction=0.5),
        (an_attempt(),),
        "needs 0.5 GPUs on one node; the most free on any is 0",
    ),
    "a fraction needs its memory too": (
        a_node(gpus=1),
        a_run(gpu_fraction=0.25, gpu_memory_mb=50_000),
        (an_attempt(share=0.25, gpu_memory_mb=40_000),),
        "needs 50000 MB of memory on a GPU; none with room has that much free",
    ),
    "a GPU in use is not whole": (
        a_node(gpus=1),
        a_run(gpus=1),
        (an_attempt(share=0.1, gpu_memory_mb=0),),
        "needs 1 GPUs on one node; the most free on any is 0",
    ),
    "no node is large enough": (
        a_node(gpus=4),
        a_run(gpus=8),
        (),
        "needs 8 GPUs on one node; the largest with cleanrl has 4",
    ),
    "no GPU has the memory": (
        a_node(gpus=4),
        a_run(gpus=1, gpu_memory_mb=100_000),
        (),
        "needs 1 GPUs on one node; the largest with cleanrl has 0",
    ),
    "an unhealthy node takes nothing": (
        a_node(healthy=False),
        a_run(),
        (),
        "all 1 agents of worker cleanrl are unhealthy or draining",
    ),
    "a draining node takes nothing": (
        a_node(draining=True),
        a_run(),
        (),
        "all 1 agents of worker cleanrl are unhealthy or draining",
    ),
}


@pytest.mark.parametrize(("node", "run", "running"), FITS.values(), ids=FITS.keys())
def test_it_starts_because(node: Node, run: QueuedRun, running: tuple[RunningAttempt, ...]) -> None:
    decided = plan(a_fleet(node, queued=(run,), running=running), now=NOON)

    assert started(decided) == {"run-1": "n1"}


@pytest.mark.parametrize(("node", "run", "running", "sentence"), WAITS.values(), ids=WAITS.keys())
def test_it_waits_because(node: Node, run: QueuedRun, running: tuple[RunningAttempt, ...], sentence: str) -> None:
    protected = tuple(replace(attempt, resume_grade=None) for attempt in running)

    decided = plan(a_fleet(node, queued=(run,), running=protected), now=NOON)

    assert sentence == why(decided, "run-1")


def test_a_sick_gpu_is_given_to_nobody() -> None:
    cards = (Gpu(GpuId("good"), 80_000), Gpu(GpuId("bad"), 80_000, healthy=False))

    decided = plan(a_fleet(a_node(cards=cards), queued=(a_run("r1"), a_run("r2"))), now=NOON)

    assert [held.gpu_id for admission in decided.admissions for held in admission.lease.gpus] == ["good"]


def test_a_fraction_without_stated_memory_takes_its_share_of_the_card() -> None:
    decided = plan(a_fleet(a_node(gpus=1), queued=(a_run(gpu_fraction=0.25),)), now=NOON)

    (held,) = decided.admissions[0].lease.gpus
    assert (held.share, held.memory_mb) == (0.25, 20_000)


def test_requirements_name_every_fault() -> None:
    faults = a_run(gpus=-1, cpus=0, memory_mb=-5).resources.faults()

    assert len(faults) == 3
    assert "cpus must be more than 0, not 0" in faults
