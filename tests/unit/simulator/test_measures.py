"""The numbers a policy is judged by."""

from __future__ import annotations

import pytest

from mosaic.ids import TeamName
from mosaic_simulator.comparison import Scenario, compare, isolation
from mosaic_simulator.fair_wait import fair_waits
from mosaic_simulator.measures import Measures, measure, saturated_fairness
from mosaic_simulator.meters import Integral, ShareMeter
from mosaic_simulator.recording import Ending, Outcome, Recording, Sample
from mosaic_simulator.statistics import jain, mean, percentile
from tests.unit.simulator.builders import a_small_fleet, a_tenant, a_trace, a_traced_run

VISION, NLP = TeamName("vision"), TeamName("nlp")


@pytest.mark.parametrize(
    ("sentence", "shares", "expected"),
    [
        ("equal shares are perfectly fair", (2.0, 2.0, 2.0, 2.0), 1.0),
        ("one of four who has everything is the least fair", (4.0, 0.0, 0.0, 0.0), 0.25),
        ("nobody having anything is equal", (0.0, 0.0), 1.0),
        ("no teams are equal", (), 1.0),
    ],
)
def test_jain_index(sentence: str, shares: tuple[float, ...], expected: float) -> None:
    assert expected == jain(shares), sentence


@pytest.mark.parametrize(("percent", "expected"), [(50, 5.0), (95, 10.0), (100, 10.0), (0, 1.0)])
def test_percentile_is_the_nearest_rank(percent: float, expected: float) -> None:
    assert expected == percentile([float(number) for number in range(1, 11)], percent)


def test_nothing_has_a_percentile_and_a_mean_of_zero() -> None:
    assert (0.0, 0.0) == (percentile([], 95), mean([]))


def test_an_integral_counts_nothing_beyond_its_horizon() -> None:
    level = Integral(horizon=100.0)

    level.change(2.0, at=10.0)
    level.settle(at=500.0)

    assert 180.0 == level.area


def test_a_share_held_for_a_half_life_counts_half() -> None:
    meter: ShareMeter[str] = ShareMeter((10.0, 10.0, 10.0), half_life=60.0)

    meter.change("vision", (1.0, 0.0, 5.0), 1, at=0.0)

    assert {"vision": 0.25} == meter.shares(at=60.0)


def test_a_share_given_back_fades() -> None:
    meter: ShareMeter[str] = ShareMeter((10.0, 10.0, 10.0), half_life=60.0)
    meter.change("vision", (0.0, 0.0, 10.0), 1, at=0.0)

    meter.change("vision", (0.0, 0.0, 10.0), -1, at=60.0)

    assert {"vision": 0.25} == meter.shares(at=120.0)


def test_a_start_is_charged_as_if_it_had_been_running() -> None:
    meter: ShareMeter[str] = ShareMeter((10.0, 10.0, 10.0), half_life=60.0)
    meter.change("vision", (0.0, 0.0, 10.0), 1, at=0.0)

    meter.charge("vision", (0.0, 0.0, 10.0), seconds=60.0)

    assert {"vision": 0.5} == meter.shares(at=0.0)


def test_the_fair_wait_is_the_work_before_it_over_the_speed_of_its_team() -> None:
    runs = [a_traced_run("a", 0.0, 100.0), a_traced_run("b", 50.0, 100.0), a_traced_run("c", 1000.0)]

    waits = fair_waits(runs, {VISION: 0.5}, lambda run: 1.0)

    assert {"a": 0.0, "b": 150.0, "c": 0.0} == waits


def test_teams_do_not_lengthen_each_others_fair_wait() -> None:
    runs = [a_traced_run("a", 0.0, 100.0, team="nlp"), a_traced_run("b", 0.0, 100.0)]

    waits = fair_waits(runs, {VISION: 0.5, NLP: 0.5}, lambda run: 1.0)

    assert 0.0 == waits[runs[1].run_id]


def a_sample(at: float, backlogged: set[str], **shares: float) -> Sample:
    return Sample(
        at=at,
        gpus_up=8.0,
        gpus_used={},
        waiting={},
        shares={TeamName(team): share for team, share in shares.items()},
        backlogged=frozenset(TeamName(team) for team in backlogged),
        reasons={},
    )


def test_fairness_is_judged_only_after_all_teams_waited_for_a_half_life() -> None:
    both = {"vision", "nlp"}
    samples = [
        a_sample(0.0, both, vision=1.0, nlp=0.0),
        a_sample(60.0, both, vision=0.5, nlp=0.5),
        a_sample(120.0, {"vision"}, vision=1.0, nlp=0.0),
        a_sample(180.0, both, vision=1.0, nlp=0.0),
    ]

    assert [1.0] == saturated_fairness(samples, {VISION, NLP}, half_life=60.0)


def measured(*outcomes: Outcome, held: float = 50.0, lost: float = 0.0) -> Measures:
    recording = Recording("mosaic", outcomes, (), 100.0, 100.0, held, lost, rounds=1)
    return measure(recording, a_small_fleet(a_tenant("vision"), a_tenant("nlp")), half_life=60.0)


def an_outcome(run_id: str, waited: float, **more: object) -> Outcome:
    run = a_traced_run(run_id, team=more.pop("team", "vision"), steps_per_second=10.0)
    return Outcome(run, Ending.FINISHED, waited, 0.0, 100.0, **more)  # type: ignore[arg-type]


def test_goodput_leaves_out_work_that_was_lost() -> None:
    measures = measured(an_outcome("a", 0.0), held=80.0, lost=20.0)

    assert (0.8, 0.6) == (measures.utilisation, measures.goodput)


def test_steps_thrown_away_are_the_lost_seconds_at_the_speed_of_the_run() -> None:
    measures = measured(an_outcome("a", 0.0, preemptions=2, lost_to_preemption=30.0))

    assert (2, 300.0) == (measures.preemptions, measures.steps_thrown_away)


def test_waits_are_told_by_team() -> None:
    measures = measured(an_outcome("a", 10.0), an_outcome("b", 70.0, team="nlp"))

    assert {"vision": 10.0, "nlp": 70.0} == {team: waits.p95 for team, waits in measures.team_waits.items()}


def test_starvation_names_the_run_that_waited_longest_against_its_fair_wait() -> None:
    measures = measured(an_outcome("patient", 50.0), an_outcome("starved", 400.0, team="nlp"))

    assert measures.starvation is not None
    assert ("starved", 4.0) == (measures.starvation.run_id, measures.starvation.ratio)


def test_a_team_alone_on_its_quota_borrows_nothing() -> None:
    fleet = a_small_fleet(a_tenant("vision", gpus=1), a_tenant("nlp", gpus=1), gpus=2)
    runs = [a_traced_run(f"r{index}", 0.0, 100.0) for index in range(2)]
    scenario = Scenario(a_trace(*runs), fleet)
    (ours,) = compare(scenario, [])

    (apart,) = isolation(scenario, ours, [VISION])

    assert 0.0 == apart.together.longest
    assert apart.alone.longest >= 100.0
    assert apart.p95_ratio < 1.0
