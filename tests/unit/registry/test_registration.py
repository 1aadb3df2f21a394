from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mosaic.errors import BadInput, SessionRejected, WorkerNotFound
from mosaic.ids import AgentId, NodeId, WorkerName
from mosaic.model.fleet import Fleet
from mosaic.wire.codec import from_wire, to_wire
from mosaic.wire.v1 import registry_pb2
from mosaic_registry.domain import session
from mosaic_registry.domain.protocol import NoCommonProtocol, negotiate
from mosaic_registry.handlers.fleet import (
    describe_worker,
    drain_agent,
    drain_node,
    heartbeat,
    leave,
    register,
    sweep,
)
from tests.announcements import NOON, a_gpu, a_host, a_member, a_worker, an_announcement, seconds
from tests.fakes.calls import admin
from tests.fakes.catalog import InMemoryCatalog


@pytest.fixture
def catalog() -> InMemoryCatalog:
    return InMemoryCatalog()


def test_a_registered_agent_stands_in_the_fleet_with_its_node_and_worker(catalog: InMemoryCatalog) -> None:
    register(an_announcement(), catalog=catalog, now=NOON)

    fleet = catalog.fleet()
    assert [agent.agent_id for agent in fleet.agents] == ["a1"]
    assert (a_host(),) == fleet.nodes
    (worker,) = fleet.workers
    assert a_worker() == replace(worker, digest="")


def test_the_token_is_kept_as_a_digest_only(catalog: InMemoryCatalog) -> None:
    welcome = register(an_announcement(), catalog=catalog, now=NOON)

    (agent,) = catalog.fleet().agents
    assert session.digest_of(welcome.session_token) == agent.session_digest
    assert welcome.session_token not in repr(catalog.fleet())


def test_every_fault_of_an_announcement_is_listed(catalog: InMemoryCatalog) -> None:
    broken = an_announcement(
        "no spaces please",
        slots=0,
        queue="",
        node=a_host(cpus=0, gpus=(a_gpu(), a_gpu())),
        worker=a_worker(version="", launch=()),
    )

    with pytest.raises(BadInput) as caught:
        register(broken, catalog=catalog, now=NOON)

    assert list(caught.value.faults) == [
        "agent_id 'no spaces please' is not an id (letters, digits and . _ @ -, at most 128)",
        "slots is 0; an agent has at least one",
        "queue is empty; name the queue on which the agent listens",
        "node.cpus is 0; a node has at least one",
        "GPU GPU-0 is listed 2 times",
        "worker.version is empty",
        "worker.launch is empty; say what follows the interpreter, for example -m mosaic_reference",
    ]
    assert catalog.fleet().agents == ()


@pytest.mark.parametrize(
    ("capabilities", "fault"),
    [
        ({"cpu_cores": "abc"}, "capabilities.cpu_cores is 'abc'; it is a number"),
        ({"estimated_memory_mb": float("nan")}, "capabilities.estimated_memory_mb is 'nan'"),
        ({"env_families": "atari"}, "capabilities.env_families is 'atari'; it is a list of words"),
    ],
)
def test_capabilities_that_others_could_not_calculate_with_are_refused(
    catalog: InMemoryCatalog, capabilities: dict[str, Any], fault: str
) -> None:
    with pytest.raises(BadInput, match=fault):
        register(an_announcement(worker=a_worker(capabilities=capabilities)), catalog=catalog, now=NOON)


def test_a_queue_that_no_broker_takes_is_refused(catalog: InMemoryCatalog) -> None:
    with pytest.raises(BadInput, match="queue has 300 bytes; a broker takes at most 255"):
        register(an_announcement(queue="q" * 300), catalog=catalog, now=NOON)


def test_the_highest_common_protocol_is_spoken() -> None:
    offered = ("MOSAIC/2.0", "MOSAIC/1.10", "MOSAIC/1.9")

    assert negotiate(offered, spoken=("MOSAIC/1.9", "MOSAIC/1.10")) == "MOSAIC/1.10"


def test_a_refused_protocol_names_both_lists() -> None:
    with pytest.raises(NoCommonProtocol, match=r"agent speaks MOSAIC/9\.0.*registry speaks MOSAIC/2\.0"):
        negotiate(["MOSAIC/9.0"])


def test_registering_again_ends_the_former_session(catalog: InMemoryCatalog) -> None:
    old = register(an_announcement(), catalog=catalog, now=NOON)

    new = register(an_announcement(), catalog=catalog, now=NOON)

    with pytest.raises(SessionRejected, match="must register again"):
        heartbeat(AgentId("a1"), old.session_token, (), catalog=catalog, now=NOON)
    heartbeat(AgentId("a1"), new.session_token, (), catalog=catalog, now=NOON)


def test_an_agent_that_joined_an_older_registry_must_register_again(catalog: InMemoryCatalog) -> None:
    welcome = register(an_announcement(), catalog=catalog, now=NOON)
    with catalog.change() as draft:
        joined = draft.agent(AgentId("a1"))
        assert joined is not None
        draft.put_agent(replace(joined, protocol_version="MOSAIC/1.0"))

    with pytest.raises(SessionRejected, match="must register again"):
        heartbeat(AgentId("a1"), welcome.session_token, (), catalog=catalog, now=NOON)


