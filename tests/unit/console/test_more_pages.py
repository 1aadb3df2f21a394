from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlencode

from mosaic.lifecycle import RunState
from mosaic_console.domain.form import token_of
from tests.fakes.console import NOON
from tests.unit.console.conftest import Console

FORM = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}


def test_home_shows_what_runs_waits_and_failed_of_mine(console: Console) -> None:
    console.platform.add("r1", name="busy")
    console.platform.add("r2", name="patient", state=RunState.QUEUED)
    console.platform.add("r3", name="broken", state=RunState.FAILED, reason="out of memory", ended_at=NOON)

    page = console.browser().get("/").text

    assert '<progress value="250.0" max="500.0"' in page
    assert "it waits for a GPU" in page
    assert "out of memory" in page


def test_home_works_while_telemetry_is_away(console: Console) -> None:
    console.platform.add("r1", name="busy")
    console.platform.is_deaf = True

    page = console.browser().get("/")

    assert 200 == page.status_code
    assert "telemetry does not answer" in page.text


def test_the_queue_says_why_each_run_waits_and_what_teams_use(console: Console) -> None:
    console.platform.add("r1", name="first", state=RunState.QUEUED, team="vision")
    console.platform.add("r2", name="under-way", team="speech")

    page = console.browser().get("/queue").text

    assert "it waits for a GPU" in page
    assert "vision" in page
    assert "speech" in page
    assert "under-way" not in page


def test_environments_say_who_trains_on_them_and_why_others_do_not(console: Console) -> None:
    page = console.browser().get("/environments", params={"text": "pole stands on a cart"}).text

    assert "CartPole-v1" in page
    assert "Pendulum" not in page
    assert "/train?worker=toy&amp;env=CartPole-v1" in page


def test_workers_show_their_settings(console: Console) -> None:
    page = console.browser().get("/workers").text

    assert "total_steps" in page
    assert "/train?worker=toy" in page


def test_ticked_runs_are_cancelled_together(console: Console) -> None:
    for name in ("r1", "r2", "r3"):
        console.platform.add(name)

    browser = console.browser()
    told = [("run", "r1"), ("run", "r3"), ("form_token", token_of(browser.cookies["mosaic_session_7420"]))]
    answer = browser.post("/runs/cancel", content=urlencode(told), headers=FORM)

    assert (303, "/runs") == (answer.status_code, answer.headers["location"])
    assert ["r1", "r3"] == [run_id for run_id, run in console.platform.runs.items() if run.state is RunState.CANCELLED]


def test_a_metric_becomes_a_column_that_stays_on_the_next_page(console: Console) -> None:
    for number in range(101):
        console.platform.add(f"r{number:03}", submitted_at=NOON + timedelta(seconds=number))

    page = console.browser().get("/runs", params={"col": "return:max"}).text

    assert "return max" in page
    assert '<td class="num mid">5</td>' in page
    assert "col=return%3Amax" in page
