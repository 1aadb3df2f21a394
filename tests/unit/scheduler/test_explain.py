"""What a person is told about a run that waits."""

from __future__ import annotations

from string import Formatter

import pytest

from mosaic.errors import RunNotFound
from mosaic.ids import RunId
from mosaic.model.run import Priority
from mosaic_scheduler.domain.explain import estimate_start, explain, position
from mosaic_scheduler.domain.planner import Planner
from mosaic_scheduler.domain.reasons import SENTENCES, Reason, ReasonCode
from tests.builders import NOON, a_fleet, a_node, a_run, an_attempt, minutes

BUSY = an_attempt("busy", gpus=(0, 1), ends_by=NOON + minutes(45), resume_grade=None)


def test_every_reason_has_a_sentence() -> None:
    assert set(ReasonCode) == set(SENTENCES)


def test_a_reason_keeps_its_numbers() -> None:
    reason = Reason.of(ReasonCode.TEAM_RUNNING_CAP, team="vision", running=3, cap=3)

    assert {"team": "vision", "running": 3, "cap": 3} == reason.numbers
    assert "team vision runs 3 of at most 3 runs" == reason.sentence()


def test_sentences_name_only_facts() -> None:
    """A sentence with an empty or numbered field could not be filled in."""
    for sentence in SENTENCES.values():
        names = [name for _, name, _, _ in Formatter().parse(sentence) if name is not None]
        assert all(name.isidentifier() for name in names)


def test_a_waiting_run_is_told_why_and_where_it_stands() -> None:
    fleet = a_fleet(
        a_node(gpus=2),
        queued=(a_run("mine", gpus=2), a_run("first", gpus=2, priority=Priority.HIGH)),
        running=(BUSY,),
    )

    assert [
        "needs 2 GPUs on one node; the most free on any is 0",
        "1 of 2 waiting runs come before it: priority normal, waiting since 60 s",
    ] == explain(RunId("mine"), Planner(fleet), now=NOON)


def test_a_run_that_was_overtaken_is_told_how_often() -> None:
    fleet = a_fleet(a_node(gpus=2), queued=(a_run("mine", gpus=2, passed_over=3),), running=(BUSY,))

    *_, last = explain(RunId("mine"), Planner(fleet), now=NOON)

    assert "runs behind it started in 3 rounds while its 2 GPUs were not free; after 10 a node is held back" == last


def test_a_run_about_to_start_is_told_so() -> None:
    fleet = a_fleet(a_node(), queued=(a_run("mine"),))

    assert "it starts now on node n1" == explain(RunId("mine"), Planner(fleet), now=NOON)[0]


def test_a_running_run_is_told_where_it_runs() -> None:
    fleet = a_fleet(a_node(), running=(an_attempt("mine", borrowed=True),))

    assert [
        "attempt 1 runs on node n1 since 60 min",
        "it uses capacity that other teams lend and may be asked to leave",
    ] == explain(RunId("mine"), Planner(fleet), now=NOON)


def test_an_unknown_run_is_not_explained_away() -> None:
    with pytest.raises(RunNotFound, match="no run 'ghost'"):
        explain(RunId("ghost"), Planner(a_fleet(a_node())), now=NOON)


def test_position_follows_class_share_and_age() -> None:
    runs = (
        a_run("young"),
        a_run("old", waited=minutes(9)),
        a_run("urgent", priority=Priority.URGENT),
        a_run("other", team="nlp", waited=minutes(0)),
    )
    fleet = a_fleet(a_node(), queued=runs, running=(an_attempt(team="vision"),))

    order = sorted(runs, key=lambda run: position(run, Planner(fleet), now=NOON))

    assert ["urgent", "other", "old", "young"] == [run.run_id for run in order]


def test_a_start_is_estimated_from_time_limits() -> None:
    fleet = a_fleet(a_node(gpus=2), queued=(a_run("mine", gpus=2),), running=(BUSY,))

    estimate = estimate_start(RunId("mine"), Planner(fleet), now=NOON)

    assert NOON + minutes(45) == estimate.starts_at
    assert "nothing new is submitted; runs use their whole time limit, or 60 min without one" == estimate.assumption


def test_an_estimate_counts_the_runs_ahead() -> None:
    ahead = a_run("ahead", gpus=2, max_wall=minutes(30), waited=minutes(9))
    fleet = a_fleet(a_node(gpus=2), queued=(a_run("mine", gpus=2), ahead), running=(BUSY,))

    assert NOON + minutes(75) == estimate_start(RunId("mine"), Planner(fleet), now=NOON).starts_at


def test_a_run_that_fits_nowhere_gets_no_estimate() -> None:
    fleet = a_fleet(a_node(gpus=2), queued=(a_run("mine", gpus=4),), running=(BUSY,))

    assert estimate_start(RunId("mine"), Planner(fleet), now=NOON).starts_at is None


def test_a_run_that_is_not_due_is_estimated_for_its_time() -> None:
    fleet = a_fleet(a_node(), queued=(a_run("mine", not_before=NOON + minutes(7)),))

    assert NOON + minutes(7) == estimate_start(RunId("mine"), Planner(fleet), now=NOON).starts_at
