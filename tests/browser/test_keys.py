"""Without a mouse: from the runs to a comparison and elsewhere."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Desk
from tests.browser.test_watching import overflow


def test_two_runs_are_ticked_and_compared_by_keys(desk: Desk, page: Page) -> None:
    for seed in (1, 2):
        run_id = desk.submit(name="by-key", seed=seed, config={"episodes": 5})
    page.goto(f"{desk.url}/runs/{run_id}")
    expect(page.locator("#state .chip")).to_have_text("succeeded")
    page.goto(f"{desk.url}/runs?name=by-key")
    expect(page.locator("#rows tbody tr")).to_have_count(2)

    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("#rows input:checked")).to_have_count(2)
    page.keyboard.press("c")

    page.wait_for_url(re.compile("/compare.*run="))
    expect(page.locator("table.arms")).to_contain_text("by-key")
    page.keyboard.press("g")
    page.keyboard.press("q")
    page.wait_for_url("**/queue")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("compare the ticked")


def test_what_is_typed_into_a_field_is_no_command(desk: Desk, page: Page) -> None:
    page.goto(f"{desk.url}/runs")
    page.keyboard.press("/")
    page.keyboard.type("g?xj")

    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page).to_have_url(f"{desk.url}/runs")


def test_every_page_fits_a_phone(desk: Desk, page: Page) -> None:
    desk.submit(name="phone", config={"episodes": 5})
    page.set_viewport_size({"width": 390, "height": 844})

    for path in ("/", "/runs", "/train", "/compare?name=phone", "/queue", "/fleet", "/environments", "/workers"):
        page.goto(desk.url + path)
        assert 0 == overflow(page), path
