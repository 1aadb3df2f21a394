from __future__ import annotations

import pytest

from mosaic.errors import NotFound
from mosaic.ids import AgentId, NodeId
from mosaic_registry.handlers.fleet import (
    drain_agent,
    drain_node,
    forget_dead,
    heartbeat,
    register,
    sweep,
)
from tests.announcements import NOON, a_gpu, a_host, a_worker, an_announcement, seconds
from tests.fakes.calls import admin
from tests.fakes.catalog import InMemoryCatalog

TIMEOUT = seconds(20)


@pytest.fixture
def catalog() -> InMemoryCatalog:
    return InMemoryCatalog()


@pytest.fixture
def token(catalog: InMemoryCatalog) -> str:
    announcement = an_announcement(node=a_host(gpus=(a_gpu(),)))
    return register(announcement, catalog=catalog, now=NOON).session_token


def alive(catalog: InMemoryCatalog) -> list[bool]:
    return [agent.alive for agent in catalog.fleet().agents]


def test_an_agent_lives_until_its_deadline_has_passed(catalog: InMemoryCatalog, token: str) -> None:
    assert sweep(catalog=catalog, now=NOON + TIMEOUT, heartbeat_timeout=TIMEOUT) == []
    assert alive(catalog) == [True]

    died = sweep(catalog=catalog, now=NOON + TIMEOUT + seconds(0.001), heartbeat_timeout=TIMEOUT)

    assert died == ["a1"]
    assert alive(catalog) == [False]


def test_a_heartbeat_moves_the_deadline(catalog: InMemoryCatalog, token: str) -> None:
    heartbeat(AgentId("a1"), token, (), catalog=catalog, now=NOON + seconds(15))

    assert sweep(catalog=catalog, now=NOON + seconds(30), heartbeat_timeout=TIMEOUT) == []


def test_a_dead_agent_is_reported_once(catalog: InMemoryCatalog, token: str) -> None:
    sweep(catalog=catalog, now=NOON + seconds(60), heartbeat_timeout=TIMEOUT)
    before = catalog.revision()

    assert sweep(catalog=catalog, now=NOON + seconds(61), heartbeat_timeout=TIMEOUT) == []

    assert before == catalog.revision()


def test_a_heartbeat_brings_a_dead_agent_back_and_everybody_hears_it(catalog: InMemoryCatalog, token: str) -> None:
    sweep(catalog=catalog, now=NOON + seconds(60), heartbeat_timeout=TIMEOUT)
    before = catalog.revision()

    answer = heartbeat(AgentId("a1"), token, (), catalog=catalog, now=NOON + seconds(61))

    assert answer.changed_fleet
    assert alive(catalog) == [True]
    assert before < catalog.revision()


def test_an_ordinary_heartbeat_wakes_nobody(catalog: InMemoryCatalog, token: str) -> None:
    before = catalog.revision()

    answer = heartbeat(AgentId("a1"), token, (a_gpu(),), catalog=catalog, now=NOON + seconds(5))

    assert not answer.changed_fleet
    assert before == catalog.revision()


def test_a_broken_gpu_is_heard_of_at_the_next_heartbeat(catalog: InMemoryCatalog, token: str) -> None:
    reported = (a_gpu(healthy=False), a_gpu("GPU-unknown"))

    answer = heartbeat(AgentId("a1"), token, reported, catalog=catalog, now=NOON + seconds(5))

    assert answer.changed_fleet
    assert (a_gpu(healthy=False),) == catalog.fleet().nodes[0].gpus


def test_the_long_dead_are_forgotten_with_their_node(catalog: InMemoryCatalog, token: str) -> None:
    sweep(catalog=catalog, now=NOON + seconds(60), heartbeat_timeout=TIMEOUT)

    assert forget_dead(catalog=catalog, now=NOON + seconds(90), after=seconds(100)) == []
    assert forget_dead(catalog=catalog, now=NOON + seconds(101), after=seconds(100)) == ["a1"]

    assert (catalog.fleet().agents, catalog.fleet().nodes) == ((), ())


def test_a_draining_node_is_told_to_its_agents_at_the_heartbeat(catalog: InMemoryCatalog, token: str) -> None:
    drain_node(NodeId("n1"), True, caller=admin(), catalog=catalog, now=NOON)

    assert heartbeat(AgentId("a1"), token, (), catalog=catalog, now=NOON).draining


def test_draining_outlives_a_restart_of_the_agent(catalog: InMemoryCatalog, token: str) -> None:
    drain_agent(AgentId("a1"), True, caller=admin(), catalog=catalog, now=NOON)
    drain_node(NodeId("n1"), True, caller=admin(), catalog=catalog, now=NOON)

    register(an_announcement(node=a_host(gpus=(a_gpu(),))), catalog=catalog, now=NOON)

    fleet = catalog.fleet()
    assert (fleet.agents[0].draining, fleet.nodes[0].draining) == (True, True)


def test_draining_an_unknown_node_suggests_a_known_one(catalog: InMemoryCatalog, token: str) -> None:
    with pytest.raises(NotFound, match=r"no node 'n11', did you mean 'n1'\? \(known: n1\)"):
        drain_node(NodeId("n11"), True, caller=admin(), catalog=catalog, now=NOON)


def test_draining_an_unknown_agent_suggests_a_known_one(catalog: InMemoryCatalog, token: str) -> None:
    with pytest.raises(NotFound, match="no agent 'a11', did you mean 'a1'"):
        drain_agent(AgentId("a11"), True, caller=admin(), catalog=catalog, now=NOON)


def test_the_grade_is_what_the_worker_declares(catalog: InMemoryCatalog, token: str) -> None:
    register(an_announcement("a1", worker=a_worker(resume_grade="A")), catalog=catalog, now=NOON)
    assert catalog.fleet().workers[0].resume_grade == "A"

    register(an_announcement("a1", worker=a_worker()), catalog=catalog, now=NOON)
    assert catalog.fleet().workers[0].resume_grade == ""
