"""Secrets of users and teams: who sets them, whose runs get them, and what is kept of them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from mosaic.errors import BadInput, Forbidden, MosaicError, NotFound, Refused, StaleAttempt
from mosaic.ids import TeamName, UserName
from mosaic.model.audit import AuditFilter
from mosaic.model.identity import Caller, Role
from mosaic.wire.v1 import scheduler_pb2 as wire
from mosaic_scheduler.adapters.aes_vault import AesVault
from mosaic_scheduler.adapters.secret_files import SecretFiles
from mosaic_scheduler.adapters.sql_secrets import SqlSecrets
from mosaic_scheduler.adapters.tables import secrets as table
from tests.fakes.calls import Call, member
from tests.fakes.scheduler import Desk, KnownSecrets

ANN, BOB = member("ann", vision=Role.RESEARCHER), member("bob", vision=Role.RESEARCHER)
LEAD, GUEST = member("lead", vision=Role.TEAM_ADMIN), member("guest", vision=Role.VIEWER)
EVE = member("eve", speech=Role.TEAM_ADMIN)
#: Nothing else in a test looks like it.
VALUE = "hunter2-hunter2-hunter2"


def a_key(number: int) -> str:
    return base64.b64encode(bytes([number]) * 32).decode()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    desk.secrets = SqlSecrets(desk.engine, desk.vault, SecretFiles("", top_of=TeamName("default")))
    yield desk
    desk.engine.dispose()


def put(desk: Desk, caller: Caller, name: str = "hub", team: str = "", value: str = VALUE) -> None:
    desk.api().SetSecret(wire.SetSecretRequest(name=name, value=value, team=team), Call(caller))


def seen(desk: Desk, caller: Caller) -> list[tuple[str, str]]:
    answer = desk.api().ListSecrets(wire.ListSecretsRequest(), Call(caller))
    return [(secret.team, secret.name) for secret in answer.secrets]


def got(desk: Desk, caller: Caller, team: str = "vision") -> str:
    """Return what a run of *caller* that names the secret is handed."""
    run = desk.submit(caller=caller, team=TeamName(team), secrets={"TOKEN": "hub"})
    desk.rounds.plan()
    return desk.claim(run).secrets["TOKEN"]


def test_a_secret_of_a_user_goes_to_their_runs_alone(desk: Desk) -> None:
    put(desk, ANN)

    assert VALUE == got(desk, ANN)
    for caller, team in ((BOB, "vision"), (LEAD, "vision"), (EVE, "speech")):
        with pytest.raises(BadInput, match="'hub'"):
            got(desk, caller, team)


def test_a_secret_of_a_team_goes_to_the_runs_of_the_team(desk: Desk) -> None:
    put(desk, LEAD, team="vision")

    assert VALUE == got(desk, ANN) == got(desk, BOB)
    with pytest.raises(BadInput, match="'hub'"):
        got(desk, EVE, "speech")


def test_ones_own_secret_goes_before_that_of_the_team(desk: Desk) -> None:
    put(desk, LEAD, team="vision")
    put(desk, ANN, value="mine")

    assert ("mine", VALUE) == (got(desk, ANN), got(desk, BOB))


def test_who_retries_anothers_run_does_not_get_their_secret(desk: Desk) -> None:
    put(desk, ANN)
    run = desk.submit(caller=ANN, team=TeamName("vision"), secrets={"TOKEN": "hub"})
    desk.cancel(run, ANN)

    with pytest.raises(BadInput, match="'hub'"):
        desk.retry(run, LEAD)


def test_a_secret_that_was_taken_away_is_handed_to_no_run_that_waits(desk: Desk) -> None:
    put(desk, ANN)
    run = desk.submit(caller=ANN, team=TeamName("vision"), secrets={"TOKEN": "hub"})
    desk.rounds.plan()
    desk.api().DeleteSecret(wire.DeleteSecretRequest(name="hub"), Call(ANN))

    with pytest.raises(StaleAttempt, match="'hub'"):
        desk.claim(run)


@pytest.mark.parametrize(
    ("caller", "team", "error"),
    [
        (ANN, "", None),
        (LEAD, "vision", None),
        (ANN, "vision", Forbidden),
        (GUEST, "", Forbidden),
        (GUEST, "vision", NotFound),
        (EVE, "vision", NotFound),
        (Caller(UserName("olga"), roles=frozenset({Role.OPERATOR})), "vision", NotFound),
    ],
)
def test_secrets_are_set_by_who_may(desk: Desk, caller: Caller, team: str, error: type[MosaicError] | None) -> None:
    if error is None:
        put(desk, caller, team=team)
        assert [(team, "hub")] == seen(desk, caller)
        return
    with pytest.raises(error):
        put(desk, caller, team=team)
    with pytest.raises(error):
        desk.api().DeleteSecret(wire.DeleteSecretRequest(name="hub", team=team), Call(caller))
    trail = desk.store.audit_trail(AuditFilter(), teams=None, limit=10)
    assert [("secrets:set", False), ("secrets:delete", False)] == [(entry.action, entry.allowed) for entry in trail]


def test_names_are_listed_to_whose_runs_may_name_them(desk: Desk) -> None:
    put(desk, ANN, "mine")
    put(desk, LEAD, "ours", "vision")
    put(desk, EVE, "theirs", "speech")

    assert [("", "mine"), ("vision", "ours")] == seen(desk, ANN)
    assert [("vision", "ours")] == seen(desk, BOB)
    assert [("speech", "theirs")] == seen(desk, EVE)


def test_no_value_is_in_the_database_or_the_trail_or_an_answer(desk: Desk, tmp_path: Path) -> None:
    put(desk, ANN)
    put(desk, ANN, value=VALUE + "2")
    told = desk.api().ListSecrets(wire.ListSecretsRequest(), Call(ANN))

    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert VALUE.encode() not in kept + told.SerializeToString()
    assert VALUE not in str(desk.store.audit_trail(AuditFilter(), teams=None, limit=10))


def test_a_value_cannot_be_given_to_another_by_moving_its_row(desk: Desk) -> None:
    put(desk, ANN)
    with desk.engine.begin() as connection:
        connection.execute(sa.update(table).values(owner="user/eve"))

    with pytest.raises(BadInput, match="'hub'"):
        got(desk, EVE, "speech")


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [("a/b", VALUE, "not a name"), ("..", VALUE, "not a name"), ("hub", "", "no value"), ("hub", "a\0b", "NUL")],
)
def test_what_cannot_be_a_secret_is_refused_without_saying_it(desk: Desk, name: str, value: str, told: str) -> None:
    with pytest.raises(BadInput, match=told) as caught:
        put(desk, ANN, name, value=value)

    assert VALUE not in str(caught.value)


def test_a_new_key_takes_over_and_the_old_one_can_go(desk: Desk) -> None:
    mounted = KnownSecrets()
    desk.vault = AesVault(a_key(1))
    put(desk, ANN)

    both = SqlSecrets(desk.engine, AesVault(f"{a_key(2)}\n{a_key(1)}\n"), mounted)
    assert (1, 0) == (both.seal_anew(), both.seal_anew())

    new = SqlSecrets(desk.engine, AesVault(a_key(2)), mounted)
    old = SqlSecrets(desk.engine, AesVault(a_key(1)), mounted)
    ann = {"user": UserName("ann"), "team": TeamName("vision")}
    assert (VALUE, None) == (new.value("hub", **ann), old.value("hub", **ann))  # type: ignore[arg-type]


def test_without_a_key_no_secret_can_be_set(desk: Desk) -> None:
    desk.vault = AesVault("")

    with pytest.raises(Refused, match="SECRETS_KEY"):
        put(desk, ANN)


def test_a_key_that_is_none_is_named_by_its_line(desk: Desk) -> None:
    with pytest.raises(BadInput, match="line 2") as caught:
        AesVault(f"{a_key(1)}\nsecret-but-short\n")

    assert "secret-but-short" not in str(caught.value)
