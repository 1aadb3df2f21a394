"""What a person does in the browser: open the link, watch a run, end it, begin it again."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Desk
from tests.stack.waiting import until

EVIL = "<script>alert(1)</script>"
LONG = {"episodes": 100_000, "pause_ms": 100}


def overflow(page: Page) -> int:
    """Return by how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def test_the_link_of_mosaic_up_opens_the_console_once(desk: Desk, browser: Browser) -> None:
    link = desk.link()
    first, second = (browser.new_context().new_page() for _ in range(2))

    first.goto(link)
    first.wait_for_url("**/runs")
    expect(first.get_by_role("heading", name="Runs")).to_be_visible()
    answer = second.goto(link)

    assert answer is not None
    assert 401 == answer.status
    first.context.close()
    second.context.close()


def test_a_run_appears_is_watched_cancelled_and_run_again(desk: Desk, page: Page) -> None:
    run_id = desk.submit(name="watched", config=LONG)

    page.get_by_role("link", name="watched").click()
    expect(page.locator("#state .chip")).to_have_text("running")
    expect(page.locator("mosaic-curve canvas").first).to_be_visible()
    points = "document.querySelector('mosaic-curve').curve?.steps.length ?? 0"
    before = page.evaluate(points)
    until(lambda: page.evaluate(points) > before + 3, what="the curve to grow")

    page.get_by_text("Cancel …").click()
    page.get_by_role("button", name="Yes, end this run").click()
    expect(page.locator("#state .chip")).to_have_text("cancelled")
    page.get_by_role("button", name="Retry").click()
    expect(page).not_to_have_url(re.compile(run_id))
    expect(page.locator("#state .chip")).to_have_text("running")
    page.get_by_text("Cancel …").click()
    page.get_by_role("button", name="Yes, end this run").click()
    expect(page.locator("#state .chip")).to_have_text("cancelled")


def test_the_log_is_on_the_page(desk: Desk, page: Page) -> None:
    run_id = desk.submit(name="talks", config={"episodes": 2, "garbage": True})

    page.goto(f"{desk.url}/runs/{run_id}")

    expect(page.locator("#state .chip")).to_have_text("succeeded")
    expect(page.locator("pre.log")).to_contain_text("plain text")


def test_a_run_named_like_a_script_runs_nothing(desk: Desk, page: Page) -> None:
    run_id = desk.submit(name=EVIL, config={"episodes": 2}, labels={"note": "onerror"})

    page.goto(f"{desk.url}/runs")
    expect(page.get_by_role("link", name=EVIL)).to_be_visible()
    page.goto(f"{desk.url}/runs/{run_id}")

    expect(page.locator("h1")).to_contain_text(EVIL)
    expect(page.locator("#state .chip")).to_have_text("succeeded")


def test_pages_are_dark_where_that_is_wished_and_fit_a_phone(desk: Desk, page: Page) -> None:
    run_id = desk.submit(name="x" * 60, config={"episodes": 5})
    page.goto(f"{desk.url}/runs/{run_id}")
    expect(page.locator("#state .chip")).to_have_text("succeeded")
    paper = "getComputedStyle(document.body).backgroundColor"

    light = page.evaluate(paper)
    page.emulate_media(color_scheme="dark")
    assert light != page.evaluate(paper)

    page.set_viewport_size({"width": 390, "height": 844})
    for path in ("/runs", f"/runs/{run_id}", "/fleet"):
        page.goto(desk.url + path)
        assert 0 == overflow(page), path


def test_a_page_outlives_the_platform_and_says_so(desk: Desk, page: Page) -> None:
    run_id = desk.submit(name="survivor", config={"episodes": 300, "pause_ms": 100, "checkpoint_every": 5})
    page.goto(f"{desk.url}/runs/{run_id}")
    expect(page.locator("#live-state")).to_have_text("live")
    expect(page.locator("#state .chip")).to_have_text("running")

    desk.machine.platform.kill()
    expect(page.locator("#live-state")).to_have_text("not live")
    desk.machine.up()

    # Sessions outlive the platform that gave them: the page goes on by itself.
    expect(page.locator("#live-state")).to_have_text("live", timeout=30_000)
    expect(page.locator("#state .chip")).to_have_text(re.compile("queued|admitted|running"))
    points = "document.querySelector('mosaic-curve')?.curve?.steps.length ?? 0"
    until(lambda: page.evaluate(points) > 3, what="its curve")
    page.get_by_text("Cancel …").click()
    page.get_by_role("button", name="Yes, end this run").click()
    expect(page.locator("#state .chip")).to_have_text("cancelled")
