"""Signing in, and people over REST."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from starlette.testclient import TestClient

from mosaic.errors import ServiceUnavailable
from mosaic.ids import TeamName, UserName
from mosaic.model.identity import Caller, Role
from mosaic.model.people import User
from mosaic_console.adapters.oidc_provider import OidcProvider
from mosaic_console.domain.provider import Claims, read_teams
from mosaic_console.entrypoints.app import build_door
from mosaic_console.ports import Credential
from tests.fakes.identity import InMemoryIdentity
from tests.fakes.identity_provider import CLIENT, SECRET, IdentityProvider, serving
from tests.unit.console.conftest import URL, Console

PASSWORD = "correct horse battery"
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def team(console: Console) -> Console:
    """An admin of team vision, a researcher, and somebody of another team."""
    people = console.identity.people(console.caller())
    for name, teams in (("lead", {"vision": Role.TEAM_ADMIN}), ("eve", {"vision": Role.RESEARCHER}), ("bob", {})):
        user = User(UserName(name), teams={TeamName(one): role for one, role in teams.items()})
        people.add(user, PASSWORD)
    return console


def signed_in(console: Console, name: str, password: str = PASSWORD) -> TestClient:
    """Return the browser of somebody who has signed in by password."""
    browser = TestClient(console.stranger.app, base_url=URL, follow_redirects=False)
    got = browser.post("/sign-in", data={"user": name, "password": password}, headers=SAME_ORIGIN)
    assert 200 == got.status_code
    return browser


def script_of(console: Console, name: str) -> TestClient:
    """Return a program that shows a session of *name*'s like a token."""
    asked = {"user": name, "password": PASSWORD}
    session = console.stranger.post("/api/v1/sign-in", json=asked).json()["session"]
    return TestClient(console.stranger.app, base_url=URL, headers={"Authorization": f"Bearer {session}"})


def test_name_and_password_open_a_session(team: Console) -> None:
    assert "eve" == signed_in(team, "eve").get("/api/v1/me").json()["user"]["name"]


@pytest.mark.parametrize("form", [{}, {"user": "eve"}, {"user": "eve", "password": "wrong"}, {"user": "x" * 9999}])
def test_a_wrong_password_is_told_and_opens_nothing(team: Console, form: dict[str, str]) -> None:
    got = team.stranger.post("/sign-in", data=form, headers=SAME_ORIGIN)

    assert 401 == got.status_code
    assert "name or password is wrong" in got.text
    assert "set-cookie" not in got.headers


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}])
def test_another_site_signs_nobody_in(team: Console, headers: Mapping[str, str]) -> None:
    """Whoever works in a stranger's account shows the stranger what they do."""
    got = team.stranger.post("/sign-in", data={"user": "eve", "password": PASSWORD}, headers=headers)

    assert 403 == got.status_code
    assert "set-cookie" not in got.headers


def test_guessing_is_slowed_down_and_says_when_to_try_again(team: Console) -> None:
    told = [team.stranger.post("/api/v1/sign-in", json={"user": "eve", "password": "wrong"}) for _ in range(6)]

    assert [401] * 5 + [429] == [got.status_code for got in told]
    assert ("too_many_requests", True) == (told[-1].json()["code"], int(told[-1].headers["retry-after"]) >= 1)


def test_a_registry_that_is_away_is_no_stranger(console: Console) -> None:
    class Away(InMemoryIdentity):
        def authenticate(self, credential: Credential) -> Caller | None:
            raise ServiceUnavailable("registry", "r:1")

    door = build_door(replace(console.stranger.app._parts, identity=Away()))  # type: ignore[attr-defined]
    got = TestClient(door, base_url=URL).get("/api/v1/runs", headers={"Authorization": "Bearer x"})

    assert (503, "service_unavailable") == (got.status_code, got.json()["code"])


