"""Whose turn it is: priority, then the team's share, then the user's, then age."""

from __future__ import annotations

from datetime import timedelta

from mosaic.ids import TeamName, UserName
from mosaic.model.run import Priority
from mosaic_scheduler.domain.policy import plan
from mosaic_scheduler.domain.run import QueuedRun
from mosaic_scheduler.domain.snapshot import Snapshot, Usage
from tests.builders import NOON, a_fleet, a_node, a_run, a_team, an_attempt, minutes, started

VISION, NLP = TeamName("vision"), TeamName("nlp")


def one_gpu(*queued: QueuedRun, **more: object) -> Snapshot:
    """A fleet on which only one of the *queued* can start."""
    return a_fleet(a_node("n1", gpus=1), a_node("n2", gpus=1), queued=queued, **more)


def first_two(snapshot: Snapshot) -> list[str]:
    return list(started(plan(snapshot, now=NOON)))


def test_a_higher_class_is_served_before_an_older_run() -> None:
    fleet = one_gpu(
        a_run("old", waited=minutes(60)),
        a_run("low", priority=Priority.LOW, waited=minutes(90)),
        a_run("urgent", priority=Priority.URGENT, waited=minutes(0)),
    )

    assert first_two(fleet) == ["urgent", "old"]


def test_the_older_of_two_equal_runs_is_first() -> None:
    assert first_two(one_gpu(a_run("a", waited=minutes(1)), a_run("b", waited=minutes(2)))) == ["b", "a"]


def test_teams_take_turns() -> None:
    mine = [a_run(f"v{number}", waited=minutes(10)) for number in range(3)]

    assert sorted(first_two(one_gpu(*mine, a_run("n0", team="nlp")))) == ["n0", "v0"]


def test_a_team_of_twice_the_weight_gets_twice_as_much() -> None:
    runs = [a_run(f"{team}-{number}", team=team) for team in ("vision", "nlp") for number in range(6)]
    teams = (a_team("vision", weight=2.0), a_team("nlp"))

    decided = plan(a_fleet(a_node(gpus=6), queued=tuple(runs), teams=teams), now=NOON)

    assert sum(run_id.startswith("vision") for run_id in started(decided)) == 4


def test_what_a_team_holds_counts() -> None:
    fleet = a_fleet(
        a_node(gpus=2),
        queued=(a_run("v", waited=minutes(9)), a_run("n", team="nlp")),
        running=(an_attempt(team="vision"),),
    )

    assert first_two(fleet) == ["n"]


def test_what_a_team_used_lately_counts() -> None:
    usage = Usage(NOON, {VISION: 0.4, NLP: 0.1})
    fleet = a_fleet(a_node(gpus=1), queued=(a_run("v", waited=minutes(9)), a_run("n", team="nlp")), usage=usage)

    assert first_two(fleet) == ["n"]


def test_old_use_is_forgotten() -> None:
    """After many half-lives nothing is left of it, and what is held now decides."""
    usage = Usage(NOON - timedelta(days=30), {VISION: 0.9})
    fleet = a_fleet(
        a_node(gpus=2),
        queued=(a_run("v"), a_run("n", team="nlp", waited=minutes(9))),
        running=(an_attempt(team="nlp"),),
        usage=usage,
    )

    assert first_two(fleet) == ["v"]


def test_the_dominant_resource_counts_not_only_gpus() -> None:
    """Vision holds no GPU but most CPUs; nlp holds one GPU of eight."""
    fleet = a_fleet(
        a_node(gpus=8, cpus=64),
        queued=(a_run("v", cpus=8, gpus=0, waited=minutes(9)), a_run("n", cpus=8, gpus=0, team="nlp")),
        running=(an_attempt("a", gpus=(), cpus=48, team="vision"), an_attempt("b", cpus=1, team="nlp")),
    )

    assert first_two(fleet)[0] == "n"


def test_users_of_a_team_take_turns() -> None:
    mine = [a_run(f"ada-{number}", waited=minutes(10)) for number in range(3)]

    assert {"ada-0", "bob-0"} == set(first_two(one_gpu(*mine, a_run("bob-0", user="bob"))))


def test_the_user_who_used_less_lately_is_first() -> None:
    usage = Usage(NOON, {}, {(VISION, UserName("ada")): 0.3})
    fleet = a_fleet(a_node(gpus=1), queued=(a_run("ada", waited=minutes(9)), a_run("bob", user="bob")), usage=usage)

    assert first_two(fleet) == ["bob"]


def test_a_small_run_may_overtake_a_big_one_that_cannot_fit() -> None:
    fleet = a_fleet(
        a_node(gpus=4),
        queued=(a_run("big", gpus=4, waited=minutes(60)), a_run("small")),
        running=(an_attempt(resume_grade=None),),
    )

    decided = plan(fleet, now=NOON)

    assert started(decided) == {"small": "n1"}
    assert decided.overtaken == ("big",)
