"""The audit trail is one chain on SQLite and PostgreSQL: nothing in it can be changed or taken out unseen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from mosaic.hosting.audit import by
from mosaic.hosting.database import open_engine
from mosaic.ids import TeamName
from mosaic.model.audit import AuditEntry, AuditFilter, broken_link
from mosaic.model.identity import Role
from mosaic_registry.adapters.sql_catalog import SqlCatalog
from mosaic_registry.adapters.tables import audit as registry_audit
from mosaic_scheduler.adapters.sql_runs import SqlRuns
from mosaic_scheduler.adapters.tables import audit as scheduler_audit
from tests.fakes.calls import member

NOON = datetime(2026, 1, 1, 12, 0, 0, 123457, tzinfo=timezone.utc)
ANN = member("ann", vision=Role.TEAM_ADMIN)
Store = SqlRuns | SqlCatalog
#: How a trail is opened, where its tables are made, and its table.
TRAILS = {
    "scheduler": (SqlRuns, "mosaic_scheduler.adapters.migrations", scheduler_audit),
    "registry": (SqlCatalog, "mosaic_registry.adapters.migrations", registry_audit),
}


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=TRAILS)
def service(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def engines(database: str, service: str, migrated_url: Callable[[str, str], str]) -> Iterator[list[Engine]]:
    """Two processes on one database."""
    url = migrated_url(database, TRAILS[service][1])
    opened = [open_engine(url), open_engine(url)]
    yield opened
    for engine in opened:
        engine.dispose()


@pytest.fixture
def stores(engines: list[Engine], service: str) -> list[Store]:
    kind: Any = TRAILS[service][0]
    return [kind(engine) for engine in engines]


def an_entry(number: int = 0, **facts: Any) -> AuditEntry:
    facts = {"target": f"run-{number}", "team": "vision", "after": {"weight": 0.1, "name": "ü\U0001f600"}, **facts}
    return by(ANN, "runs:submit", at=NOON + timedelta(microseconds=number), **facts)


def trail(store: Store, **wanted: Any) -> list[AuditEntry]:
    return store.audit_trail(AuditFilter(**wanted), teams=None, limit=1000)


def test_what_is_read_is_what_was_written(stores: list[Store], service: str) -> None:
    stores[0].note(an_entry())

    (entry,) = trail(stores[1])
    assert replace(an_entry(), service=service, seq=1, hash=entry.hash) == entry


def test_the_chain_holds_however_many_write(stores: list[Store], service: str) -> None:
    def write(store: Store, first: int) -> None:
        for number in range(first, first + 25):
            store.note(an_entry(number))

    writers = [threading.Thread(target=write, args=(stores[index % 2], 25 * index)) for index in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    entries = trail(stores[0])
    assert broken_link(entries) is None
    assert (list(range(1, 101)), 100) == ([entry.seq for entry in entries], len({entry.target for entry in entries}))


def test_the_database_itself_refuses_to_change_an_entry(
    stores: list[Store], engines: list[Engine], service: str
) -> None:
    stores[0].note(an_entry())
    table = TRAILS[service][2].entries

    for statement in (sa.update(table).values(actor="user:eve"), sa.delete(table)):
        with pytest.raises(DBAPIError, match="only ever appended"), engines[0].begin() as connection:
            connection.execute(statement)
    assert [an_entry().actor] == [entry.actor for entry in trail(stores[0])]


def test_filters_and_teams_bound_what_is_read(stores: list[Store]) -> None:
    for number, team in enumerate(["vision", "visio", "vision-2", ""]):
        stores[0].note(an_entry(number, team=team))

    assert ["run-0"] == [entry.target for entry in trail(stores[0], team="vision")]
    assert ["run-2", "run-3"] == [entry.target for entry in trail(stores[0], after=2)]
    assert ["run-3"] == [entry.target for entry in trail(stores[0], since=NOON + timedelta(microseconds=3))]
    assert 4 == len(trail(stores[0], actor="ann")) == len(trail(stores[0], actor="user:ann"))
    mine = stores[0].audit_trail(AuditFilter(), teams=[TeamName("visio")], limit=10)
    assert ["run-1"] == [entry.target for entry in mine]


@pytest.mark.parametrize(
    "tampered",
    [
        lambda entries: [*entries[:1], replace(entries[1], actor="user:eve"), *entries[2:]],
        lambda entries: [*entries[:1], replace(entries[1], allowed=False), *entries[2:]],
        lambda entries: [*entries[:1], replace(entries[1], after={}), *entries[2:]],
        lambda entries: [*entries[:1], replace(entries[1], time=NOON), *entries[2:]],
        lambda entries: [entries[0], *entries[2:]],
        lambda entries: [*entries[1:]],
        lambda entries: [entries[1], entries[0], *entries[2:]],
    ],
)
def test_whatever_was_done_to_it_shows(
    tampered: Callable[[list[AuditEntry]], list[AuditEntry]], migrated_url: Callable[[str, str], str]
) -> None:
    engine = open_engine(migrated_url("sqlite", TRAILS["scheduler"][1]))
    store = SqlRuns(engine)
    for number in range(4):
        store.note(an_entry(number))

    assert broken_link(trail(store)) is None
    assert broken_link(tampered(trail(store))) is not None
    engine.dispose()
