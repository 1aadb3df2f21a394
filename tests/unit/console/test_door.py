"""Who gets in, by which credential, and from where."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from fastapi.routing import iter_route_contexts
from starlette.testclient import TestClient

from mosaic.model.identity import Permission
from mosaic_console.bootstrap import build
from mosaic_console.entrypoints.app import ROUTERS, build_app, build_door
from mosaic_console.entrypoints.needs import permission_of
from tests.unit.console.conftest import Console
from tests.unit.console.test_server import settings

ROUTES: list[Any] = [route for router in ROUTERS for route in router.routes]
OPEN = {"/healthz", "/readyz"}
#: Where a stranger becomes somebody.
ENTRY = {"/sign-in", "/sign-in/provider", "/sign-in/callback", "/api/v1/sign-in"}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW")


def address(path: str) -> str:
    """Return *path* with names that sound harmless in its places."""
    return re.sub(r"{[^}]*}", "healthz", path)


SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


def form_token(browser: TestClient) -> str:
    """Return what the forms of a page bring back."""
    found = re.search(r'name="form_token" value="([0-9a-f]{64})"', browser.get("/runs").text)
    assert found
    return found[1]


def submit(browser: TestClient, path: str, headers: Mapping[str, str] = SAME_ORIGIN, **fields: str) -> Any:
    """Send a form of a page."""
    return browser.post(path, headers=headers, data={"form_token": form_token(browser), **fields})


def test_every_route_declares_what_it_needs(console: Console) -> None:
    app: Any = console.stranger.app
    served = {id(each.original_route) for each in iter_route_contexts(app._app.routes)}

    assert set(map(id, ROUTES)) == served, "nothing is served that the door does not know"
    assert [] == [route.path for route in ROUTES if permission_of(route) is None]
    assert ENTRY | OPEN == {each.path for each in ROUTES if permission_of(each) is Permission.ANYONE}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", sorted({route.path for route in ROUTES} | {"/nowhere", "/api/v1/nowhere/healthz"}))
def test_a_stranger_gets_nothing_but_probes(console: Console, path: str, method: str) -> None:
    got = console.stranger.request(method, address(path))

    if path in OPEN and method == "GET":
        assert (200, "ok\n") == (got.status_code, got.text)
    elif path in ENTRY and got.status_code != 401:
        # Not a form of ours, no such provider, nothing said: nothing of the platform in any case.
        assert got.status_code in (400, 403, 404)
        assert "set-cookie" not in got.headers
    else:
        assert 401 == got.status_code


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7420", "127.0.0.1.evil.example", "localhost.", "", "[::1]"]
)
def test_another_host_is_refused_everywhere(console: Console, host: str) -> None:
    for path in sorted({route.path for route in ROUTES}):
        assert 421 == console.script.get(address(path), headers={"Host": host}).status_code, path


def test_a_tunnel_with_another_port_is_welcome(console: Console) -> None:
    assert 200 == console.script.get("/api/v1/runs", headers={"Host": "localhost:9999"}).status_code


@pytest.mark.parametrize("form", ["", "Bearer", "Bearer x", "Basic {0}", "Bearer {0}x", "Bearer {1}", "{0}"])
def test_a_wrong_token_is_no_token(console: Console, form: str) -> None:
    token = console.identity.token
    shown = form.format(token, token[:-1])
    assert 401 == console.stranger.get("/api/v1/runs", headers={"Authorization": shown}).status_code


def test_a_wrong_token_is_not_made_up_for_by_a_cookie(console: Console) -> None:
    assert 401 == console.browser().get("/api/v1/runs", headers={"Authorization": "Bearer x"}).status_code


def test_the_link_works_once_and_gives_a_cookie_that_scripts_and_other_sites_cannot_use(console: Console) -> None:
    code = console.identity.code()

    first, second = (console.stranger.get("/sign-in", params={"code": code}) for _ in range(2))

    told = first.headers["set-cookie"].lower()
    assert 200 == first.status_code
    for word in ("mosaic_session_7420=", "httponly", "samesite=lax", "path=/"):
        assert word in told
    assert "secure" not in told
    assert "domain" not in told
    assert 401 == second.status_code
    assert "set-cookie" not in second.headers


def test_where_tls_is_the_cookie_is_tied_to_the_host(console: Console) -> None:
    parts = build(settings(urls="https://fleet.example.org"), port=7420)
    parts = replace(parts, identity=console.identity)
    browser = TestClient(build_door(parts), base_url="https://fleet.example.org")

    told = browser.get("/sign-in", params={"code": console.identity.code()}).headers["set-cookie"]

    assert told.startswith("__Host-mosaic_session_7420=")
    assert {"secure", "httponly", "samesite=lax", "path=/"} <= set(told.lower().split("; "))
    assert "domain" not in told.lower()


def test_a_session_ends_with_signing_out(console: Console) -> None:
    browser = console.browser()
    kept = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    assert 200 == browser.get("/runs").status_code

    assert 200 == submit(browser, "/sign-out").status_code

    assert 401 == browser.get("/runs", headers={"Cookie": kept}).status_code


SITES = {
    "our own page": ({"Sec-Fetch-Site": "same-origin"}, 303),
    "our own page, by its origin": ({"Origin": "http://127.0.0.1:7420"}, 303),
    "another port of this machine": ({"Sec-Fetch-Site": "same-site"}, 403),
    "another site": ({"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1:7420"}, 403),
    "the address bar": ({"Sec-Fetch-Site": "none"}, 403),
    "another origin": ({"Origin": "http://127.0.0.1:8888"}, 403),
    "no origin": ({"Origin": "null"}, 403),
    "nobody says": ({}, 403),
}


@pytest.mark.parametrize("origin", SITES)
def test_a_cookie_alone_changes_nothing(console: Console, origin: str) -> None:
    console.platform.add("r1")
    headers, status = SITES[origin]

    got = submit(console.browser(), "/runs/r1/cancel", headers)

    assert status == got.status_code
    assert ([("cancel", "r1", "ada")] if status == 303 else []) == console.platform.done


@pytest.mark.parametrize("token", [None, "", "0" * 64, "another session"])
def test_a_form_that_no_page_of_this_session_has_shown_changes_nothing(console: Console, token: str | None) -> None:
    console.platform.add("r1")
    told = form_token(console.browser()) if token == "another session" else token
    fields = {} if told is None else {"form_token": told}

    got = console.browser().post("/runs/r1/cancel", headers=SAME_ORIGIN, data=fields)

    assert (403, []) == (got.status_code, console.platform.done)


def test_a_script_of_our_own_page_needs_no_form(console: Console) -> None:
    console.platform.add("r1")
    browser = console.browser()

    assert 403 == browser.post("/api/v1/runs/r1/cancel").status_code
    assert 200 == browser.post("/api/v1/runs/r1/cancel", headers=SAME_ORIGIN).status_code


def test_every_answer_has_the_security_headers(console: Console) -> None:
    for path in ("/runs", "/api/v1/runs", "/nowhere", "/healthz", "/static/app.css"):
        headers = console.script.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert ("nosniff", "no-referrer") == (headers["x-content-type-options"], headers["referrer-policy"])


def test_a_large_body_is_refused_whether_it_says_so_or_not(console: Console) -> None:
    large = b"x" * (1024 * 1024 + 1)
    for body in (large, iter([large[:-1], b"xx"])):
        got = console.script.post("/api/v1/runs", content=body, headers={"Content-Type": "application/json"})
        assert (413, "too_large") == (got.status_code, got.json()["code"])


def test_the_framework_serves_no_pages_of_its_own(console: Console) -> None:
    app: Any = build_app(console.stranger.app._parts)  # type: ignore[attr-defined]

    assert [None] * 3 == [app.docs_url, app.redoc_url, app.openapi_url]
