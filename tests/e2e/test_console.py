"""The console of a real platform: REST, the live stream, pages, and nothing for strangers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from mosaic.client import Login
from tests.stack.embedded import Machine
from tests.stack.waiting import until

#: Slow enough to be seen running, and over in a few seconds.
DRILL = {
    "worker": "drill",
    "config": {"episodes": 12, "pause_ms": 20},
    "seed": 3,
    "resources": {"cpus": 0.1, "memory_mb": 16},
}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine on which the platform is up."""
    machine = Machine(tmp_path_factory.mktemp("machine"))
    machine.up()
    yield machine
    machine.platform.stop()


@pytest.fixture
def script(machine: Machine) -> Iterator[httpx2.Client]:
    """What a script of the same user has."""
    login = Login.running(machine.home)
    headers = {"Authorization": f"Bearer {login.token}"}
    with httpx2.Client(base_url=login.url, headers=headers, timeout=30) as client:
        yield client


def submitted(script: httpx2.Client, **more: Any) -> str:
    got = script.post("/api/v1/runs", json={**DRILL, **more})
    assert 201 == got.status_code, got.text
    run_id: str = got.json()[0]["run_id"]
    return run_id


def followed(script: httpx2.Client, run_id: str, last: str = "") -> list[tuple[int, dict[str, Any]]]:
    """Follow the run until it has succeeded and return every update with its number."""
    found = []
    headers = {"Last-Event-ID": last} if last else {}
    with script.stream("GET", f"/api/v1/live?topics=run:{run_id}", headers=headers) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        seq = 0
        for line in stream.iter_lines():
            key, _, value = line.partition(": ")
            seq = int(value.partition(".")[2]) if key == "id" else seq
            if key == "data":
                found.append((seq, json.loads(value)))
                if found[-1][1]["run"]["state"] == "succeeded":
                    break
    return found


def test_a_run_is_submitted_followed_and_read_by_rest(script: httpx2.Client) -> None:
    run_id = submitted(script)

    told = followed(script, run_id)
    series = until(lambda: script.get(f"/api/v1/runs/{run_id}/series").json(), what="a curve")
    curve = script.get(f"/api/v1/runs/{run_id}/curves", params={"name": series[0]["name"]}).json()

    assert sorted({seq for seq, _ in told}) == [seq for seq, _ in told]
    assert len(curve["steps"]) == len(curve["means"]) > 0
    manifest = until(lambda: script.get(f"/api/v1/runs/{run_id}/manifest").is_success, what="the manifest")
    assert manifest
    events = script.get(f"/api/v1/runs/{run_id}/events").text.splitlines()
    assert all("seq" in json.loads(line) for line in events)
    assert "succeeded" in script.get(f"/runs/{run_id}").text


def test_the_same_key_gives_the_same_run(script: httpx2.Client) -> None:
    first, second = (
        script.post("/api/v1/runs", json=DRILL, headers={"Idempotency-Key": "once"}).json() for _ in range(2)
    )

    assert first[0]["run_id"] == second[0]["run_id"]


def test_a_run_is_cancelled_by_the_owner_of_the_machine(script: httpx2.Client) -> None:
    run_id = submitted(script, config={"episodes": 100_000, "pause_ms": 50})

    assert 200 == script.post(f"/api/v1/runs/{run_id}/cancel", json={"reason": "enough"}).status_code
    until(lambda: script.get(f"/api/v1/runs/{run_id}").json()["run"]["state"] == "cancelled", what="its end")


def test_faults_of_the_scheduler_come_one_by_one(script: httpx2.Client) -> None:
    body = {**DRILL, "config": {"episodes": "many", "stepps": 3}, "priority": "huge", "team": "nobodys"}

    told = script.post("/api/v1/runs", json=body).json()

    assert "bad_input" == told["code"]
    for word in ("episodes", "stepps", "huge", "nobodys"):
        assert 1 == len([fault for fault in told["faults"] if word in fault]), told


def test_a_stranger_gets_nothing_and_loopback_is_all_there_is(machine: Machine) -> None:
    url = Login.running(machine.home).url
    with httpx2.Client(base_url=url) as stranger:
        assert [401] * 3 == [stranger.get(path).status_code for path in ("/", "/api/v1/runs", "/static/app.css")]
        assert [200, 200] == [stranger.get(path).status_code for path in ("/healthz", "/readyz")]
        assert 421 == stranger.get("/healthz", headers={"Host": "evil.example"}).status_code
        assert 401 == stranger.get("/api/v1/live?topics=queue").status_code
        assert 401 == stranger.get("/static/%252e%252e%252fsettings.py").status_code
    assert re.match(r"http://127\.0\.0\.1:\d+$", url)


def test_the_command_makes_a_link_that_works_once(machine: Machine) -> None:
    typed = machine.type("console")
    link = typed.output.strip()

    assert 0 == typed.exit_code, typed.errors
    with httpx2.Client() as browser:
        assert [200, 401] == [browser.get(link).status_code for _ in range(2)]
        assert 200 == browser.get(link.partition("/sign-in")[0] + "/runs").status_code


def test_no_credential_is_in_any_log(machine: Machine, script: httpx2.Client) -> None:
    token = Login.running(machine.home).token
    script.get("/api/v1/runs")

    for path in machine.home.rglob("*"):
        if path.is_file() and path.name != "console.token":
            assert token.encode() not in path.read_bytes(), path


def test_a_console_elsewhere_than_on_loopback_is_refused(machine: Machine) -> None:
    typed = machine.type("up", "--home", str(machine.home.parent / "other"), "--console", "0.0.0.0:7420")

    assert 4 == typed.exit_code
    assert "`mosaic up` listens on 127.0.0.1 only, not on 0.0.0.0" in typed.errors
