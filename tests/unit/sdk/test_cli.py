"""How the command line reads what people type, and what it draws."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.cli.options import read_pairs, read_seeds, read_span, read_values
from mosaic.cli.plot import Line, plot
from mosaic.cli.submit import read_submission
from mosaic.client import Resources
from mosaic.errors import BadInput


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("", ()), ("7", (7,)), ("1,2, 3", (1, 2, 3)), ("1..4", (1, 2, 3, 4)), ("1..2,9", (1, 2, 9)), ("-1", (-1,))],
)
def test_seeds_can_be_one_several_or_a_range(text: str, seeds: tuple[int, ...]) -> None:
    assert seeds == read_seeds(text)


@pytest.mark.parametrize("text", ["one", "1..x", "1.5"])
def test_what_is_no_seed_is_said(text: str) -> None:
    with pytest.raises(BadInput, match=r"write 7, 1,2,3 or 1\.\.5"):
        read_seeds(text)


@pytest.mark.parametrize(("text", "seconds"), [("", 0), ("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200)])
def test_times_carry_their_unit(text: str, seconds: float) -> None:
    assert seconds == read_span("--max-wall", text)


def test_what_is_no_time_is_said() -> None:
    with pytest.raises(BadInput, match="write 90s, 15m, 2h or 1d"):
        read_span("--max-wall", "soon")


def test_config_values_are_read_as_what_they_look_like() -> None:
    values = read_values("--set", ["lr=1e-3", "steps=10", "on=true", "sizes=[64, 64]", "name=a=b", "note="])

    assert {"lr": 1e-3, "steps": 10, "on": True, "sizes": [64, 64], "name": "a=b", "note": None} == values


def test_every_pair_without_an_equals_sign_is_named() -> None:
    with pytest.raises(BadInput) as caught:
        read_pairs("--label", ["a=1", "b", "c"])

    assert 2 == len(caught.value.faults)


def test_a_submission_can_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("worker: reference\nconfig: {env_id: CartPole-v1}\nseeds: [1, 2]\nresources: {gpus: 1}\n")

    asked = read_submission(path)

    assert ("reference", {"env_id": "CartPole-v1"}, (1, 2)) == (asked.worker, asked.config, asked.seeds)
    assert Resources(gpus=1) == asked.resources


def test_all_faults_of_a_submission_file_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("wroker: reference\nresources: {gpu: 1}\n")

    with pytest.raises(BadInput) as caught:
        read_submission(path)

    text = str(caught.value)
    assert [] == [word for word in ("did you mean 'worker'", "'worker' is missing", "resources:") if word not in text]


@pytest.mark.parametrize("content", ["- a list", "{", "just words"])
def test_a_file_that_holds_something_else_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(content)

    with pytest.raises(BadInput, match=r"run\.yaml"):
        read_submission(path)


def test_a_curve_is_drawn_with_its_extremes_on_the_axes() -> None:
    drawn = plot([Line("a", [0, 50, 100], [1.0, 3.0, 2.0])], width=20, height=4, title="return", unit="env steps")

    assert "return" in drawn
    assert [] == [word for word in ("3 ┤", "1 ┤", "100 env steps", "━ a") if word not in drawn]


@pytest.mark.parametrize("ys", [[], [float("nan")], [5.0], [5.0, 5.0]])
def test_odd_curves_do_not_break_the_drawing(ys: list[float]) -> None:
    assert plot([Line("a", list(range(len(ys))), ys)])
