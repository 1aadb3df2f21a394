"""What the registry writes down, and who may drain."""

from __future__ import annotations

import pytest

from mosaic.errors import Forbidden, MosaicError, NotFound
from mosaic.hosting.access import Peer
from mosaic.ids import AgentId, NodeId, UserName
from mosaic.model.audit import ActorKind, AuditFilter
from mosaic.model.identity import Caller, Role
from mosaic_registry.handlers.fleet import drain_agent, drain_node, register
from tests.announcements import NOON, an_announcement
from tests.fakes.calls import member
from tests.fakes.catalog import InMemoryCatalog

OPERATOR = Caller(UserName("olga"), roles=frozenset({Role.OPERATOR}), via="session:3")


@pytest.fixture
def catalog() -> InMemoryCatalog:
    catalog = InMemoryCatalog()
    register(an_announcement("a1"), catalog=catalog, now=NOON, peer=Peer(agent_id="a1", serial="77"))
    return catalog


def test_an_agent_that_joins_is_written_down_with_its_certificate(catalog: InMemoryCatalog) -> None:
    (entry,) = catalog.audit_trail(AuditFilter(), teams=None, limit=10)

    assert ("agent:a1", ActorKind.AGENT, "certificate:77", "agents:register", "a1") == (
        entry.actor,
        entry.kind,
        entry.via,
        entry.action,
        entry.target,
    )


def test_a_drain_is_written_down_with_what_it_changed(catalog: InMemoryCatalog) -> None:
    drain_node(NodeId("n1"), True, caller=OPERATOR, catalog=catalog, now=NOON)

    entry = catalog.audit_trail(AuditFilter(), teams=None, limit=10)[-1]
    assert ("user:olga", "session:3", "nodes:drain", "n1") == (entry.actor, entry.via, entry.action, entry.target)
    assert ({"draining": False}, {"draining": True}) == (entry.before, entry.after)


@pytest.mark.parametrize(
    ("caller", "error"),
    [
        (member("ann", vision=Role.TEAM_ADMIN), Forbidden),
        (Caller(UserName("aud"), roles=frozenset({Role.AUDITOR})), NotFound),
        (Caller(UserName("eve")), NotFound),
    ],
)
def test_nobody_else_drains(catalog: InMemoryCatalog, caller: Caller, error: type[MosaicError]) -> None:
    with pytest.raises(error):
        drain_node(NodeId("n1"), True, caller=caller, catalog=catalog, now=NOON)
    with pytest.raises(error):
        drain_agent(AgentId("a1"), True, caller=caller, catalog=catalog, now=NOON)

    fleet = catalog.fleet()
    assert (False, False) == (fleet.nodes[0].draining, fleet.agents[0].draining)
