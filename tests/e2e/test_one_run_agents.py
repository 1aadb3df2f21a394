"""Agents that take one run and leave, added by what the scheduler says would fit: a fleet as KEDA has it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from mosaic.lifecycle import RunState
from tests.servers.choice import ServerSet
from tests.stack.environment import WORKER
from tests.stack.process import Part
from tests.stack.runs import submit, wait_for_end, wait_for_manifest
from tests.stack.stack import Servers, Stack
from tests.stack.waiting import until

METRIC = "mosaic_scheduler_runs_that_would_fit"


@pytest.fixture(scope="module")
def stack(shared_servers: ServerSet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Three services and no agent."""
    with Stack(Servers.shared(shared_servers), tmp_path_factory.mktemp("elastic"), agents=0) as running:
        yield running


def fitting(scheduler: Part) -> float | None:
    """Return how many runs of the drill would fit, None while the scheduler does not know the worker."""
    samples = [sample for family in text_string_to_metric_families(scheduler.metrics()) for sample in family.samples]
    found = [sample.value for sample in samples if sample.name == METRIC and sample.labels == {"worker": WORKER}]
    return found[0] if found else None


def test_a_fleet_grows_with_its_queue_and_shrinks_by_itself(stack: Stack) -> None:
    scheduler, (standby, _) = stack.parts["scheduler"], stack.add_scheduler()
    agents = [stack.add_agent("announcement", runs="1", idle_limit_s="300")]
    runs = [submit(stack.mosaic, episodes=3, steps=20) for _ in range(3)]

    # One scheduler plans and the other stands by: both must know, for nobody knows whom the autoscaler asks.
    for asked in (scheduler, standby):
        until(lambda asked=asked: fitting(asked) == 2, what="two runs to wait for an agent")
    agents += [stack.add_agent(f"pod{number}", runs="1", idle_limit_s="300") for number in (1, 2)]

    # A run that was dispatched to an agent which is about to leave is planned anew once nobody claimed it for a minute.
    ended = [wait_for_end(stack.mosaic, run.run_id, seconds=150.0) for run in runs]
    assert [RunState.SUCCEEDED] * 3 == [detail.run.state for detail in ended]
    assert {"announcement", "pod1", "pod2"} == {detail.attempts[-1].agent_id for detail in ended}
    for agent in agents:
        until(lambda agent=agent: agent.exit_status == 0, what=f"{agent.name} to leave")
    assert [0, 0, 0] == [wait_for_manifest(stack.mosaic, run.run_id).content["events"]["missing"] for run in runs]
    assert [] == list(stack.mosaic.fleet().agents)
    assert (0, 0) == (fitting(scheduler), fitting(standby))


def test_an_agent_that_nobody_needs_leaves(stack: Stack) -> None:
    agent = stack.add_agent("bored", runs="1", idle_limit_s="1")

    until(lambda: agent.exit_status == 0, what="the agent to leave")
