from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from mosaic_console.domain.form import token_of
from mosaic_console.domain.train_form import (
    Control,
    as_yaml,
    controls_of,
    read_controls,
    read_seeds,
    with_faults,
)
from tests.unit.console.conftest import Console

EVIL = '"><script>alert(1)</script>'
SCHEMA: dict[str, Any] = {
    "properties": {
        "run_id": {"type": "string"},
        "seed": {"type": "integer"},
        "algo": {"enum": ["ppo", "dqn"], "default": "ppo"},
        "env_id": {"type": "string", "default": "CartPole-v1"},
        "lr": {"type": "number", "default": 0.001, "exclusiveMinimum": 0, "maximum": 1, "description": "How fast"},
        "total_steps": {"type": "integer", "default": 1000, "minimum": 1},
        "cuda": {"type": ["boolean", "null"], "default": None},
        "layers": {"type": "array", "default": [64, 64]},
        "wandb_project": {"type": "string", "default": "mosaic"},
    }
}
CONTROLS = [control for group in controls_of(SCHEMA, "ppo").values() for control in group]


def send(console: Console, **fields: str) -> Any:
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
    browser = console.browser()
    token = token_of(browser.cookies["mosaic_session_7420"])
    return browser.post("/train", content=urlencode({**fields, "form_token": token}), headers=headers)


def test_every_setting_but_those_of_the_platform_is_offered_the_length_first() -> None:
    groups = controls_of(SCHEMA, "ppo")

    assert ["total_steps", "lr", "cuda", "layers"] == [control.name for control in groups["Training"]]
    assert ["wandb_project"] == [control.name for control in groups["Weights & Biases"]]
    lr = groups["Training"][1]
    assert ("number", "0.001", "0 … 1", "How fast") == (lr.kind, lr.default, lr.range, lr.help)


def test_only_what_differs_from_the_default_is_asked_for() -> None:
    values = {"lr": "1e-3", "total_steps": "1e5", "cuda": "true", "layers": "[32]", "wandb_project": "mosaic"}

    filled, config = read_controls(CONTROLS, values)

    assert {"lr": 0.001, "total_steps": 100_000, "cuda": True, "layers": [32]} == config
    assert not any(control.fault for control in filled)


@pytest.mark.parametrize(
    ("name", "text"), [("lr", "fast"), ("total_steps", "1.5"), ("cuda", "yes"), ("layers", "[1,"), ("lr", EVIL)]
)
def test_what_cannot_be_a_value_is_said_beside_it(name: str, text: str) -> None:
    filled, config = read_controls(CONTROLS, {name: text})

    assert [name] == [control.name for control in filled if control.fault]
    assert {} == config


def test_faults_of_the_platform_find_their_fields() -> None:
    controls = [Control("lr", "number"), Control("algo_params.gamma", "number")]
    faults = ["config: lr: must be at most 1", "config: algo_params.gamma: must be a number", "team 'x' is unknown"]

    marked, left = with_faults(controls, faults)

    assert ["must be at most 1", "must be a number"] == [control.fault for control in marked]
    assert faults[2:] == left


@pytest.mark.parametrize(("text", "seeds"), [("", []), ("7", [7]), ("1,3", [1, 3]), ("1..3, 9", [1, 2, 3, 9])])
def test_seeds_are_written_as_in_the_command(text: str, seeds: list[int]) -> None:
    assert seeds == read_seeds(text)


@pytest.mark.parametrize("text", ["x", "1..y", "-1", "1..100000"])
def test_what_are_no_seeds_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"seed|runs"):
        read_seeds(text)


def test_the_yaml_is_read_as_the_same_submission() -> None:
    from mosaic.cli.yaml_values import load

    body = {"worker": "toy", "config": {"a b": 'x: "y"', "n": None, "deep": {"l": [1, 2]}}, "seed": [1, 2]}

    assert body == load("form", as_yaml(body))


def test_the_page_shows_the_settings_of_a_worker_nobody_saw_before(console: Console) -> None:
    page = console.browser().get("/train").text

    assert 'name="total_steps"' in page
    assert 'placeholder="1000"' in page
    assert "A pole stands on a cart" in page
    assert 'name="run_id"' not in page


def test_a_dry_run_says_what_would_happen_and_starts_nothing(console: Console) -> None:
    page = send(console, worker="toy", total_steps="5000", seeds="1..3", do="dry")

    assert (200, {}) == (page.status_code, console.platform.runs)
    assert "it would be accepted" in page.text
    assert "total_steps: 5000" in page.text


def test_a_form_starts_a_run_and_shows_it(console: Console) -> None:
    answer = send(console, worker="toy", total_steps="5000", name="mine", labels="a=b", do="start", key="k1")

    assert (303, "/runs/run-1") == (answer.status_code, answer.headers["location"])
    (asked,) = console.platform.asked
    assert ({"env_id": "CartPole-v1", "total_steps": 5000}, "mine", {"a": "b"}) == (
        dict(asked.config), asked.name, dict(asked.labels),
    )  # fmt: skip
    assert ["k1"] == console.platform.keys


def test_a_faulty_form_starts_nothing_and_is_shown_again(console: Console) -> None:
    answer = send(console, worker="toy", total_steps=EVIL, name="kept", labels="nope", seeds="x", do="start")

    assert (400, {}) == (answer.status_code, console.platform.runs)
    assert 3 == answer.text.count('class="fault"')
    assert 'value="kept"' in answer.text
    assert EVIL not in answer.text


def test_a_clone_is_filled_in_as_the_run_was_asked_for(console: Console) -> None:
    console.platform.add("r1", name="old", config={"env_id": "Taxi-v4", "total_steps": 77}, labels={"study": "x"})

    page = console.browser().get("/train", params={"like": "r1"}).text

    for filled in ('value="77"', 'value="old"', 'value="study=x"', "Taxi-v4"):
        assert filled in page


def test_somebody_elses_page_cannot_start_a_run(console: Console) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "cross-site"}

    answer = console.browser().post("/train", content="worker=toy&do=start", headers=headers)

    assert (403, {}) == (answer.status_code, console.platform.runs)
