"""How often somebody may ask."""

from __future__ import annotations

from dataclasses import replace

from starlette.testclient import TestClient

from mosaic_console.domain.rate import Buckets
from mosaic_console.entrypoints.app import build_door
from tests.unit.console.conftest import URL, Console


def test_a_burst_is_free_and_then_the_rate_counts() -> None:
    now = [0.0]
    buckets = Buckets(2.0, 3.0, clock=lambda: now[0])

    assert [0.0, 0.0, 0.0, 0.5] == [buckets.take(["ada"]) for _ in range(4)]
    assert 0.0 == buckets.take(["bob"])
    now[0] = 0.5
    assert [0.0, 0.5] == [buckets.take(["ada"]) for _ in range(2)]
    now[0] = 100.0
    assert [0.0, 0.0, 0.0, 0.5] == [buckets.take(["ada"]) for _ in range(4)]


def test_whoever_is_refused_pays_nothing() -> None:
    buckets = Buckets(1.0, 1.0, clock=lambda: 0.0)
    buckets.take(["user"])

    assert buckets.take(["user", "token"]) > 0
    assert 0.0 == buckets.take(["token"])


def test_only_so_many_are_remembered() -> None:
    buckets = Buckets(1.0, 1.0, clock=lambda: 0.0, most=2)
    for key in ("a", "b", "c"):
        buckets.take([key])

    assert (0.0, 1.0) == (buckets.take(["a"]), buckets.take(["c"]))


def test_changes_are_limited_per_user_whatever_token_they_show(console: Console) -> None:
    console.platform.add("r1")
    parts = replace(console.stranger.app._parts, changes=Buckets(0.1, 2.0, clock=lambda: 0.0))  # type: ignore[attr-defined]
    client = TestClient(build_door(parts), base_url=URL)
    people = console.identity.people(console.caller())
    tokens = [console.identity.token, people.issue_token("other").secret]

    def ask(token: str, path: str = "/api/v1/runs/r1/cancel", method: str = "POST") -> int:
        got = client.request(method, path, headers={"Authorization": f"Bearer {token}"})
        if got.status_code == 429:
            assert ("too_many_requests", "10") == (got.json()["code"], got.headers["retry-after"])
            assert "application/problem+json" == got.headers["content-type"]
        return got.status_code

    assert [200, 200, 429, 429] == [ask(tokens[number % 2]) for number in range(4)]
    assert 200 == ask(tokens[0], "/api/v1/runs", "GET")


def test_large_reads_are_limited(console: Console) -> None:
    console.platform.add("r1")
    parts = replace(console.stranger.app._parts, large_reads=Buckets(0.1, 1.0, clock=lambda: 0.0))  # type: ignore[attr-defined]
    client = TestClient(build_door(parts), base_url=URL, headers={"Authorization": f"Bearer {console.identity.token}"})

    told = [client.get("/api/v1/runs/r1/events").status_code for _ in range(2)]

    assert [200, 429] == told
    assert 200 == client.get("/api/v1/runs/r1").status_code
