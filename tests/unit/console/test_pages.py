"""What people see: readable without scripts, and harmless whatever workers say."""

from __future__ import annotations

import gzip
import hashlib
import json
from datetime import timedelta
from importlib.resources import files

import pytest

from mosaic.lifecycle import RunState
from mosaic_console.domain.text import harmless, span
from mosaic_console.entrypoints.looks import assets
from mosaic_console.handlers.commands import Command, offered
from mosaic_console.handlers.differences import settings_of
from tests.fakes.console import SCHEMA
from tests.unit.console.conftest import Console

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
STATIC = files("mosaic_console") / "static"


def test_a_run_named_like_a_script_is_harmless(console: Console) -> None:
    console.platform.add("r1", name=EVIL, reason=EVIL, worker=EVIL, config={"env_id": EVIL, EVIL: EVIL}, user=EVIL)
    console.platform.log = [EVIL, "\x1b[31mred\x1b[0m \x1b]0;title\x07 \u202egnp.exe"]

    for path in ("/runs", "/runs/r1", "/fleet", "/runs?name=" + EVIL):
        text = console.script.get(path).text
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "\"'>" not in text
    log = console.script.get("/runs/r1").text
    assert "\x1b" not in log
    assert "\u202e" not in log


def test_the_page_of_runs_has_words_for_states_and_its_filters_in_the_address(console: Console) -> None:
    console.platform.add("run-of-failure", state=RunState.FAILED, reason="it crashed\nat line 3")
    console.platform.add("run-of-success", state=RunState.SUCCEEDED)

    text = console.script.get("/runs", params={"state": "failed", "worker": "", "team": ""}).text

    assert '<span class="chip failed">failed</span>' in text
    assert "it crashed" in text
    assert "<option selected>failed</option>" in text
    assert "-success" not in text


@pytest.mark.parametrize(("query", "said"), [("", "mosaic submit reference"), ("?state=failed", "No run fits")])
def test_an_empty_page_says_what_to_do(console: Console, query: str, said: str) -> None:
    assert said in console.script.get(f"/runs{query}").text


def test_older_runs_are_a_link_away(console: Console) -> None:
    for number in range(101):
        console.platform.add(f"r{number:03}", team="vision")

    assert 'href="/runs?team=vision&amp;after=r001"' in console.script.get("/runs?team=vision").text


def test_the_page_of_a_run_shows_what_differs_and_a_table_behind_each_curve(console: Console) -> None:
    console.platform.add("r1")

    text = console.script.get("/runs/r1").text

    assert '<tr class="differs"><td title="">total_steps</td><td>500</td><td>1000</td></tr>' in text
    assert '<mosaic-curve run="r1" name="return"' in text
    assert '<th class="num">Step</th>' in text
    assert 'action="/runs/r1/pause"' in text
    assert 'action="/runs/r1/retry"' not in text


def test_a_run_is_shown_while_telemetry_is_away(console: Console) -> None:
    console.platform.add("r1")
    console.platform.is_deaf = True

    for path in ("/runs", "/runs/r1"):
        got = console.script.get(path)
        assert 200 == got.status_code
        assert "telemetry does not answer" in got.text


def test_a_problem_of_a_page_is_a_page(console: Console) -> None:
    got = console.script.get("/runs/nobody")

    assert (404, "text/html; charset=utf-8") == (got.status_code, got.headers["content-type"])
    assert "there is no run" in got.text


def test_the_sign_in_page_says_how_to_get_in_and_brings_only_its_own_style(console: Console) -> None:
    got = console.stranger.get("/runs")

    assert "mosaic console" in got.text
    assert "<script" not in got.text
    assert "style-src 'sha256-" in got.headers["content-security-policy"]


def test_buttons_do_what_makes_sense() -> None:
    assert {Command.RETRY} == set(offered(RunState.FAILED))
    assert {Command.RESUME, Command.CANCEL} == set(offered(RunState.PAUSED))
    assert set() == set(offered(RunState.STOPPING))


def test_settings_that_differ_come_first() -> None:
    found = settings_of({"env_id": "CartPole-v1", "total_steps": 5, "own": {"lr": 0.1}}, SCHEMA)

    assert ["total_steps", "env_id", "own.lr"] == [each.name for each in found]
    assert [True, False, False] == [each.differs for each in found]


def test_what_is_vendored_is_what_was_locked() -> None:
    vendor = STATIC / "vendor"
    locked = json.loads(vendor.joinpath("lock.json").read_text())

    found = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in vendor.iterdir()}
    assert locked == {name: digest for name, digest in found.items() if name != "lock.json"}


def test_all_files_of_a_page_weigh_at_most_100_kb() -> None:
    assert sum(len(gzip.compress(asset.content)) for asset in assets().values()) <= 100_000


def test_a_file_is_found_by_name_and_by_nothing_else(console: Console) -> None:
    assert 200 == console.script.get("/static/app.css").status_code
    for name in ("../settings.py", "%2e%2e/settings.py", "%252e%252e/settings.py", "/etc/passwd", "vendor/lock.json"):
        assert 404 == console.script.get(f"/static/{name}").status_code


def test_no_page_has_script_or_style_in_it(console: Console) -> None:
    console.platform.add("r1")
    for path in ("/runs", "/runs/r1", "/fleet", "/runs/nobody"):
        text = console.script.get(path).text
        assert "<style" not in text
        assert " style=" not in text
        assert all("src=" in part.partition(">")[0] for part in text.split("<script")[1:])


def test_text_is_made_short_and_harmless() -> None:
    assert "a\ufffdb" == harmless("a\x00b")
    assert ["42 s", "7 min 5 s", "3 h 2 min", "12 d 1 h"] == [
        span(timedelta(seconds=each)) for each in (42, 425, 3 * 3600 + 120, 12 * 86_400 + 3600)
    ]