def test_only_the_agent_itself_can_leave(catalog: InMemoryCatalog) -> None:
    register(an_announcement(), catalog=catalog, now=NOON)

    with pytest.raises(SessionRejected):
        leave(AgentId("a1"), "a guess", catalog=catalog)

    assert len(catalog.fleet().agents) == 1


def test_the_last_agent_that_leaves_takes_its_node_along(catalog: InMemoryCatalog) -> None:
    first = register(an_announcement("a1"), catalog=catalog, now=NOON)
    second = register(an_announcement("a2"), catalog=catalog, now=NOON)

    leave(AgentId("a1"), first.session_token, catalog=catalog)
    assert catalog.node(NodeId("n1")) is not None

    leave(AgentId("a2"), second.session_token, catalog=catalog)
    assert catalog.node(NodeId("n1")) is None


def test_two_agents_of_one_host_share_its_node(catalog: InMemoryCatalog) -> None:
    cards = (a_gpu("GPU-0"), a_gpu("GPU-1"))
    register(an_announcement("a1", node=a_host(gpus=cards)), catalog=catalog, now=NOON)

    other_words = a_host(gpus=cards[::-1], hostname="elsewhere")
    register(an_announcement("a2", node=other_words), catalog=catalog, now=NOON)

    assert (a_host(gpus=cards),) == catalog.fleet().nodes


@pytest.mark.parametrize("size", [{"cpus": 1}, {"memory_mb": 1}, {"cpus": 512}])
def test_who_comes_later_changes_the_size_of_a_node_for_nobody(catalog: InMemoryCatalog, size: dict[str, int]) -> None:
    register(an_announcement("a1"), catalog=catalog, now=NOON)

    with pytest.raises(BadInput) as caught:
        register(an_announcement("a2", node=a_host(**size)), catalog=catalog, now=NOON)

    (fault,) = caught.value.faults
    assert "16 CPUs and 64000 MB" in fault
    assert "MOSAIC_AGENT_NODE_ID" in fault
    assert ((a_host(),), ["a1"]) == (catalog.fleet().nodes, [agent.agent_id for agent in catalog.fleet().agents])


def test_a_size_is_gone_with_the_agent_that_announced_it(catalog: InMemoryCatalog) -> None:
    small = register(an_announcement("a1", node=a_host(cpus=1, memory_mb=1)), catalog=catalog, now=NOON)
    leave(AgentId("a1"), small.session_token, catalog=catalog)

    register(an_announcement("a2"), catalog=catalog, now=NOON)

    assert (a_host(),) == catalog.fleet().nodes


def test_agents_of_one_host_must_see_the_same_cards(catalog: InMemoryCatalog) -> None:
    register(an_announcement("a1", node=a_host(gpus=(a_gpu("GPU-0"), a_gpu("GPU-1")))), catalog=catalog, now=NOON)
    blind = an_announcement("a2", node=a_host(gpus=(a_gpu("GPU-0", memory_mb=1), a_gpu("GPU-2"))))

    with pytest.raises(BadInput) as caught:
        register(blind, catalog=catalog, now=NOON)

    assert list(caught.value.faults) == [
        "node n1: its other agents see GPU GPU-1, this one does not",
        "node n1: this agent sees GPU GPU-2, its other agents do not",
        "GPU GPU-0: H100 with 1 MB here, H100 with 80000 MB before",
    ]


def test_a_card_cannot_stand_on_two_living_nodes(catalog: InMemoryCatalog) -> None:
    register(an_announcement("a1", node=a_host("n1", gpus=(a_gpu(),))), catalog=catalog, now=NOON)

    with pytest.raises(BadInput, match="GPU GPU-0 already belongs to node n1"):
        register(an_announcement("a2", node=a_host("n2", gpus=(a_gpu(),))), catalog=catalog, now=NOON)


def test_an_agent_alone_on_its_node_may_return_with_other_hardware(catalog: InMemoryCatalog) -> None:
    register(an_announcement(node=a_host(cpus=4)), catalog=catalog, now=NOON)

    register(an_announcement(node=a_host(cpus=8, gpus=(a_gpu(),))), catalog=catalog, now=NOON)

    assert (a_host(cpus=8, gpus=(a_gpu(),)),) == catalog.fleet().nodes


def test_an_agent_that_moves_takes_its_old_node_off_the_fleet(catalog: InMemoryCatalog) -> None:
    register(an_announcement(node=a_host("n1")), catalog=catalog, now=NOON)

    register(an_announcement(node=a_host("n2")), catalog=catalog, now=NOON)

    assert [node.node_id for node in catalog.fleet().nodes] == ["n2"]


def newest(catalog: InMemoryCatalog) -> str:
    return describe_worker(WorkerName("cleanrl"), catalog=catalog).version