def test_a_token_is_made_used_listed_and_revoked(team: Console) -> None:
    eve = script_of(team, "eve")
    made = eve.post("/api/v1/tokens", json={"name": "ci", "scopes": ["runs:read"]})
    assert 201 == made.status_code
    bearer = {"Authorization": f"Bearer {made.json()['secret']}"}

    assert 200 == team.stranger.get("/api/v1/runs", headers=bearer).status_code
    assert 403 == team.stranger.post("/api/v1/runs", json={}, headers=bearer).status_code
    listed = eve.get("/api/v1/tokens").json()
    assert ["ci"] == [token["name"] for token in listed]
    assert made.json()["secret"] not in eve.get("/api/v1/tokens").text

    token_id = listed[0]["credential_id"]
    assert 404 == script_of(team, "bob").delete(f"/api/v1/tokens/{token_id}").status_code
    assert 204 == eve.delete(f"/api/v1/tokens/{token_id}").status_code
    assert 401 == team.stranger.get("/api/v1/runs", headers=bearer).status_code


def test_who_is_deactivated_is_out_at_once(team: Console) -> None:
    browser = signed_in(team, "eve")
    assert 200 == browser.get("/api/v1/me").status_code

    assert 200 == team.script.patch("/api/v1/users/eve", json={"active": False}).status_code

    assert 401 == browser.get("/api/v1/me").status_code


def test_a_role_that_is_taken_counts_at_the_next_request(team: Console) -> None:
    lead = script_of(team, "lead")
    assert 200 == lead.get("/api/v1/users").status_code

    assert 200 == team.script.delete("/api/v1/teams/vision/members/lead").status_code

    assert 403 == lead.get("/api/v1/users").status_code


def test_people_and_members_over_rest(team: Console) -> None:
    asked = {"name": "kim", "teams": {"vision": "viewer"}, "password": PASSWORD}
    assert 201 == team.script.post("/api/v1/users", json=asked).status_code
    lead = script_of(team, "lead")

    assert 200 == lead.put("/api/v1/teams/vision/members/bob", json={"role": "researcher"}).status_code
    members = {user["name"]: user["teams"] for user in lead.get("/api/v1/teams/vision/members").json()}
    everyone = {"bob": "researcher", "eve": "researcher", "kim": "viewer", "lead": "team-admin"}
    assert everyone == {name: teams["vision"] for name, teams in members.items()}
    assert 404 == lead.put("/api/v1/teams/robots/members/bob", json={"role": "viewer"}).status_code
    assert 403 == lead.put("/api/v1/users/lead/roles", json={"roles": ["admin"]}).status_code
    assert 200 == team.script.put("/api/v1/users/kim/roles", json={"roles": ["auditor"]}).status_code
    assert 409 == team.script.put("/api/v1/users/ada/roles", json={"roles": []}).status_code
    bot = {"name": "bot", "owner_team": "vision", "teams": {"vision": "researcher"}}
    assert 201 == lead.post("/api/v1/users", json=bot).status_code
    assert 201 == lead.post("/api/v1/tokens", json={"name": "nightly", "user": "bot"}).status_code


def test_a_password_is_changed_and_ends_the_sessions(team: Console) -> None:
    browser, eve = signed_in(team, "eve"), script_of(team, "eve")
    wrong = eve.put("/api/v1/users/eve/password", json={"password": PASSWORD + "2", "current": "wrong"})
    assert 401 == wrong.status_code

    changed = eve.put("/api/v1/users/eve/password", json={"password": PASSWORD + "2", "current": PASSWORD})

    assert 204 == changed.status_code
    assert 401 == browser.get("/api/v1/me").status_code
    signed_in(team, "eve", PASSWORD + "2")


