from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
import sqlalchemy
from prometheus_client import CollectorRegistry

from mosaic.errors import DatabaseUnavailable
from mosaic.hosting.changes import ChangeSignal
from mosaic.ids import AgentId, UserName
from mosaic.model.fleet import Fleet
from mosaic.model.people import CredentialKind
from mosaic_registry.bootstrap import Parts
from mosaic_registry.domain.credential import make
from mosaic_registry.entrypoints.sweeper import Sweeper
from mosaic_registry.handlers.fleet import register
from tests.announcements import NOON, an_announcement, seconds
from tests.fakes.catalog import InMemoryCatalog
from tests.fakes.people import InMemoryPeople, PlainPasswords


class AbsentCatalog(InMemoryCatalog):
    def overdue(self, heard_before: datetime) -> list[AgentId]:
        raise DatabaseUnavailable("the database does not answer")

    def fleet(self) -> Fleet:
        raise DatabaseUnavailable("the database does not answer")


@pytest.fixture
def parts() -> Parts:
    return Parts(
        engine=sqlalchemy.create_engine("sqlite://"),
        catalog=InMemoryCatalog(),
        people=InMemoryPeople(),
        passwords=PlainPasswords(),
        issuer=None,
        pods=None,
        changes=ChangeSignal(),
        notifications=None,
        clock=lambda: NOON + seconds(60),
        heartbeat_interval=seconds(5),
        heartbeat_timeout=seconds(20),
        forget_after=seconds(600),
    )


def test_a_death_is_rung_for_watchers_and_counted(parts: Parts) -> None:
    metrics = CollectorRegistry()
    register(an_announcement(), catalog=parts.catalog, now=NOON)

    pause_s = Sweeper(parts, metrics).sweep_if_possible()

    assert (1.0, 1) == (pause_s, parts.changes.count())
    assert 1.0 == metrics.get_sample_value("mosaic_registry_agents_lost")


def test_a_sweep_without_news_wakes_nobody(parts: Parts) -> None:
    register(an_announcement(), catalog=parts.catalog, now=NOON + seconds(59))

    Sweeper(parts, CollectorRegistry()).sweep_if_possible()

    assert 0 == parts.changes.count()


class BrokenCatalog(InMemoryCatalog):
    def overdue(self, heard_before: datetime) -> list[AgentId]:
        raise RuntimeError("nobody thought of this")


def test_an_error_nobody_thought_of_does_not_end_the_sweeping(parts: Parts) -> None:
    sweeper = Sweeper(replace(parts, catalog=BrokenCatalog()), CollectorRegistry())

    assert (20.0, None) == (sweeper.sweep_if_possible(), sweeper.fault())


def test_a_sweeper_that_has_ended_says_so(parts: Parts) -> None:
    sweeper = Sweeper(parts, CollectorRegistry())
    assert sweeper.fault() is None
    sweeper.start()
    sweeper.stop()

    assert "the sweeper has ended; restart the registry" == sweeper.fault()


def test_after_an_outage_agents_get_a_whole_timeout_to_call_again(parts: Parts) -> None:
    """Their heartbeats could not be written either; nobody is dead because the database was."""
    without_database = replace(parts, catalog=AbsentCatalog())

    assert 20.0 == Sweeper(without_database, CollectorRegistry()).sweep_if_possible()


def test_credentials_that_ended_are_removed_within_the_hour(parts: Parts) -> None:
    now = [NOON]
    _, ended = make(CredentialKind.TOKEN, UserName("ada"), now=NOON, life=seconds(1))
    with parts.people.change() as draft:
        draft.put_credential(ended)
    sweeper = Sweeper(replace(parts, clock=lambda: now[0]), CollectorRegistry())

    for passed, left in ((60, 1), (3600, 0)):
        now[0] = NOON + seconds(passed)
        sweeper.sweep()
        with parts.people.read() as view:
            assert left == len(view.credentials(UserName("ada")))
