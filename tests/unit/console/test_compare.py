from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from mosaic.lifecycle import RunState
from mosaic_console.domain.chart import COLOURS, Curve, colours_of, draw, nice
from tests.unit.console.conftest import Console

EVIL = "<script>alert(1)</script>"


def add_arm(console: Console, name: str, *returns: float, **more: object) -> None:
    for seed, value in enumerate(returns, start=1):
        run = console.platform.add(
            f"{name}-{seed}", name=name, seed=seed, state=RunState.SUCCEEDED, config={"lr": len(name)}, **more
        )
        console.platform.returns[run.run_id] = [value] * 3


def test_arms_are_compared_by_rest_with_everything_that_the_page_shows(console: Console) -> None:
    add_arm(console, "fast", 10.0, 11.0, 12.0)
    add_arm(console, "slowly", 1.0, 2.0)

    told = console.script.get("/api/v1/compare", params={"name": "", "run": list(console.platform.runs)}).json()

    fast, slowly = told["arms"]
    assert ("fast", 11.0, 3) == (fast["label"], fast["score"]["value"], fast["score"]["n"])
    assert (0.0, [3]) == (slowly["better"]["value"], slowly["missing_seeds"])
    assert len(fast["curve"]["steps"]) == len(fast["traces"][0]) == 200
    assert 1.0 == fast["profile"]["shares"][0]


def test_the_page_names_who_is_missing_and_who_failed(console: Console) -> None:
    add_arm(console, "fast", 10.0, 11.0, 12.0)
    add_arm(console, "slowly", 1.0, 2.0)
    console.platform.add("dead", name="slowly", seed=9, state=RunState.FAILED, config={"lr": 6}, reason="out of memory")

    page = console.script.get("/compare", params={"name": "", "run": list(console.platform.runs)}).text

    assert "out of memory" in page
    assert '<span class="chip missing">missing</span>' in page
    assert page.count("not counted") >= 2


def test_a_hostile_label_is_text_in_the_page_the_picture_and_the_rows(console: Console) -> None:
    add_arm(console, EVIL, 1.0, 2.0)
    add_arm(console, '=HYPERLINK("x")', math.nan, 2.0)
    query = {"run": list(console.platform.runs)}

    page, picture = (console.script.get(path, params=query).text for path in ("/compare", "/compare.svg"))
    rows = console.script.get("/api/v1/compare", params={**query, "form": "csv"}).text

    assert EVIL not in page
    assert EVIL not in picture
    ElementTree.fromstring(picture.strip())
    assert "\n\"'=HYPERLINK" in rows


def test_what_cannot_be_compared_is_said_beside_the_form(console: Console) -> None:
    add_arm(console, "cart", 1.0)
    nothing = console.script.get("/compare")
    none = console.script.get("/compare", params={"name": "nobody"})
    wrong = console.script.get("/compare", params={"name": "cart", "of": "bst"})

    assert (200, 400, 400) == (nothing.status_code, none.status_code, wrong.status_code)
    assert "best" in wrong.text
    assert 400 == console.script.get("/api/v1/compare", params={"name": "cart", "at": "soon"}).status_code


def test_a_chart_leaves_gaps_where_there_are_no_numbers() -> None:
    curve = Curve("a", [0, 1, 2, 3], [1, math.nan, 3, math.inf], [1, 1, 2, 2], [2, 2, 4, math.nan], [[1, 2, 3, 4]])

    (line,) = draw([curve], with_traces=True).lines

    assert 2 == line.path.count("M")
    assert (1, 1) == (line.band.count("Z"), len(line.traces))
    assert "nan" not in line.path + line.band


def test_only_what_is_above_zero_is_on_a_logarithmic_axis() -> None:
    curve = Curve("a", [0, 1, 2], [0.0, 10.0, 1000.0], [-1, 1, 1], [1, 100, 10_000])

    chart = draw([curve], log_y=True)

    assert 2 == chart.lines[0].path.count("M") + chart.lines[0].path.count("L")
    assert ["10", "100", "1,000"] == [tick.text for tick in chart.y][-4:-1]


def test_an_arm_has_its_colour_in_any_company_as_long_as_it_is_free() -> None:
    alone, with_other = colours_of(["ppo"])[0], colours_of(["ppo", "dqn"])[0]
    many = colours_of([f"arm {number}" for number in range(COLOURS + 1)])

    assert alone == with_other
    assert COLOURS == len({colour for colour, _ in many[:COLOURS]})
    assert many[-1][1], "the colours are used up: it is dashed"


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-7.3, 12.9), (1e6, 1e6 + 3), (5.0, 5.0)])
def test_ticks_are_round_and_within(low: float, high: float) -> None:
    ticks = nice(low, high, 5)

    assert 1 <= len(ticks) <= 8
    assert all(low - 1e-6 <= tick <= high + 1e-6 for tick in ticks)
