"""Two agents on one machine see the same GPUs and never hand out the same one."""

from __future__ import annotations

import itertools

from mosaic.client import Attempt, Resources
from mosaic.lifecycle import RunState
from mosaic.testing import MosaicStack
from tests.containers.brokers import on_rabbitmq_4
from tests.containers.drills import assert_undisturbed, only, train_for, until

pytestmark = on_rabbitmq_4

ONE_GPU = Resources(cpus=0.1, memory_mb=64, gpus=1)
BOTH_GPUS = Resources(cpus=0.1, memory_mb=64, gpus=2)


def test_the_agents_of_a_machine_announce_its_gpus_once(fleet: MosaicStack) -> None:
    seen = fleet.mosaic.fleet()

    [node] = [node for node in seen.nodes if node.alive]
    assert 2 == len([agent for agent in seen.agents if agent.alive and agent.node_id == node.node_id])
    assert 2 == len({gpu.gpu_id for gpu in node.gpus})


def test_runs_at_the_same_time_hold_different_gpus_and_the_third_waits(fleet: MosaicStack) -> None:
    runs = [train_for(fleet, 6, resources=ONE_GPU) for _ in range(2)]
    holders = [run.wait_for(RunState.RUNNING) for run in runs]
    third = train_for(fleet, 1, resources=ONE_GPU)

    why = until(lambda: " ".join(fleet.mosaic.explain(third.run_id).sentences), what="a reason to wait")

    assert 2 == len({gpu for run in holders for gpu in run.gpu_ids})
    assert "GPU" in why
    for run in (*runs, third):
        assert_undisturbed(run)


def test_no_gpu_is_ever_held_by_two_runs_at_once(fleet: MosaicStack) -> None:
    narrow = [fleet.add_agent("reference", settings={"MOSAIC_AGENT_SLOTS": "1"}) for _ in range(2)]
    with only(fleet, *narrow):
        runs = [train_for(fleet, 1, resources=ONE_GPU) for _ in range(6)]
        for run in runs:
            assert_undisturbed(run)

    held = [attempt for run in runs for attempt in run.look().attempts]

    assert {1} == {len(attempt.lease.gpu_ids) for attempt in held}
    # One that was asked to take no more may still get what was on its way to it.
    assert {agent.name for agent in narrow} <= {attempt.agent_id for attempt in held}, "both must have had a hand in it"
    for one, other in itertools.combinations(held, 2):
        assert one.lease.gpu_ids != other.lease.gpu_ids or _apart(one, other), f"{one} and {other}"


def test_a_run_of_two_gpus_starts_only_when_both_are_free(fleet: MosaicStack) -> None:
    small = train_for(fleet, 4, resources=ONE_GPU)
    small.wait_for(RunState.RUNNING)
    big = train_for(fleet, 1, resources=BOTH_GPUS)

    assert_undisturbed(big)

    assert small.look().run.has_ended
    assert 2 == len(set(big.look().attempts[0].lease.gpu_ids))


def _apart(one: Attempt, other: Attempt) -> bool:
    first, second = sorted((one, other), key=lambda attempt: str(attempt.claimed_at))
    assert first.ended_at is not None
    assert second.claimed_at is not None
    return first.ended_at <= second.claimed_at
