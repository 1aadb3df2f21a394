"""Nothing that axe calls serious, on any page, in light and dark."""

from __future__ import annotations

from importlib.resources import files

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Desk

AXE = files("axe_core_python").joinpath("axe.min.js")
PAGES = ("/", "/runs", "/train", "/compare?name=looked-at", "/queue", "/fleet", "/environments", "/workers")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(desk: Desk, page: Page, scheme: str) -> None:
    run_id = desk.submit(name="looked-at", config={"episodes": 5})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(f"{desk.url}/runs/{run_id}")
    expect(page.locator("#state .chip")).to_have_text("succeeded")
    found: list[str] = []

    for path in (*PAGES, f"/runs/{run_id}"):
        page.goto(desk.url + path)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        told = page.evaluate("axe.run()")["violations"]
        found += [
            f"{path}: {one['id']}: {one['nodes'][0]['html']}"
            for one in told
            if one["impact"] in ("serious", "critical")
        ]

    assert [] == found
