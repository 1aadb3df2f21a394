"""What an episode is."""

from __future__ import annotations

import pytest

from mosaic.events import Episode, Violation, read_line, scan_lines
from mosaic.events.episodes import evaluation_kind, headline_kind, kind_of, returns_of


@pytest.mark.parametrize(
    ("agent", "evaluation", "kind"),
    [
        (None, None, "training"), ("", False, "training"), ("red", None, "agent"),
        (None, True, "evaluation"), ("red", True, "evaluation_agent"),
    ],
)  # fmt: skip
def test_an_episode_is_of_one_kind(agent: str | None, evaluation: bool | None, kind: str) -> None:
    assert kind == kind_of(agent, evaluation)


def test_a_run_is_judged_by_its_own_episodes_and_by_those_of_its_agents_if_it_has_no_others() -> None:
    assert "training" == headline_kind({"training": 1, "agent": 3, "evaluation": 9})
    assert "agent" == headline_kind({"agent": 3, "evaluation": 9})
    assert "training" == headline_kind({"evaluation": 9})
    assert "evaluation" == evaluation_kind({"evaluation": 9, "evaluation_agent": 18})
    assert "evaluation_agent" == evaluation_kind({"training": 1, "evaluation_agent": 18})


def test_the_only_agent_is_the_run_itself() -> None:
    assert ["training", "agents", "training"] == [
        returns_of("agent", 1), returns_of("agent", 2), returns_of("training", 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "agent", "evaluation"),
    [
        (b'"evaluation":true', None, True), (b'"is_eval":1', None, True), (b'"is_evaluation":"true"', None, True),
        (b'"evaluation":false', None, False), (b'"agent_id":"evaluation"', None, True),
        (b'"agent_id":"evaluation","evaluation":false', "evaluation", False),
        (b'"agent":"red","evaluation":true', "red", True), (b'"seed":1', None, None),
    ],
)  # fmt: skip
def test_however_a_line_says_so_an_evaluation_is_one(said: bytes, agent: str | None, evaluation: bool | None) -> None:
    line = b'{"event":"episode","payload":{"total_reward":1.0,%s},"run_id":"R1","timestamp":1.5}' % said

    event = read_line(line)
    (row,) = scan_lines([line]).episodes

    assert isinstance(event, Episode)
    assert (agent, evaluation) == (event.payload.agent_id, event.payload.evaluation)
    assert (agent, bool(evaluation)) == (row.agent, row.evaluation)


def test_a_line_that_cannot_be_sorted_is_a_violation_and_counts_nowhere() -> None:
    event = read_line(b'{"event":"episode","total_reward":1.0,"evaluation":"perhaps"}')

    assert isinstance(event, Violation)
    assert "evaluation is 'perhaps', not true or false" == event.reason
