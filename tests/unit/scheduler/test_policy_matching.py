"""Which agent may execute a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mosaic_scheduler.domain.policy import plan
from mosaic_scheduler.domain.snapshot import Agent
from tests.builders import NOON, a_fleet, a_node, a_run, an_agent, started, why


def test_a_run_starts_on_a_node_that_has_its_worker() -> None:
    agents = (an_agent("n1", worker="xuance"), an_agent("n2", worker="cleanrl"))

    decided = plan(a_fleet(a_node("n1"), a_node("n2"), agents=agents, queued=(a_run(),)), now=NOON)

    assert started(decided) == {"run-1": "n2"}
    assert decided.admissions[0].agent_id == "cleanrl@n2"


@pytest.mark.parametrize(
    ("agents", "sentence"),
    [
        pytest.param((), "no agent of worker cleanrl has announced itself", id="nobody announced the worker"),
        pytest.param(
            (an_agent(healthy=False), an_agent(agent_id="other", draining=True)),
            "all 2 agents of worker cleanrl are unhealthy or draining",
            id="its agents are sick or leaving",
        ),
    ],
)
def test_a_run_without_an_agent_waits_because(agents: tuple[Agent, ...], sentence: str) -> None:
    decided = plan(a_fleet(a_node(), agents=agents, queued=(a_run(),)), now=NOON)

    assert sentence == why(decided, "run-1")


def test_an_agent_executes_no_more_attempts_than_it_has_slots() -> None:
    fleet = a_fleet(a_node(), agents=(replace(an_agent(), slots=2),))
    runs = tuple(a_run(f"run-{number}") for number in range(3))

    decided = plan(replace(fleet, queued=runs), now=NOON)

    assert started(decided) == {"run-0": "n1", "run-1": "n1"}
    assert why(decided, "run-2") == "all agents of worker cleanrl with room execute as many attempts as they may"


def test_a_second_agent_takes_over_when_the_first_is_full() -> None:
    agents = (an_agent(agent_id="a", slots=1), an_agent(agent_id="b", slots=1))

    decided = plan(a_fleet(a_node(), agents=agents, queued=(a_run("r1"), a_run("r2"))), now=NOON)

    assert [admission.agent_id for admission in decided.admissions] == ["a", "b"]
