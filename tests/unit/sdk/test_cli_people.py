"""Signing in, and people, as they are typed."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from mosaic.cli.app import app
from mosaic.client import Login
from mosaic.errors import Unauthenticated
from mosaic.ids import UserName
from mosaic.model.people import CredentialKind
from mosaic_console.ports import Credential
from tests.fakes.front_door import front_door
from tests.fakes.identity import InMemoryIdentity

PASSWORD = "correct horse battery"
NOWHERE = "127.0.0.1:1"
Typed = Callable[..., Result]


@pytest.fixture
def identity() -> InMemoryIdentity:
    return InMemoryIdentity("root")


@pytest.fixture
def url(identity: InMemoryIdentity) -> Iterator[str]:
    with front_door(NOWHERE, NOWHERE, NOWHERE, identity=identity) as login:
        yield login.url


@pytest.fixture
def typed(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Type a command in a home of its own, with what is asked for on standard input."""
    for name in ("MOSAIC_URL", "MOSAIC_TOKEN", "MOSAIC_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path))

    def run(*words: str, told: str = "", ok: bool = True) -> Result:
        result = CliRunner().invoke(app, words, input=told)
        assert (result.exit_code == 0) == ok, (result.output, result.exception)
        return result

    return run


@pytest.fixture
def admin(typed: Typed, url: str, identity: InMemoryIdentity) -> Typed:
    """Somebody who has signed in with the token of the admin."""
    typed("login", url, "--file", "-", told=identity.token)
    return typed


def shown(result: Result) -> Any:
    return json.loads(result.stdout)


def is_known(identity: InMemoryIdentity, token: str) -> bool:
    return identity.authenticate(Credential("token", token)) is not None


def test_a_token_is_kept_for_its_owner_alone(admin: Typed, tmp_path: Path) -> None:
    kept = tmp_path / "login.json"

    assert 0o600 == stat.S_IMODE(kept.stat().st_mode)
    assert "root" == shown(admin("whoami", "--json"))["user"]["name"]


def test_a_wrong_token_is_not_kept(typed: Typed, url: str, tmp_path: Path) -> None:
    result = typed("login", url, "--file", "-", told="mosaic_pat_wrong", ok=False)

    assert isinstance(result.exception, Unauthenticated)
    assert Login.kept(tmp_path) is None


def test_name_and_password_become_a_token_that_logout_ends(
    admin: Typed, url: str, identity: InMemoryIdentity, tmp_path: Path
) -> None:
    admin("users", "add", "ada", "--file", "-", told=PASSWORD)
    admin("login", url, "--user", "ada", "--file", "-", told=PASSWORD)
    kept = Login.kept(tmp_path)
    assert kept is not None
    assert kept.token.startswith("mosaic_pat_")
    assert PASSWORD not in (tmp_path / "login.json").read_text()
    assert "ada" == shown(admin("whoami", "--json"))["user"]["name"]
    with identity.store.read() as view:
        assert [CredentialKind.TOKEN] == [one.kind for one in view.credentials(UserName("ada"))]

    admin("logout")

    assert Login.kept(tmp_path) is None
    assert not is_known(identity, kept.token)


def test_people_are_added_listed_given_roles_and_locked_out(admin: Typed, identity: InMemoryIdentity) -> None:
    admin("users", "add", "ada", "--file", "-", "--display-name", "Ada L.", told=PASSWORD)
    admin("members", "vision", "--add", "ada", "--role", "researcher")
    admin("users", "roles", "ada", "operator")

    (ada, _) = shown(admin("users", "list", "--json"))
    assert (["operator"], {"vision": "researcher"}) == (ada["roles"], ada["teams"])
    assert "Ada L." in admin("members", "vision").stdout

    admin("members", "vision", "--remove", "ada")
    assert [] == shown(admin("members", "vision", "--json"))
    session = identity.sign_in("ada", PASSWORD, "")
    admin("users", "deactivate", "ada")
    assert not is_known(identity, session)
    assert "deactivated" in admin("users", "list").stdout
    admin("users", "activate", "ada")
    admin("users", "password", "ada", "--file", "-", told=PASSWORD + "2")
    assert is_known(identity, identity.sign_in("ada", PASSWORD + "2", ""))


def test_the_last_admin_is_not_locked_out(admin: Typed) -> None:
    admin("users", "deactivate", "root", ok=False)


def test_a_token_is_shown_once_and_revoked(admin: Typed, identity: InMemoryIdentity) -> None:
    admin("users", "add", "nightly", "--service-of", "vision")
    made = admin("tokens", "create", "ci", "--user", "nightly", "--scope", "runs:read", "--life", "30d")
    secret = made.stdout.strip().splitlines()[-1]
    assert is_known(identity, secret)

    (token,) = shown(admin("tokens", "list", "--user", "nightly", "--json"))
    assert secret not in admin("tokens", "list", "--user", "nightly").stdout
    admin("tokens", "revoke", token["credential_id"])

    assert not is_known(identity, secret)


def test_who_is_nowhere_signed_in_is_told(typed: Typed) -> None:
    assert "mosaic login" in typed("logout").stdout
