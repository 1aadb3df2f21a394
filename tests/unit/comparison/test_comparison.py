"""Runs made arms: which of them count, what is said of the others, and what is never compared."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import pytest

from mosaic.client import Mosaic
from mosaic.comparison import Arm, Comparison, compare, of_environment
from mosaic.comparison.arms import find
from mosaic.errors import BadInput
from mosaic.lifecycle import RunState
from mosaic.statistics import bootstrap, iqm, probability_of_improvement
from tests.fakes.study import Study
from tests.fakes.telemetry import episode

SLOW, FAST = {"learning_rate": 0.1}, {"learning_rate": 0.5}


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    running = Study(tmp_path)
    yield running
    running.stop()


@pytest.fixture
def fleet(study: Study) -> Iterator[Mosaic]:
    with Mosaic(study.login) as client:
        yield client


def compared(fleet: Mosaic, **asked: object) -> Comparison:
    return compare(fleet, fleet.runs()[::-1], **asked)  # type: ignore[arg-type]


def scores(arm: Arm) -> list[float]:
    return [one.score for one in arm.counted if one.score is not None]


def two_arms(study: Study, *, seeds: int = 5, episodes: int = 150) -> None:
    """Slow runs of seed S end with returns around S, fast ones around 100 S."""
    for seed in range(1, seeds + 1):
        study.add(f"slow-{seed}", seed, [seed + number / episodes for number in range(episodes)], SLOW)
        study.add(f"fast-{seed}", seed, [100.0 * seed] * episodes, FAST)


def test_seeds_of_equal_settings_are_one_arm_with_the_mean_return_everybody_tells(study: Study, fleet: Mosaic) -> None:
    two_arms(study)
    ids = [f"slow-{seed}" for seed in range(1, 6)]
    means = [one.mean_return for one in (fleet.summaries(ids)[run_id] for run_id in ids)]

    told = compared(fleet)

    slow, fast = told.arms
    assert ("learning_rate=0.1", "learning_rate=0.5") == (slow.label, fast.label)
    assert means == scores(slow)
    assert (iqm(means), 5) == (slow.score.value, slow.score.n)
    assert bootstrap(means) == slow.score
    assert (None, probability_of_improvement([100.0 * seed for seed in range(1, 6)], means)) == (
        slow.better,
        fast.better,
    )
    assert () == told.notes
    assert ("CartPole-v1", "env_steps", "training", slow.label) == (
        told.env, told.unit, told.returns_of, told.baseline,
    )  # fmt: skip


def test_a_run_that_did_not_succeed_is_named_left_out_and_drawn_as_far_as_it_got(study: Study, fleet: Mosaic) -> None:
    two_arms(study, seeds=2)
    study.add("slow-3", 3, [900.0] * 5, SLOW, state=RunState.FAILED, reason="\nValueError: lr\nmore")
    study.add("slow-4", 4, [900.0], SLOW, state=RunState.CANCELLED)
    study.add("slow-5", 5, [900.0], SLOW, state=RunState.RUNNING)
    study.add("slow-6", 6, [], SLOW, state=RunState.QUEUED)
    study.add("slow-7", 7, [], SLOW)
    study.add("slow-8", 8, [math.nan] * 3, SLOW)

    told = compared(fleet)

    slow = told.arms[0]
    assert [1, 2] == [one.seed for one in slow.counted]
    said = "\n".join(told.notes)
    for words in (
        "seed 3 (slow-3) left out: failed: ValueError: lr; it got to step 50",
        "seed 4 (slow-4) left out: cancelled; it got to step 10",
        "seed 5 (slow-5) left out: not ended (running); it got to step 10",
        "seed 6 (slow-6) left out: not ended (queued); it got nowhere",
        "seed 7 (slow-7) left out: it told no training episode that could count",
        "seed 8 (slow-8) left out: its returns are no finite numbers",
        "learning_rate=0.1: only 2 seeds: its interval is rough",
        "learning_rate=0.5: no run with seed 3, 4, 5, 6, 7, 8, which others have",
        "learning_rate=0.1: its curve is of 5 runs to step 10 and of fewer after, at last 2",
    ):
        assert words in said
    assert "more" not in said


def test_at_a_step_everybody_counts_who_got_there(study: Study, fleet: Mosaic) -> None:
    study.add("a1", 1, [1.0] * 10 + [500.0] * 10)
    study.add("a2", 2, [2.0] * 10 + [500.0], state=RunState.FAILED, reason="out of memory")
    study.add("a3", 3, [3.0] * 9, state=RunState.SUCCEEDED)

    told = compared(fleet, at=100)

    assert [1.0, 2.0] == scores(told.arms[0])
    assert "mean return of the newest 100 training episodes up to step 100" == told.definition
    assert "reference: seed 2 (a2) counts, though failed: out of memory: it had got to that step" in told.notes
    assert "reference: seed 3 (a3) left out: succeeded; it got to step 90, not to step 100" in told.notes


def test_a_seed_that_was_run_again_counts_once(study: Study, fleet: Mosaic) -> None:
    study.add("a1", 1, [1.0])
    study.add("a2", 2, [2.0], state=RunState.FAILED)
    study.add("a3", 2, [3.0], labels={"retry_of": "a2"})
    study.add("a4", 1, [9.0])
    study.add("a5", 1, [7.0], state=RunState.FAILED)

    told = compared(fleet)

    assert [9.0, 3.0] == scores(told.arms[0]), "of those that succeeded the newest"
    said = "\n".join(told.notes)
    assert "seed 1 (a1) left out: succeeded; run a4 stands for it" in said
    assert "seed 1 (a5) left out: failed; run a4 stands for it" in said
    assert "seed 2 (a2) left out: failed; run a3 stands for it" in said
    assert 2 == told.arms[0].curve.n.max()


def test_a_run_steps_back_for_the_one_that_continues_it(study: Study, fleet: Mosaic) -> None:
    study.add("a1", 1, [1.0], {"total_steps": 10})
    study.add("a2", 1, [2.0], {"total_steps": 20}, continues="a1")

    told = compared(fleet, by=["algo"])

    assert [2.0] == scores(told.arms[0])
    assert "run a2 stands for it" in "\n".join(told.notes)


def test_a_run_that_is_continued_in_another_arm_counts_in_its_own(study: Study, fleet: Mosaic) -> None:
    study.add("a1", 1, [1.0], {"total_steps": 10})
    study.add("a2", 1, [2.0], {"total_steps": 20}, continues="a1")

    assert [[1.0], [2.0]] == [scores(arm) for arm in compared(fleet).arms]


def test_the_same_work_under_two_labels_is_two_arms(study: Study, fleet: Mosaic) -> None:
    """To compare a setting with itself shows what chance alone does."""
    study.add("a1", 1, [1.0], labels={"half": "x"})
    study.add("a2", 1, [2.0], labels={"half": "y"})

    assert [[1.0], [2.0]] == [scores(arm) for arm in compared(fleet, by=["label.half"]).arms]


def test_one_seed_is_a_number_without_an_interval(study: Study, fleet: Mosaic) -> None:
    study.add("a1", 1, [5.0])

    told = compared(fleet)

    assert (5.0, None, None) == (told.arms[0].score.value, told.arms[0].score.low, told.arms[0].score.high)
    assert ("reference: one seed: no interval",) == told.notes


def test_drawn_seeds_are_not_missing_in_the_other_arm(study: Study, fleet: Mosaic) -> None:
    for seed in (83_111, 5_523):
        study.add(f"slow-{seed}", seed, [1.0], SLOW)
        study.add(f"fast-{seed}", seed + 1, [1.0], FAST)

    assert [(), ()] == [arm.missing_seeds for arm in compared(fleet).arms]


@pytest.mark.parametrize(
    ("of", "at", "expected"),
    [
        ("final", None, fmean(range(50, 150))),
        ("final", 500, fmean(range(50))),
        ("final", 1200, fmean(range(20, 120))),
        ("best", None, 149.0),
        ("best", 500, 49.0),
        ("evaluation", None, 70.0),
        ("evaluation", 1200, 35.0),
    ],
)
def test_what_is_compared(study: Study, fleet: Mosaic, of: str, at: int | None, expected: float) -> None:
    judged = [episode(0, value, step=step, evaluation=True) for value, step in ((30, 700), (40, 700), (70, 1400))]
    for seed in (1, 2):
        study.add(f"a{seed}", seed, [float(number) for number in range(150)], more=judged)

    told = compared(fleet, of=of, at=at)

    assert [pytest.approx(expected)] * 2 == scores(told.arms[0])


def test_the_area_is_the_mean_of_the_curve_over_the_steps_that_all_have(study: Study, fleet: Mosaic) -> None:
    study.add("a1", 1, [10.0] * 50 + [1000.0] * 50)
    study.add("a2", 2, [20.0] * 50)

    assert [pytest.approx(10.0), pytest.approx(20.0)] == scores(compared(fleet, of="auc").arms[0])


def test_a_run_without_evaluation_is_named_when_evaluations_are_compared(study: Study, fleet: Mosaic) -> None:
    study.add("a1", 1, [1.0])

    told = compared(fleet, of="evaluation")

    assert "reference: seed 1 (a1) left out: it told no evaluation that could count" in told.notes
    assert 0 == told.arms[0].score.n


def test_arms_are_made_by_any_setting_also_one_that_nobody_asked_for(study: Study, fleet: Mosaic) -> None:
    study.add("a1", 1, [1.0], {"algo_params": {"gamma": 0.9}}, ran_with={"algo_params": {"gamma": 0.9}})
    study.add("a2", 2, [1.0], {"algo_params": {"gamma": 0.99}})
    study.add("b1", 1, [1.0], {"algo": "dqn"}, ran_with={"algo_params.gamma": 0.99})
    study.add("b2", 2, [1.0], {"algo": "dqn"}, state=RunState.RUNNING)

    told = compared(fleet, by=["algo_params.gamma"])

    assert [("algo_params.gamma=0.9", ["a1"]), ("algo_params.gamma=0.99", ["b1", "a2", "b2"])] == [
        (arm.label, [one.run_id for one in arm.members]) for arm in told.arms
    ]
    assert "algo_params.gamma=0.99: its runs differ in algo as well, not in their seed alone" in told.notes


@pytest.mark.parametrize("name", ["env", "env_id", "config.env_id"])
def test_what_every_library_has_is_found_under_any_of_its_names(study: Study, fleet: Mosaic, name: str) -> None:
    study.add("a1", 1, [1.0], {"env_id": "Taxi-v4"})

    assert {name: "Taxi-v4"} == compared(fleet, by=[name]).arms[0].settings


def test_arms_are_made_by_worker_and_labels_too(study: Study, fleet: Mosaic) -> None:
    study.add("a1", 1, [1.0], labels={"paper": "x"})
    study.add("b1", 1, [1.0], labels={"paper": "y"}, worker="cleanrl")

    assert ["worker=reference, label.paper=x", "worker=cleanrl, label.paper=y"] == [
        arm.label for arm in compared(fleet, by=["worker", "label.paper"]).arms
    ]


def test_arms_that_bear_names_of_their_own_are_called_by_them(study: Study, fleet: Mosaic) -> None:
    for seed in (1, 2):
        study.add(f"slow-{seed}", seed, [1.0], SLOW, name="careful")
        study.add(f"fast-{seed}", seed, [1.0], FAST, name="bold")

    told = compared(fleet)

    assert [("careful", {"learning_rate": "0.1"}), ("bold", {"learning_rate": "0.5"})] == [
        (arm.label, arm.settings) for arm in told.arms
    ]


def test_a_setting_that_no_run_has_is_answered_with_the_nearest(study: Study, fleet: Mosaic) -> None:
    study.add("a1", 1, [1.0], SLOW)

    with pytest.raises(BadInput, match="no run has a setting 'learning_rat', did you mean 'learning_rate'"):
        compared(fleet, by=["learning_rat"])


@pytest.mark.parametrize("wanted", ["learning_rate=0.5", "fast-1", "fast-2"])
def test_the_baseline_is_named_by_its_settings_or_one_of_its_runs(study: Study, fleet: Mosaic, wanted: str) -> None:
    two_arms(study, seeds=2)

    told = compared(fleet, baseline=wanted)

    assert "learning_rate=0.5" == told.baseline
    assert [True, False] == [arm.better is not None for arm in told.arms]


@pytest.mark.parametrize(("wanted", "fault"), [("nobody", "'nobody' is no arm"), ("-1", "'-1' could be several arms")])
def test_a_baseline_that_is_none_or_several_is_refused(study: Study, fleet: Mosaic, wanted: str, fault: str) -> None:
    two_arms(study, seeds=2)

    with pytest.raises(BadInput, match=fault):
        compared(fleet, baseline=wanted)
    assert 0 == find([], "")


def test_returns_of_different_things_are_refused_with_who_has_what(study: Study, fleet: Mosaic) -> None:
    study.add("a1", 1, [1.0])
    study.add("b1", 1, [1.0], {"env_id": "Taxi-v4"})
    study.add("c1", 1, [1.0, 2.0], agents=["ada", "bob"])
    study.add("d1", 1, [1.0], has_steps=False)

    with pytest.raises(BadInput) as refused:
        compared(fleet)

    said = str(refused.value)
    for words in (
        "they play CartPole-v1 (runs a1, c1, d1) and Taxi-v4 (run b1); compare one at a time: --env NAME",
        "their returns are of the run as a whole (its only agent, or the sum over its team) (runs a1, b1, d1) and",
        "single agents (run c1)",
        "their steps are steps in the environment (runs a1, b1, c1) and episodes (no step was told) (run d1)",
    ):
        assert words in said


def test_the_runs_of_one_environment_are_chosen_by_what_ran(study: Study, fleet: Mosaic) -> None:
    study.add("a1", 1, [1.0])
    study.add("b1", 1, [1.0], {"env_id": None}, ran_with={"env_id": "Taxi-v4"})

    assert ["b1"] == [run.run_id for run in of_environment(fleet, fleet.runs(), "Taxi-v4")]
    with pytest.raises(BadInput, match=r"no run plays 'Taxi-v3', did you mean 'Taxi-v4'"):
        of_environment(fleet, fleet.runs(), "Taxi-v3")


def test_curves_end_where_runs_of_one_length_do_and_tell_where_shorter_ones_end(study: Study, fleet: Mosaic) -> None:
    study.add("a1", 1, [1.0] * 100)
    study.add("a2", 2, [2.0] * 98)
    study.add("a3", 3, [3.0] * 50)
    study.add("a4", 4, [9.0] * 97, state=RunState.CANCELLED)

    (arm,) = compared(fleet).arms

    assert 980.0 == arm.curve.steps[-1]
    assert (4, 2) == (arm.curve.n.max(), arm.curve.n[-1])
    assert [2.5, 1.5] == [pytest.approx(arm.curve.iqm[place]) for place in (0, -1)]


def test_nothing_and_unknown_measures_are_refused(study: Study, fleet: Mosaic) -> None:
    with pytest.raises(BadInput, match="no run was named"):
        compare(fleet, [])
    with pytest.raises(BadInput, match="'finall' is not known, did you mean 'final'"):
        compare(fleet, [], of="finall")
