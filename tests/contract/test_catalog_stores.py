"""One behaviour of the registry's store, every implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine

from mosaic.hosting.database import migrate, open_engine
from mosaic.ids import AgentId, NodeId, WorkerName
from mosaic_registry.adapters.sql_catalog import SqlCatalog
from mosaic_registry.adapters.tables import metadata
from mosaic_registry.domain.admission import IssuedCertificate, KeptInvite
from mosaic_registry.ports import Catalog
from tests.announcements import NOON, a_gpu, a_host, a_member, a_worker, seconds
from tests.fakes.catalog import InMemoryCatalog

MIGRATIONS = "mosaic_registry.adapters.migrations"
STORES = ["memory", "sqlite", pytest.param("postgresql", marks=pytest.mark.integration)]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.integration)])
def engine(request: pytest.FixtureRequest, migrated_url: Callable[[str, str], str]) -> Iterator[Engine]:
    opened = open_engine(migrated_url(request.param, MIGRATIONS))
    yield opened
    opened.dispose()


@pytest.fixture(params=STORES)
def catalog(request: pytest.FixtureRequest, migrated_url: Callable[[str, str], str]) -> Iterator[Catalog]:
    if request.param == "memory":
        yield InMemoryCatalog()
        return
    opened = open_engine(migrated_url(request.param, MIGRATIONS))
    yield SqlCatalog(opened)
    opened.dispose()


def test_what_was_put_comes_back_equal(catalog: Catalog) -> None:
    node = a_host(gpus=(a_gpu("GPU-0"), a_gpu("GPU-1", healthy=False, index=1)), draining=True)
    worker = a_worker(versions={"torch": "2.13"}, config_schema={"type": "object"}, resume_grade="A")
    agent = a_member(alive=False, draining=True)

    with catalog.change() as draft:
        draft.put_node(node)
        draft.put_worker(worker)
        draft.put_agent(agent)

    fleet = catalog.fleet()
    assert ((node,), (agent,), (worker,)) == (fleet.nodes, fleet.agents, fleet.workers)


def test_invitations_and_certificates_come_back_equal_and_are_forgotten_in_time(catalog: Catalog) -> None:
    invite = KeptInvite(
        invite_id="i1",
        uses=2,
        created_at=NOON,
        expires_at=NOON + seconds(60),
        created_by="user:olga",
        worker=WorkerName("toy"),
        digest="d",
    )
    good, denied = (
        IssuedCertificate(
            serial=serial,
            agent_id=AgentId(agent_id),
            issued_at=NOON,
            expires_at=NOON + seconds(3600),
            via="invite:i1",
            denied_at=denied_at,
            key_digest="k",
        )
        for serial, agent_id, denied_at in (("1", "a1", None), ("2", "a2", NOON))
    )
    with catalog.change() as draft:
        draft.put_invite(invite)
        draft.put_certificate(good)
        draft.put_certificate(denied)

    with catalog.change() as draft:
        assert (invite, [invite]) == (draft.invite("i1"), list(draft.invites()))
        assert (good, [good, denied]) == (draft.certificate("1"), list(draft.certificates()))
        assert [denied] == list(draft.certificates(AgentId("a2")))
        assert (None, None) == (draft.invite("i2"), draft.certificate("3"))
    assert (False, True, False) == tuple(map(catalog.is_denied, ("1", "2", "3")))
    assert ["2"] == list(catalog.denied(NOON))
    assert [] == list(catalog.denied(NOON + seconds(3601)))

    with catalog.change() as draft:
        draft.forget_admissions(expired_before=NOON + seconds(61))
        assert not draft.invites()
        assert 2 == len(draft.certificates())


def test_each_change_leaves_the_revision_one_higher(catalog: Catalog) -> None:
    before = catalog.revision()

    with catalog.change() as draft:
        draft.put_node(a_host())
        draft.put_node(a_host("n2"))

    assert before + 1 == catalog.revision() == catalog.fleet().revision


def test_a_change_that_fails_leaves_nothing_behind(catalog: Catalog) -> None:
    before = catalog.fleet()

    with suppress(KeyError), catalog.change() as draft:
        draft.put_node(a_host())
        raise KeyError

    assert before == catalog.fleet()


def test_putting_again_replaces(catalog: Catalog) -> None:
    with catalog.change() as draft:
        draft.put_node(a_host(cpus=4))

    with catalog.change() as draft:
        draft.put_node(a_host(cpus=8))
        seen_inside = draft.node(NodeId("n1"))

    assert a_host(cpus=8) == seen_inside == catalog.node(NodeId("n1"))


def test_a_heartbeat_moves_the_time_and_not_the_revision(catalog: Catalog) -> None:
    with catalog.change() as draft:
        draft.put_node(a_host())
        draft.put_agent(a_member())
    before = catalog.revision()

    touched = catalog.touch(AgentId("a1"), "0" * 64, NOON + seconds(5))

    assert touched
    assert before == catalog.revision()
    assert a_member(last_heartbeat=NOON + seconds(5)) == catalog.agent(AgentId("a1"))


@pytest.mark.parametrize(
    ("agent_id", "digest"),
    [("a1", "f" * 64), ("dead", "0" * 64), ("nobody", "0" * 64)],
    ids=["another session", "a dead agent", "an unknown agent"],
)
def test_a_heartbeat_is_noted_only_for_the_living_agent_of_the_session(
    catalog: Catalog, agent_id: str, digest: str
) -> None:
    with catalog.change() as draft:
        draft.put_node(a_host())
        draft.put_agent(a_member())
        draft.put_agent(a_member("dead", alive=False))
    before = catalog.fleet()

    assert not catalog.touch(AgentId(agent_id), digest, NOON + seconds(5))

    assert before == catalog.fleet()


def test_overdue_are_the_living_last_heard_before_the_deadline(catalog: Catalog) -> None:
    with catalog.change() as draft:
        draft.put_node(a_host())
        draft.put_agent(a_member("fresh", last_heartbeat=NOON))
        draft.put_agent(a_member("late", last_heartbeat=NOON - seconds(1)))
        draft.put_agent(a_member("dead", last_heartbeat=NOON - seconds(1), alive=False))

    assert list(catalog.overdue(NOON)) == ["late"]


def test_what_was_removed_is_gone_and_may_be_removed_again(catalog: Catalog) -> None:
    with catalog.change() as draft:
        draft.put_node(a_host())
        draft.put_agent(a_member())

    for _ in range(2):
        with catalog.change() as draft:
            draft.remove_agent(AgentId("a1"))
            draft.remove_node(NodeId("n1"))

    assert (catalog.agent(AgentId("a1")), catalog.node(NodeId("n1"))) == (None, None)


def test_worker_names_are_sorted(catalog: Catalog) -> None:
    with catalog.change() as draft:
        for name in ("xuance", "cleanrl", "rllib"):
            draft.put_worker(a_worker(name))

    assert list(catalog.worker_names()) == ["cleanrl", "rllib", "xuance"]
    assert a_worker("rllib") == catalog.worker(WorkerName("rllib"))
    assert catalog.worker(WorkerName("tianshou")) is None


def test_the_migrations_make_the_tables_that_the_code_uses(engine: Engine) -> None:
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": "registry_version"})

        assert compare_metadata(context, metadata) == []


def test_migrating_twice_is_harmless(engine: Engine) -> None:
    migrate(engine, MIGRATIONS)
