"""Comparing two arms of seeds: the link, a stretch, single runs, the files."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Desk
from tests.browser.test_watching import overflow


def test_two_arms_are_compared_looked_at_closely_and_shared(desk: Desk, page: Page) -> None:
    for name, episodes in (("arm-short", 40), ("arm-long", 80)):
        for seed in (1, 2, 3):
            run_id = desk.submit(name=name, seed=seed, config={"episodes": episodes}, labels={"study": "lengths"})
    page.goto(f"{desk.url}/runs/{run_id}")
    expect(page.locator("#state .chip")).to_have_text("succeeded")

    page.goto(f"{desk.url}/compare")
    page.get_by_label("Name begins").fill("arm-")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("table.arms tbody tr")).to_have_count(2)
    expect(page.locator("table.arms")).to_contain_text("arm-short")
    paths = page.locator("mosaic-compare svg path").count()
    page.get_by_label("single runs").check()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("mosaic-compare svg path")).to_have_count(paths + 6)

    page.locator("mosaic-compare").hover()
    expect(page.locator("mosaic-compare output")).to_contain_text("arm-long")
    box = page.locator("mosaic-compare").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 80, steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile("from=.*to="))
    expect(page.get_by_role("link", name="Whole curve")).to_be_visible()

    with page.expect_download() as picture:
        page.get_by_role("link", name="PNG").click()
    assert "compare.png" == picture.value.suggested_filename
    with page.expect_download() as rows:
        page.get_by_role("link", name="CSV").click()
    assert "arm,step,iqm,low,high,n" in rows.value.path().read_text()
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    assert 0 == overflow(page)


def test_a_comparison_is_read_without_a_script(desk: Desk, browser: Browser) -> None:
    desk.submit(name="quiet", config={"episodes": 20})
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(desk.another_link())

    page.goto(f"{desk.url}/compare?name=quiet")

    expect(page.locator("mosaic-compare svg path").first).to_be_attached()
    expect(page.get_by_role("heading", name="Performance profile")).to_be_visible()
    context.close()
