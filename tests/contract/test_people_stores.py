"""One behaviour of the store of people, every implementation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from mosaic.hosting.database import open_engine
from mosaic.ids import TeamName, UserName
from mosaic.model.identity import Permission, Role
from mosaic.model.people import CredentialKind
from mosaic_registry.adapters.sql_people import SqlPeople
from mosaic_registry.domain.credential import make
from mosaic_registry.domain.guessing import Failures
from mosaic_registry.domain.people import Account
from mosaic_registry.ports import People
from tests.fakes.people import InMemoryPeople

MIGRATIONS = "mosaic_registry.adapters.migrations"
STORES = ["memory", "sqlite", pytest.param("postgresql", marks=pytest.mark.integration)]
NOON = datetime(2030, 1, 1, 12, tzinfo=timezone.utc)
ADA = Account(
    UserName("ada"),
    "Ada L.",
    "ada@example.org",
    roles=frozenset({Role.OPERATOR, Role.AUDITOR}),
    teams={TeamName("vision"): Role.RESEARCHER, TeamName("robots"): Role.TEAM_ADMIN},
    password_hash="$argon2id$x",
)
ROBOT = Account(UserName("ci"), active=False, teams={TeamName("vision"): Role.VIEWER}, owner_team=TeamName("vision"))


@pytest.fixture(params=STORES)
def people(request: pytest.FixtureRequest, migrated_url: Callable[[str, str], str]) -> Iterator[People]:
    if request.param == "memory":
        yield InMemoryPeople()
        return
    engine = open_engine(migrated_url(request.param, MIGRATIONS))
    yield SqlPeople(engine)
    engine.dispose()


def test_accounts_come_back_equal(people: People) -> None:
    with people.change() as draft:
        draft.put_account(ADA)
        draft.put_account(ROBOT)

    with people.read() as view:
        assert ADA == view.account(ADA.name)
        assert [ADA, ROBOT] == list(view.accounts())
        assert view.account(UserName("ad")) is None


def test_accounts_of_a_team_have_a_role_in_it_or_belong_to_it(people: People) -> None:
    homeless = replace(ROBOT, name=UserName("old-ci"), teams={})
    with people.change() as draft:
        for account in (ADA, ROBOT, homeless):
            draft.put_account(account)

    with people.read() as view:
        assert [ADA, ROBOT, homeless] == list(view.accounts(TeamName("vision")))
        assert [ADA] == list(view.accounts(TeamName("robots")))
        assert [] == list(view.accounts(TeamName("vis")))


def test_a_role_that_was_taken_away_is_gone(people: People) -> None:
    with people.change() as draft:
        draft.put_account(ADA)

    less = replace(ADA, teams={TeamName("robots"): Role.VIEWER}, roles=frozenset())
    with people.change() as draft:
        draft.put_account(less)

    with people.read() as view:
        assert less == view.account(ADA.name)


def test_a_change_that_fails_leaves_nothing_behind(people: People) -> None:
    with suppress(KeyError), people.change() as draft:
        draft.put_account(ADA)
        raise KeyError

    with people.read() as view:
        assert view.account(ADA.name) is None


@pytest.mark.parametrize("scopes", [None, frozenset({Permission.RUNS_READ, Permission.FLEET_READ})])
def test_credentials_come_back_equal(people: People, scopes: frozenset[Permission] | None) -> None:
    _, token = make(CredentialKind.TOKEN, ADA.name, now=NOON, life=timedelta(days=1), name="ci", scopes=scopes)
    later = NOON + timedelta(seconds=1)
    _, session = make(CredentialKind.SESSION, ADA.name, now=later, life=timedelta(days=1), address="::1")
    with people.change() as draft:
        draft.put_account(ADA)
        draft.put_credential(session)
        draft.put_credential(token)

    people.touch(session.credential_id, later)

    with people.read() as view:
        assert [token, replace(session, last_used_at=later)] == list(view.credentials(ADA.name))
        assert token == view.credential(token.credential_id)
        assert view.credential(token.credential_id[:-1]) is None


def test_what_was_removed_is_gone_and_may_be_removed_again(people: People) -> None:
    _, token = make(CredentialKind.TOKEN, ADA.name, now=NOON, life=timedelta(days=1))
    with people.change() as draft:
        draft.put_account(ADA)
        draft.put_credential(token)

    for _ in range(2):
        with people.change() as draft:
            draft.remove_credential(token.credential_id)

    with people.read() as view:
        assert [] == list(view.credentials(ADA.name))


def test_an_identity_is_issuer_and_subject_together(people: People) -> None:
    with people.change() as draft:
        draft.put_account(ADA)
        draft.put_identity("https://a", "1", ADA.name)

    with people.read() as view:
        assert ADA.name == view.identity("https://a", "1")
        assert [None, None] == [view.identity("https://b", "1"), view.identity("https://a", "11")]


def test_only_what_is_of_no_use_is_forgotten(people: People) -> None:
    _, ended = make(CredentialKind.TOKEN, ADA.name, now=NOON, life=timedelta(seconds=1))
    _, open_yet = make(CredentialKind.TOKEN, ADA.name, now=NOON, life=timedelta(seconds=3))
    with people.change() as draft:
        draft.put_account(ADA)
        draft.put_credential(ended)
        draft.put_credential(open_yet)
        draft.put_failures(Failures("old", 3, NOON))
        draft.put_failures(Failures("new", 1, NOON))
        draft.put_failures(Failures("new", 2, NOON + timedelta(seconds=2)))

    people.forget(expired_before=NOON + timedelta(seconds=2), failed_before=NOON + timedelta(seconds=1))

    with people.read() as view:
        assert [open_yet] == list(view.credentials(ADA.name))
        assert (None, 2) == (view.failures("old"), getattr(view.failures("new"), "count", None))


def test_changers_follow_one_another(people: People) -> None:
    """What one reads inside a change is what the one before has written: the last admin stays."""
    with people.change() as draft:
        draft.put_failures(Failures("both", 0, NOON))

    def add() -> None:
        for _ in range(20):
            with people.change() as draft:
                before = draft.failures("both")
                assert before is not None
                draft.put_failures(replace(before, count=before.count + 1))

    threads = [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    with people.read() as view:
        assert getattr(view.failures("both"), "count", None) == 60
