"""Starting a run from the form: choose, see what would run, mend a fault, start, clone."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Desk
from tests.browser.test_watching import overflow


def test_a_run_is_started_from_the_form_and_cloned(desk: Desk, page: Page) -> None:
    page.goto(f"{desk.url}/train")
    page.get_by_label("episodes", exact=True).fill("soon")
    page.get_by_label("name", exact=True).fill("from-the-form")
    page.get_by_label("cpus").fill("0.1")
    page.get_by_label("memory_mb").fill("16")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".field.wrong .fault")).to_have_text(re.compile("no number"))
    expect(page.get_by_label("name", exact=True)).to_have_value("from-the-form")

    page.get_by_label("episodes", exact=True).fill("4")
    page.get_by_role("button", name="What would run?").click()
    expect(page.get_by_role("status").filter(has_text="What would run")).to_contain_text("accepted")
    expect(page.locator("#yaml")).to_contain_text("episodes: 4")
    page.get_by_role("button", name="Start").click()

    page.wait_for_url(re.compile("/runs/[^/]+$"))
    expect(page.locator("h1")).to_contain_text("from-the-form")
    expect(page.locator("#state .chip")).to_have_text("succeeded")
    page.get_by_role("link", name="Clone").click()
    expect(page.get_by_label("episodes", exact=True)).to_have_value("4")


def test_the_form_fits_a_phone(desk: Desk, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{desk.url}/train")

    assert 0 == overflow(page)
