"""What the registry writes down, and who may drain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.errors import Forbidden, MosaicError, NotFound, Unauthenticated
from mosaic.hosting.access import Peer
from mosaic.ids import AgentId, NodeId, UserName
from mosaic.model.audit import ActorKind, AuditFilter, broken_link
from mosaic.model.identity import Caller, Role
from mosaic.wire.v1 import identity_pb2 as pb
from mosaic_registry.bootstrap import Parts, build
from mosaic_registry.entrypoints.identity_api import IdentityApi
from mosaic_registry.handlers.fleet import drain_agent, drain_node, register
from mosaic_registry.settings import Settings
from tests.announcements import NOON, an_announcement
from tests.fakes.calls import Call, admin, member
from tests.fakes.catalog import InMemoryCatalog
from tests.fakes.databases import migrated_file

PASSWORD = "correct horse battery"
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


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    url = migrated_file("mosaic_registry.adapters.migrations", tmp_path / "registry.db")
    parts = build(Settings(url, admin="root", admin_password=PASSWORD))
    yield parts
    parts.engine.dispose()


def told(parts: Parts) -> list[tuple[str, str, str, bool]]:
    trail = parts.catalog.audit_trail(AuditFilter(), teams=None, limit=100)
    assert broken_link(trail) is None
    assert PASSWORD not in str(trail)
    return [(entry.actor, entry.action, entry.target, entry.allowed) for entry in trail]


def test_every_change_of_people_is_written_down(parts: Parts) -> None:
    api, root = IdentityApi(parts), Call(admin("root"))
    ada = pb.User(name="ada", active=True)

    api.AddUser(pb.AddUserRequest(user=ada, password=PASSWORD), root)
    api.SetMember(pb.SetMemberRequest(team="vision", name="ada", role="researcher"), root)
    api.SetRoles(pb.SetRolesRequest(name="ada", roles=["operator"]), root)
    api.SetPassword(pb.SetPasswordRequest(name="ada", password=PASSWORD + "!"), root)
    issued = api.IssueToken(pb.IssueTokenRequest(name="ci"), root)
    api.Revoke(pb.RevokeRequest(credential_id=issued.credential.credential_id), root)
    api.ChangeUser(pb.ChangeUserRequest(name="ada", active=False), root)

    asked = [
        ("people:add", "ada"),
        ("people:set-member", "ada"),
        ("people:set-roles", "ada"),
        ("people:set-password", "ada"),
        ("tokens:issue", "root"),
        ("credentials:revoke", issued.credential.credential_id),
        ("people:change", "ada"),
    ]
    assert [("user:root", *one, True) for one in asked] == told(parts)
    assert issued.secret not in str(parts.catalog.audit_trail(AuditFilter(), teams=None, limit=100))


def test_what_the_console_refuses_is_written_down(parts: Parts) -> None:
    request = pb.NoteRefusalRequest(permission="runs:change", target="POST /api/v1/runs/r1/cancel")

    IdentityApi(parts).NoteRefusal(request, Call(member("gus", vision=Role.VIEWER)))

    assert [("user:gus", "runs:change", "POST /api/v1/runs/r1/cancel", False)] == told(parts)


def test_who_is_refused_to_change_people_is_written_down_and_nothing_else_is(parts: Parts) -> None:
    api, eve = IdentityApi(parts), Call(member("eve", vision=Role.TEAM_ADMIN))

    with pytest.raises(Forbidden):
        api.AddUser(pb.AddUserRequest(user=pb.User(name="ada", active=True), password=PASSWORD), eve)
    with pytest.raises(NotFound):
        api.SetRoles(pb.SetRolesRequest(name="root", roles=[]), eve)

    assert [("user:eve", "people:add", "ada", False), ("user:eve", "people:set-roles", "root", False)] == told(parts)


def test_signing_in_is_written_down_but_nothing_that_may_be_a_password(parts: Parts) -> None:
    api = IdentityApi(parts)
    api.SignIn(pb.SignInRequest(user="root", password=PASSWORD), Call())
    for user, password in (("root", "wrong"), (PASSWORD, "root")):
        with pytest.raises(Unauthenticated):
            api.SignIn(pb.SignInRequest(user=user, password=password), Call())

    known = ("user:root", "sign-in", "root")
    assert [(*known, True), (*known, False), ("user:?", "sign-in", "?", False)] == told(parts)
