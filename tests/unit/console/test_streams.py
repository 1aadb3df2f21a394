"""Streams of lines: what ends them, and what they say when they do."""

from __future__ import annotations

import io
import json
import threading
from typing import Any

import pyarrow.parquet
import pytest

from mosaic_console.handlers.shared_looks import LIFE_S, SharedLooks
from tests.unit.console.conftest import Console


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines() if line]


def test_who_follows_is_told_that_the_run_has_ended(console: Console) -> None:
    console.platform.add("r1")

    told = lines(console.script.get("/api/v1/runs/r1/events", params={"follow": True}).text)

    assert [1, 2] == [line["seq"] for line in told[:-1]]
    assert {"finished": True} == told[-1]


def test_a_stream_goes_on_from_a_position(console: Console) -> None:
    console.platform.add("r1")
    console.platform.log += ["a", "b", "c"]

    events = lines(console.script.get("/api/v1/runs/r1/events", params={"from": "1.2"}).text)
    logs = lines(console.script.get("/api/v1/runs/r1/logs", params={"after": "1.1"}).text)

    assert [2] == [line["seq"] for line in events]
    assert ["c"] == [line["text"] for line in logs]
    for place in ("x", "1.2.3", "-1", "1.", "9" * 30):
        assert 400 == console.script.get("/api/v1/runs/r1/events", params={"from": place}).status_code


def test_the_very_bytes_of_a_worker_can_be_asked_for(console: Console) -> None:
    console.platform.add("r1")

    told = lines(console.script.get("/api/v1/runs/r1/events", params={"raw": True}).text)

    assert '{"event": "step"}' == told[0]["line"]
    assert "line" not in told[1], "what is no text is not made up"
    assert "line_base64" in told[1]


def test_what_breaks_off_says_why_in_its_last_line(console: Console) -> None:
    console.platform.add("r1")
    console.platform.is_deaf = True

    told = lines(console.script.get("/api/v1/runs/r1/events", params={"follow": True}).text)

    assert (503, "unavailable") == (told[-1]["problem"]["status"], told[-1]["problem"]["code"])


def test_watched_runs_come_as_they_stand_and_the_end_is_a_problem(console: Console) -> None:
    console.platform.add("r1")

    told = lines(console.script.post("/api/v1/watch", json={"runs": ["r1"]}).text)

    assert ["r1", "unavailable"] == [told[0]["run_id"], told[1]["problem"]["code"]]
    assert 404 == console.script.post("/api/v1/watch", json={"runs": ["nobody"]}).status_code


@pytest.mark.parametrize("table", ["runs", "events", "episodes", "metrics"])
def test_tables_are_exported_in_every_form(console: Console, table: str) -> None:
    console.platform.add("r1")
    asked = {"run": "r1"}

    rows = lines(console.script.get(f"/api/v1/exports/{table}", params=asked).text)
    text = console.script.get(f"/api/v1/exports/{table}", params={**asked, "format": "csv"}).text
    content = console.script.get(f"/api/v1/exports/{table}", params={**asked, "format": "parquet"}).content
    read = pyarrow.parquet.read_table(io.BytesIO(content))

    assert len(rows) == len(text.splitlines()) - 1 == read.num_rows
    assert "run_id" in read.column_names
    assert 404 == console.script.get(f"/api/v1/exports/{table}", params={"run": "nobody"}).status_code


def test_a_team_is_changed_by_the_terms_that_are_given(console: Console) -> None:
    got = console.script.patch("/api/v1/teams/vision", json={"gpus": 4, "max_running": None, "max_wall_s": 60})

    assert 200 == got.status_code, got.text
    assert ("set_team", "vision") == console.platform.done[0][:2]
    assert "'max_running': None" in console.platform.done[0][2]
    told = console.script.patch("/api/v1/teams/vision", json={"gpu": 4, "max_running": 1.5, "weight": None}).json()
    assert 3 == len(told["faults"])


def test_what_did_not_change_is_not_sent_again(console: Console) -> None:
    console.platform.add("r1")
    first = console.script.get("/api/v1/runs/r1")

    again = console.script.get("/api/v1/runs/r1", headers={"If-None-Match": first.headers["etag"]})

    assert (304, b"") == (again.status_code, again.content)
    console.platform.add("r1", name="other")
    assert 200 == console.script.get("/api/v1/runs/r1", headers={"If-None-Match": first.headers["etag"]}).status_code


def test_a_name_with_a_slash_is_one_name(console: Console) -> None:
    console.platform.add("a/b")

    assert "a/b" == console.script.get("/api/v1/runs/a%2Fb").json()["run"]["run_id"]
    assert 200 == console.script.get("/api/v1/runs/a%2fb/series").status_code


def test_who_asks_at_the_same_time_shares_one_look() -> None:
    now, looks, begun, go = [100.0], [], threading.Event(), threading.Event()
    shared = SharedLooks(clock=lambda: now[0])

    def look() -> int:
        looks.append(1)
        begun.set()
        go.wait(10)
        return len(looks)

    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(shared.look("k", look))) for _ in range(5)]
    threads[0].start()
    begun.wait(10)
    for thread in threads[1:]:
        thread.start()
    go.set()
    for thread in threads:
        thread.join(10)

    assert ([1] * 5, 1) == (found, len(looks))
    now[0] += LIFE_S
    assert 2 == shared.look("k", look)
    assert 3 == shared.look("other", look)
