"""A trace played in event time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mosaic.ids import NodeId
from mosaic_scheduler.domain.snapshot import PolicySettings
from mosaic_simulator.comparison import POLICIES, Scenario
from mosaic_simulator.engine import simulate
from mosaic_simulator.fleet import Fleet
from mosaic_simulator.options import SimulationOptions
from mosaic_simulator.recording import Ending, Outcome, Recording
from mosaic_simulator.trace import NodeChange, NodeEvent, Trace
from tests.unit.simulator.builders import a_small_fleet, a_tenant, a_trace, a_traced_run

#: Nothing takes time but the work itself, so that the expected moments are plain to see.
AT_ONCE = SimulationOptions(round_seconds=1.0, start_seconds=0.0, stop_seconds=5.0, loss_detection_seconds=10.0)


def play(trace: Trace, fleet: Fleet, policy: str = "fifo", **options: object) -> Recording:
    return simulate(trace, fleet, POLICIES[policy], name=policy, options=replace(AT_ONCE, **options))  # type: ignore[arg-type]


def outcomes(recording: Recording) -> dict[str, Outcome]:
    return {outcome.run.run_id: outcome for outcome in recording.outcomes}


def test_a_run_that_fits_starts_at_once_and_ends_when_its_work_is_done() -> None:
    recording = play(a_trace(a_traced_run(at=5.0, work=100.0)), a_small_fleet())

    (outcome,) = recording.outcomes
    assert (Ending.FINISHED, 5.0, 105.0, 0.0) == (
        outcome.ending,
        outcome.first_start,
        outcome.ended,
        outcome.waited,
    )


def test_a_run_waits_for_the_one_that_holds_the_gpu() -> None:
    trace = a_trace(a_traced_run("first", 0.0, 100.0), a_traced_run("second", 10.0, 100.0))

    recording = play(trace, a_small_fleet())

    assert 90.0 == outcomes(recording)["second"].waited


def test_starting_takes_the_time_that_the_options_say() -> None:
    recording = play(a_trace(a_traced_run(work=100.0)), a_small_fleet(), start_seconds=7.0)

    assert 107.0 == recording.outcomes[0].ended


def test_rounds_happen_at_multiples_of_the_round_time() -> None:
    recording = play(a_trace(a_traced_run(at=12.0)), a_small_fleet(), round_seconds=10.0)

    assert 20.0 == recording.outcomes[0].first_start


def test_a_time_limit_ends_a_run() -> None:
    recording = play(a_trace(a_traced_run(work=1000.0, max_wall_seconds=300.0)), a_small_fleet())

    (outcome,) = recording.outcomes
    assert (Ending.TIME_LIMIT, 300.0) == (outcome.ending, outcome.ended)


def test_a_run_that_no_node_can_hold_is_reported_and_does_not_hang_the_simulation() -> None:
    trace = a_trace(a_traced_run("huge", gpus=4), a_traced_run("small"))

    recording = play(trace, a_small_fleet())

    assert Ending.NEVER == outcomes(recording)["huge"].ending
    assert Ending.FINISHED == outcomes(recording)["small"].ending


def test_what_a_failed_node_ran_is_resumed_from_its_last_checkpoint_elsewhere() -> None:
    fails = NodeEvent(100.0, NodeId("node-0001"), NodeChange.FAILS)
    trace = a_trace(a_traced_run(work=200.0, checkpoint_seconds=60.0), node_events=(fails,))

    recording = play(trace, a_small_fleet(nodes=2))

    (outcome,) = recording.outcomes
    assert 40.0 == outcome.lost_to_failures
    assert 100.0 + 10.0 + (200.0 - 60.0) == outcome.ended


def test_a_run_that_keeps_nothing_starts_over() -> None:
    fails = NodeEvent(100.0, NodeId("node-0001"), NodeChange.FAILS)
    trace = a_trace(a_traced_run(work=200.0, checkpoint_seconds=None), node_events=(fails,))

    recording = play(trace, a_small_fleet(nodes=2))

    assert 100.0 == recording.outcomes[0].lost_to_failures
    assert 100.0 + 10.0 + 200.0 == recording.outcomes[0].ended


def test_a_draining_node_ends_what_it_runs_and_takes_nothing_new() -> None:
    drains = NodeEvent(10.0, NodeId("node"), NodeChange.DRAINS)
    returns = NodeEvent(500.0, NodeId("node"), NodeChange.RETURNS)
    trace = a_trace(a_traced_run("old", 0.0, 100.0), a_traced_run("new", 20.0), node_events=(drains, returns))

    recording = play(trace, a_small_fleet())

    assert 100.0 == outcomes(recording)["old"].ended
    assert 500.0 == outcomes(recording)["new"].first_start


def test_gpus_of_a_failed_node_do_not_count_as_there() -> None:
    fails = NodeEvent(50.0, NodeId("node-0001"), NodeChange.FAILS)
    trace = a_trace(a_traced_run("a"), a_traced_run("b", 100.0), node_events=(fails,))

    recording = play(trace, a_small_fleet(nodes=2))

    assert 50.0 * 2 + 50.0 * 1 == recording.gpu_seconds_up


def test_lent_capacity_is_taken_back_and_its_cost_is_counted() -> None:
    fleet = a_small_fleet(a_tenant("vision", gpus=1), a_tenant("nlp", gpus=0))
    borrower = a_traced_run("borrower", 0.0, 1000.0, team="nlp", checkpoint_seconds=60.0)
    owner = a_traced_run("owner", 200.0, 100.0, team="vision")

    recording = play(a_trace(borrower, owner), fleet, policy="mosaic")

    fared = outcomes(recording)
    assert 1 == fared["borrower"].preemptions
    assert 20.0 == fared["borrower"].lost_to_preemption
    assert 5.0 == fared["owner"].waited
    assert Ending.FINISHED == fared["borrower"].ending


@pytest.mark.parametrize("policy", list(POLICIES))
def test_equal_inputs_give_an_equal_recording(policy: str) -> None:
    fleet = a_small_fleet(a_tenant("vision", gpus=2), a_tenant("nlp", gpus=2), nodes=2, gpus=2)
    runs = [a_traced_run(f"r{i:02d}", i * 7.0, 50.0 + i, team=("vision", "nlp")[i % 2]) for i in range(30)]
    scenario = Scenario(a_trace(*runs), fleet, PolicySettings(), AT_ONCE)

    assert scenario.play(policy) == scenario.play(policy)


@pytest.mark.parametrize("policy", list(POLICIES))
def test_every_run_ends_under_a_fleet_that_can_hold_it(policy: str) -> None:
    fleet = a_small_fleet(a_tenant("vision", gpus=2), a_tenant("nlp", gpus=2), gpus=4)
    runs = [a_traced_run(f"r{i:02d}", i * 3.0, 40.0, gpus=(1, 2, 4)[i % 3]) for i in range(40)]

    recording = play(a_trace(*runs), fleet, policy)

    assert {Ending.FINISHED} == {outcome.ending for outcome in recording.outcomes}
    assert 40 == len(recording.outcomes)


def test_being_overtaken_is_counted_at_the_pace_of_the_options() -> None:
    """Otherwise a simulation with shorter rounds would have a less patient policy."""
    gang = a_traced_run("gang", 0.5, 100.0, gpus=2)
    small = [a_traced_run(f"s{index:02d}", float(index), 30.0) for index in range(60)]
    trace = a_trace(*sorted([gang, *small], key=lambda run: run.at))

    hasty = outcomes(play(trace, a_small_fleet(gpus=2), "mosaic", overtaking_seconds=1.0))["gang"]
    patient = outcomes(play(trace, a_small_fleet(gpus=2), "mosaic", overtaking_seconds=60.0))["gang"]

    assert hasty.waited < patient.waited