def test_sessions_are_listed_and_ended(team: Console) -> None:
    browser, eve = signed_in(team, "eve"), script_of(team, "eve")

    sessions = eve.get("/api/v1/sessions").json()
    assert 2 == len(sessions)
    assert 204 == eve.delete(f"/api/v1/sessions/{sessions[0]['credential_id']}").status_code

    assert 401 == browser.get("/api/v1/me").status_code
    assert 200 == eve.get("/api/v1/me").status_code


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/users", {"name": "x", "role": "admin"}),
        ("/api/v1/users", {"name": "x", "roles": ["king"]}),
        ("/api/v1/tokens", {"name": "x", "life_s": -1}),
        ("/api/v1/tokens", {"name": "x", "life_s": 1e300}),
        ("/api/v1/tokens", {"name": ""}),
        ("/api/v1/sign-in", {"user": "x"}),
    ],
)
def test_what_cannot_be_is_told(team: Console, path: str, body: dict[str, Any]) -> None:
    assert 400 == team.script.post(path, json=body).status_code


@pytest.fixture
def provided(console: Console) -> Iterator[tuple[TestClient, IdentityProvider]]:
    """A browser of a console with a real identity provider."""
    with serving() as provider:
        claims = Claims(teams=read_teams("ml-vision=vision:researcher"))
        ours = OidcProvider(provider.issuer, CLIENT, SECRET, scopes="openid", claims=claims)
        parts = replace(
            console.stranger.app._parts,  # type: ignore[attr-defined]
            provider=ours,
            redirect_uri=f"{URL}/sign-in/callback",
        )
        yield TestClient(build_door(parts), base_url=URL, follow_redirects=False), provider
        ours.close()


def back_from(browser: TestClient) -> str:
    """Return the address to which the provider sends the browser back."""
    sent = browser.get("/sign-in/provider")
    assert 303 == sent.status_code
    told = sent.headers["set-cookie"].lower()
    assert "httponly" in told
    assert "samesite=lax" in told
    return str(httpx2.get(sent.headers["location"], follow_redirects=False).headers["location"])


def test_an_identity_provider_signs_people_in(provided: tuple[TestClient, IdentityProvider]) -> None:
    browser, _ = provided
    assert 'href="/sign-in/provider"' in browser.get("/runs").text

    assert 200 == browser.get(back_from(browser)).status_code

    me = browser.get("/api/v1/me").json()["user"]
    assert ("eve", {"vision": "researcher"}) == (me["name"], me["teams"])


def test_an_answer_to_another_browsers_question_opens_nothing(provided: tuple[TestClient, IdentityProvider]) -> None:
    """A link from somebody who has begun to sign in would sign others in as them."""
    browser, _ = provided
    back = back_from(browser)
    other = TestClient(browser.app, base_url=URL, follow_redirects=False)

    for client, address in ((other, back), (browser, back.replace("state=", "state=x"))):
        got = client.get(address)
        assert 401 == got.status_code
        assert "mosaic_session=" not in got.headers.get("set-cookie", "")


def test_an_answer_works_once(provided: tuple[TestClient, IdentityProvider]) -> None:
    browser, _ = provided
    back = back_from(browser)
    kept = dict(browser.cookies)
    browser.get(back)

    again = TestClient(browser.app, base_url=URL, cookies=kept, follow_redirects=False)

    assert 401 == again.get(back).status_code


def test_what_the_provider_refuses_is_shown_as_text(provided: tuple[TestClient, IdentityProvider]) -> None:
    browser, _ = provided
    state = parse_qs(urlsplit(back_from(browser)).query)["state"][0]

    got = browser.get("/sign-in/callback", params={"error": "<script>denied", "state": state})

    assert 401 == got.status_code
    assert "&lt;script&gt;denied" in got.text


def test_a_forged_token_opens_nothing(provided: tuple[TestClient, IdentityProvider]) -> None:
    browser, provider = provided
    provider.claims = {"aud": "another"}

    got = browser.get(back_from(browser))

    assert 401 == got.status_code
    assert "mosaic_session=" not in got.headers.get("set-cookie", "")
