"""What programs get."""

from __future__ import annotations

import json

import pytest

from mosaic.errors import BadInput, MosaicError
from mosaic.lifecycle import RunState
from mosaic_console.domain.problem import faults_of
from tests.unit.console.conftest import Console


def test_runs_come_in_pages(console: Console) -> None:
    for number in range(5):
        console.platform.add(f"r{number}")

    first = console.script.get("/api/v1/runs", params={"limit": 3}).json()
    second = console.script.get("/api/v1/runs", params={"limit": 3, "after": first["next"]}).json()

    assert ["r4", "r3", "r2"] == [run["run_id"] for run in first["runs"]]
    assert (["r1", "r0"], None) == ([run["run_id"] for run in second["runs"]], second["next"])


def test_every_fault_of_a_filter_is_listed(console: Console) -> None:
    got = console.script.get("/api/v1/runs", params={"state": ["runing", "queued"], "label": "nokey"})

    assert (400, "application/problem+json") == (got.status_code, got.headers["content-type"])
    told = got.json()
    assert "bad_input" == told["code"]
    assert 2 == len(told["faults"])
    assert "did you mean 'running'" in told["faults"][0]


def test_a_submit_is_the_callers_and_carries_its_key(console: Console) -> None:
    body = {"worker": "toy", "config": {"a": 1}, "resources": {"cpus": 0.5}, "not_before": "2030-01-31T12:00:00Z"}

    got = console.script.post("/api/v1/runs", json=body, headers={"Idempotency-Key": "k1"})

    assert 201 == got.status_code
    [asked] = console.platform.asked
    assert ("ada", "k1", 0.5) == (asked.user, *console.platform.keys, asked.resources.cpus)
    assert asked.not_before is not None


def test_a_submission_lists_all_its_faults(console: Console) -> None:
    body = {"worker": 3, "usr": "eve", "user": "eve", "seed": "x", "resources": {"gpu": 1}, "config": {"a": 1}}

    told = console.script.post("/api/v1/runs", json=body).json()

    for word in ("'usr'", "'user'", "worker must be text", "seed must be", "'gpu' of resources"):
        assert any(word in fault for fault in told["faults"]), word
    assert [] == console.platform.asked


def test_a_dry_run_predicts(console: Console) -> None:
    got = console.script.post("/api/v1/runs", params={"dry_run": True}, json={"worker": "toy"})

    assert (200, {"prediction": ["it would be accepted"]}) == (got.status_code, got.json())


@pytest.mark.parametrize("wish", ["cancel", "pause", "resume", "retry"])
def test_commands_are_done_in_the_name_of_the_caller(console: Console, wish: str) -> None:
    console.platform.add("r1")

    assert 200 == console.script.post(f"/api/v1/runs/r1/{wish}").status_code
    assert [(wish, "r1", "ada")] == console.platform.done


def test_an_unknown_run_is_a_problem_with_the_words_of_the_command(console: Console) -> None:
    got = console.script.get("/api/v1/runs/nobody")

    assert (404, "run_not_found") == (got.status_code, got.json()["code"])
    assert "there is no run 'nobody'; `mosaic runs` lists those you may see" == got.json()["detail"]


def test_a_stretch_of_a_curve_is_asked_for_and_nan_is_text(console: Console) -> None:
    console.platform.add("r1")
    query = {"name": "return", "from": 5, "to": 25, "resolution": 50}

    curve = console.script.get("/api/v1/runs/r1/curves", params=query).json()

    assert ("curve", "return", "5.0", "25.0", "50") == console.platform.done[0]
    assert [1.0, "NaN"] == curve["means"]


def test_events_come_one_a_line(console: Console) -> None:
    console.platform.add("r1")

    got = console.script.get("/api/v1/runs/r1/events")

    assert got.headers["content-type"].startswith("application/x-ndjson")
    assert [1, 2] == [json.loads(line)["seq"] for line in got.text.splitlines()]


@pytest.mark.parametrize(
    "path",
    ["explain", "series", "episodes", "logs"],
)
def test_what_a_run_told_can_be_read(console: Console, path: str) -> None:
    console.platform.add("r1")

    assert 200 == console.script.get(f"/api/v1/runs/r1/{path}").status_code


@pytest.mark.parametrize("path", ["fleet", "workers", "workers/toy", "environments", "teams", "summaries?run=r1"])
def test_the_rest_of_the_platform_can_be_read(console: Console, path: str) -> None:
    assert 200 == console.script.get(f"/api/v1/{path}").status_code


def test_who_cannot_train_on_an_environment_is_told_why(console: Console) -> None:
    told = console.script.get("/api/v1/environments/CartPole-v1").json()

    assert {"toy"} == {*told["workers"], *told["why_not"]}
    assert 404 == console.script.get("/api/v1/environments/CartPoll-v1").status_code


def test_a_node_is_drained_by_name(console: Console) -> None:
    assert 200 == console.script.post("/api/v1/fleet/drain", json={"name": "n1"}).status_code
    assert 404 == console.script.post("/api/v1/fleet/drain", json={"name": "n2"}).status_code
    assert [("drain", "n1", "True")] == console.platform.done


def test_what_is_away_is_said_with_a_time_to_try_again(console: Console) -> None:
    console.platform.add("r1")
    console.platform.is_deaf = True

    got = console.script.get("/api/v1/runs/r1/series")

    assert (503, "unavailable", "2") == (got.status_code, got.json()["code"], got.headers["retry-after"])


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b"\xff", b"[" * 100_000])
def test_what_is_no_json_object_is_a_problem(console: Console, body: bytes) -> None:
    got = console.script.post("/api/v1/runs", content=body, headers={"Content-Type": "application/json"})

    assert (400, "application/problem+json") == (got.status_code, got.headers["content-type"])


def test_faults_that_crossed_grpc_are_told_apart_again() -> None:
    for faults in (["one"], ["one", "two\nlines", "three"]):
        sentence = str(BadInput("submit", faults))
        crossed = BadInput.__new__(BadInput)
        Exception.__init__(crossed, sentence)
        assert tuple(faults) == faults_of(crossed)
    assert () == faults_of(MosaicError("x"))


def test_states_have_words_in_json(console: Console) -> None:
    console.platform.add("r1", state=RunState.PAUSED)

    assert "paused" == console.script.get("/api/v1/runs/r1").json()["run"]["state"]
