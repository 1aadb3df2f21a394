"""Generated traces have the shape they are named for."""

from __future__ import annotations

from collections import Counter

import pytest

from mosaic_simulator.generators import LOAD, TraceKind, TraceSize, generate, team_names
from mosaic_simulator.trace import NodeChange, Trace

SMALL = TraceSize(runs=400, hours=12.0, teams=4, nodes=5, seed=7)


def gpu_seconds(trace: Trace, **only: str) -> float:
    runs = [run for run in trace.runs if all(getattr(run, name) == value for name, value in only.items())]
    return sum(run.work_seconds * run.gpus for run in runs)


@pytest.mark.parametrize("kind", list(TraceKind))
def test_equal_seeds_give_equal_traces(kind: TraceKind) -> None:
    assert generate(kind, SMALL) == generate(kind, SMALL)


@pytest.mark.parametrize("kind", list(TraceKind))
def test_other_seeds_give_other_traces(kind: TraceKind) -> None:
    assert generate(kind, SMALL) != generate(kind, TraceSize(runs=400, hours=12.0, teams=4, nodes=5, seed=8))


@pytest.mark.parametrize("kind", list(TraceKind))
def test_a_trace_has_the_runs_and_the_load_that_were_asked_for(kind: TraceKind) -> None:
    trace, fleet = generate(kind, SMALL)

    assert SMALL.runs == len({run.run_id for run in trace.runs})
    assert LOAD[kind] == pytest.approx(gpu_seconds(trace) / (fleet.gpu_count * SMALL.seconds), rel=0.02)


@pytest.mark.parametrize("kind", list(TraceKind))
def test_a_trace_is_in_order_of_time_and_within_its_span(kind: TraceKind) -> None:
    trace, _ = generate(kind, SMALL)

    moments = [run.at for run in trace.runs]
    assert sorted(moments) == moments
    assert 0 <= moments[0] <= trace.horizon_seconds <= SMALL.seconds


@pytest.mark.parametrize("kind", list(TraceKind))
def test_every_limit_leaves_time_for_the_work(kind: TraceKind) -> None:
    trace, _ = generate(kind, SMALL)

    assert all(run.max_wall_seconds > run.work_seconds for run in trace.runs if run.max_wall_seconds)


def test_a_burst_is_many_equal_runs_of_one_user_at_once() -> None:
    trace, _ = generate(TraceKind.BURSTS, SMALL)

    sweeps = Counter((run.at, run.user, run.worker, run.resources) for run in trace.runs)
    assert min(sweeps.values()) > 1
    assert max(sweeps.values()) >= 20


def test_the_greedy_user_floods_the_queue_early() -> None:
    trace, _ = generate(TraceKind.GREEDY, SMALL)

    greedy = [run for run in trace.runs if run.user == "greedy"]
    assert len(greedy) > SMALL.runs / 3
    assert max(run.at for run in greedy) <= SMALL.seconds / 10


def test_beside_the_greedy_user_nobody_asks_for_more_than_their_quota() -> None:
    trace, fleet = generate(TraceKind.GREEDY, SMALL)

    quotas = {team.name: team.quota.gpus or 0.0 for team in fleet.teams}
    modest = [team for team in trace.teams if not any(r.user == "greedy" for r in trace.of_team(team).runs)]
    asked = sum(gpu_seconds(trace, team=team) for team in modest)
    assert 3 == len(modest)
    assert asked < sum(quotas[team] for team in modest) * SMALL.seconds


def test_gangs_ask_for_whole_nodes() -> None:
    trace, _ = generate(TraceKind.GANGS, SMALL)

    assert 8 == max(run.resources.gpus for run in trace.runs)


def test_in_the_diurnal_trace_the_two_continents_work_at_different_hours() -> None:
    trace, _ = generate(TraceKind.DIURNAL, TraceSize(runs=2000, hours=24.0, teams=2, nodes=5))

    first, second = team_names(2)
    by_day = Counter(run.team for run in trace.runs if 9 <= run.at / 3600 < 15)
    assert by_day[first] > 2 * by_day[second]


def test_nodes_that_fail_come_back() -> None:
    trace, _ = generate(TraceKind.NODE_FAILURES, TraceSize(runs=10, nodes=100))

    changes = Counter(event.change for event in trace.node_events)
    assert changes[NodeChange.FAILS] > 20
    assert changes[NodeChange.RETURNS] == changes[NodeChange.FAILS] + changes[NodeChange.DRAINS]


def test_there_are_names_for_any_number_of_teams() -> None:
    assert 30 == len(set(team_names(30)))
