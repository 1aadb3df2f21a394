"""Looking at a curve: closer, over another x, by keyboard, and by the link that holds it all."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Desk

POINTS = 3000
FIRST = "mosaic-curve[name='return']"


def drawn(page: Page) -> tuple[float, float]:
    """Return from where to where the first curve is drawn, and wait for it."""
    page.wait_for_function(f'document.querySelector("{FIRST}")?.plot')
    steps = page.evaluate(f'document.querySelector("{FIRST}").curve.steps')
    return steps[0], steps[-1]


def open_run(desk: Desk, page: Page, name: str) -> None:
    run_id = desk.submit(name=name, config={"episodes": POINTS})
    page.goto(f"{desk.url}/runs/{run_id}")
    expect(page.locator("#state .chip")).to_have_text("succeeded")
    page.reload()
    expect(page.locator(f"{FIRST} canvas")).to_be_visible()


def test_looking_closer_reads_more_and_the_link_holds_it(desk: Desk, page: Page, browser: Browser) -> None:
    open_run(desk, page, "closer")
    first, last = drawn(page)
    box = page.locator(f"{FIRST} .u-over").bounding_box()
    assert box is not None

    with page.expect_response(re.compile(r"/curves\?.*from=")) as asked:
        page.mouse.move(box["x"] + box["width"] * 0.46, box["y"] + 50)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.54, box["y"] + 50, steps=5)
        page.mouse.up()
    closer = asked.value.json()["steps"]

    assert first < closer[0] < closer[-1] < last
    assert {1} == set(asked.value.json()["counts"]), "so close that every point is seen"
    expect(page).to_have_url(re.compile("from=.*to="))
    expect(page.get_by_role("button", name="Whole curve")).to_be_visible()
    with page.expect_response(re.compile(r"/curves\?.*from=")) as again:
        page.reload()
    assert closer == again.value.json()["steps"], "the link shows the same to somebody else"

    page.get_by_role("button", name="Whole curve").click()
    expect(page).not_to_have_url(re.compile("from="))


def test_a_curve_is_seen_over_time_logarithmic_and_smoothed(desk: Desk, page: Page) -> None:
    open_run(desk, page, "over-time")
    view = page.get_by_role("form", name="How curves are drawn")

    with page.expect_response(re.compile("x=relative")) as asked:
        view.locator("[name=x]").select_option("relative")
    assert asked.value.json()["steps"][-1] < POINTS, "seconds"
    with page.expect_response(re.compile("smoothing=0.9")) as smoothed:
        view.get_by_label("Smoothing").fill("0.9")
    told = smoothed.value.json()
    assert len(told["steps"]) == len(told["smoothed"]) == len(told["maxima"])
    view.locator("[name=x]").select_option("step")
    with page.expect_response(re.compile("log_x=true")):
        view.get_by_label("log x").check()
    expect(page).to_have_url(re.compile("smoothing=0.9&log_x=1"))


def test_a_curve_is_moved_by_keys_and_has_a_table_behind_it(desk: Desk, page: Page) -> None:
    open_run(desk, page, "by-keys")
    drawn(page)

    with page.expect_response(re.compile("from=")):
        page.locator(FIRST).press("+")
    page.locator(FIRST).press("0")
    expect(page).not_to_have_url(re.compile("from="))
    figure = page.locator("figure", has=page.locator(FIRST))
    with page.expect_response(re.compile("resolution=24")):
        figure.get_by_text("Table").click()
    expect(figure.locator("tbody tr").nth(12)).to_be_visible()