def test_who_comes_later_changes_the_worker_of_others_for_nobody(catalog: InMemoryCatalog) -> None:
    register(
        an_announcement("a1", worker=a_worker(config_schema={"properties": {"lr": {}}})), catalog=catalog, now=NOON
    )
    before = catalog.fleet().workers

    for worker in (a_worker(version="99.0"), a_worker(config_schema={}), a_worker(capabilities={"cpu_cores": 64})):
        register(an_announcement("a2", worker=worker), catalog=catalog, now=NOON + seconds(1))
        assert before == catalog.fleet().workers

    first, second = catalog.fleet().agents
    assert first.worker_digest == before[0].digest != second.worker_digest


@pytest.mark.parametrize("end", ["leaves", "dies", "is drained", "drains with its node"])
def test_the_worker_of_the_other_agent_counts_once_the_first_is_gone(catalog: InMemoryCatalog, end: str) -> None:
    old = register(an_announcement("a1", worker=a_worker(version="1.9")), catalog=catalog, now=NOON)
    upgraded = an_announcement("a2", node=a_host("n2"), worker=a_worker(version="1.10"))
    new = register(upgraded, catalog=catalog, now=NOON + seconds(60))

    if end == "leaves":
        leave(AgentId("a1"), old.session_token, catalog=catalog)
    elif end == "dies":
        sweep(catalog=catalog, now=NOON + seconds(61), heartbeat_timeout=seconds(30))
    elif end == "is drained":
        drain_agent(AgentId("a1"), True, caller=admin(), catalog=catalog, now=NOON)
    else:
        drain_node(NodeId("n1"), True, caller=admin(), catalog=catalog, now=NOON)

    with pytest.raises(SessionRejected):
        heartbeat(AgentId("a2"), new.session_token, (), catalog=catalog, now=NOON + seconds(62))
    register(upgraded, catalog=catalog, now=NOON + seconds(62))
    assert "1.10" == newest(catalog)


def test_agents_that_agree_are_not_called_when_one_of_them_goes(catalog: InMemoryCatalog) -> None:
    first = register(an_announcement("a1"), catalog=catalog, now=NOON)
    second = register(an_announcement("a2"), catalog=catalog, now=NOON)

    leave(AgentId("a1"), first.session_token, catalog=catalog)

    heartbeat(AgentId("a2"), second.session_token, (), catalog=catalog, now=NOON)


def test_agents_of_before_there_were_digests_stand_by_their_version(catalog: InMemoryCatalog) -> None:
    register(an_announcement("a1"), catalog=catalog, now=NOON)
    with catalog.change() as draft:
        draft.put_worker(a_worker())
        draft.put_agent(a_member("a1"))

    register(an_announcement("a2", worker=a_worker(version="99.0")), catalog=catalog, now=NOON)

    assert "1.0.0" == newest(catalog)


@pytest.mark.parametrize(
    "announced",
    [
        {"node": a_host(hostname="h" * 300)},
        {"node": a_host(hostname="a\u202eb")},
        {"worker": a_worker(version="1" * 200)},
        {"node": a_host(gpus=(a_gpu(model="\x1b[2J"),))},
        {"worker": a_worker(config_schema={"properties": 3})},
        {"worker": a_worker(config_schema={"x-missing-environments": "all"})},
        {"worker": a_worker(config_schema={"x-environment-variables": {}})},
    ],
)
def test_what_no_table_terminal_or_submit_takes_is_refused(catalog: InMemoryCatalog, announced: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        register(an_announcement(**announced), catalog=catalog, now=NOON)


def test_an_old_agent_that_returns_during_an_upgrade_does_not_undo_it(catalog: InMemoryCatalog) -> None:
    register(an_announcement("new", worker=a_worker(version="1.10.0")), catalog=catalog, now=NOON)

    register(an_announcement("old", worker=a_worker(version="1.9.0")), catalog=catalog, now=NOON)

    assert describe_worker(WorkerName("cleanrl"), catalog=catalog).version == "1.10.0"


def test_a_worker_goes_back_to_an_older_version_once_nobody_runs_the_newer(catalog: InMemoryCatalog) -> None:
    register(an_announcement("a1", worker=a_worker(version="2.0")), catalog=catalog, now=NOON)

    register(an_announcement("a1", worker=a_worker(version="1.0")), catalog=catalog, now=NOON + seconds(1))

    assert describe_worker(WorkerName("cleanrl"), catalog=catalog).version == "1.0"


def test_an_unknown_worker_is_answered_with_the_nearest_name(catalog: InMemoryCatalog) -> None:
    register(an_announcement(), catalog=catalog, now=NOON)

    with pytest.raises(WorkerNotFound, match="did you mean 'cleanrl'"):
        describe_worker(WorkerName("cleanlr"), catalog=catalog)


def test_services_are_sent_the_digest_of_a_session_and_people_are_not_shown_it() -> None:
    sent = to_wire(Fleet(agents=(a_member(session_digest="d" * 64),)), registry_pb2.Fleet)

    assert "d" * 64 == sent.agents[0].session_digest
    assert "d" * 64 not in str(from_wire(sent, Fleet))
