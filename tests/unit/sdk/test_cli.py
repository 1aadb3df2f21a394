"""How the command line reads what people type, and what it draws."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from mosaic.cli.options import assign, read_count, read_limit, read_pairs, read_seeds, read_span, read_values
from mosaic.cli.plot import Line, plot
from mosaic.cli.run_file import read_run_file
from mosaic.client import Resources, RunSpec
from mosaic.errors import BadInput


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("7", (7,)), ("1,2, 3", (1, 2, 3)), ("1..4", (1, 2, 3, 4)), ("1..2,9", (1, 2, 9)), ("-1", (-1,))],
)
def test_seeds_can_be_one_several_or_a_range(text: str, seeds: tuple[int, ...]) -> None:
    assert seeds == read_seeds(text)


@pytest.mark.parametrize("text", ["", "one", "1..x", "1.5"])
def test_what_is_no_seed_is_said(text: str) -> None:
    with pytest.raises(BadInput, match=r"write 7, 1,2,3 or 1\.\.5"):
        read_seeds(text)


@pytest.mark.parametrize(("text", "seconds"), [("", 0), ("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200)])
def test_times_carry_their_unit(text: str, seconds: float) -> None:
    assert seconds == read_span("--max-wall", text)


@pytest.mark.parametrize("text", ["0", "0s", "0.0m", "", "soon"])
def test_a_time_limit_of_no_time_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="--max-wall"):
        read_limit("--max-wall", text)


@pytest.mark.parametrize(
    ("text", "steps"), [("1", 1), ("100000", 100_000), ("100_000", 100_000), ("1e5", 100_000), ("2.5e3", 2500)]
)
def test_steps_are_written_in_several_ways(text: str, steps: int) -> None:
    read = read_count("--steps", text)

    assert (steps, int) == (read, type(read))


@pytest.mark.parametrize("text", ["0", "-5", "", "many", "1.5", "1e-3", "1e999", "1e99", "nan", "true", "٣"])
def test_what_is_no_number_of_steps_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="write 100000, 100_000 or 1e5"):
        read_count("--steps", text)


def test_dots_lead_into_settings_and_leave_what_stands_beside() -> None:
    config = {"algo_params": {"gamma": 0.9}, "lr": 1}

    assigned = assign("--set", config, {"algo_params.learning_rate": 1e-3, "a.b.c": 1, "lr": 2})

    assert {"algo_params": {"gamma": 0.9, "learning_rate": 1e-3}, "a": {"b": {"c": 1}}, "lr": 2} == assigned
    assert {"algo_params": {"gamma": 0.9}, "lr": 1} == config, "what was given stays as it was"


def test_every_dot_that_leads_nowhere_is_said() -> None:
    with pytest.raises(BadInput) as caught:
        assign("--set", {"lr": 1}, {"lr.start": 2, "a..b": 3})

    assert ["'lr.start' leads into lr, which is 1", "'a..b' lacks a name"] == [
        words for words in ("'lr.start' leads into lr, which is 1", "'a..b' lacks a name") if words in str(caught.value)
    ]


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

    read = read_run_file(path)

    assert ("reference", {"env_id": "CartPole-v1"}, (1, 2)) == (read.spec.worker, read.spec.config, read.seeds)
    assert Resources(gpus=1) == read.spec.resources


def test_a_file_says_what_the_options_say_by_their_names(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(
        "worker: cleanrl\nenv: CartPole-v1\nalgo: PPO\nsteps: 1e5\nseed: 1..3\nmax-wall: 15m\nhang_limit: 90\n"
        "gpus: 0.5\ncpus: 2\nretries: 0\nlabel: {sweep: '7'}\nkey: nightly\nname: baseline\ncontinue: abc\n"
        "config: {algo_params: {gamma: 0.9}}\n"
    )

    read = read_run_file(path)

    assert {"env": "CartPole-v1", "algo": "PPO", "steps": 100_000} == read.common
    assert ((1, 2, 3), "nightly") == (read.seeds, read.idempotency_key)
    assert read.spec == RunSpec(
        "cleanrl",
        {"algo_params": {"gamma": 0.9}},
        name="baseline",
        resources=Resources(cpus=2, gpu_fraction=0.5),
        max_wall=timedelta(minutes=15),
        hang_limit=timedelta(seconds=90),
        max_retries=0,
        labels={"sweep": "7"},
        continues="abc",
    )


def test_the_run_file_that_the_reference_shows_can_be_submitted(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "submission.md").read_text(encoding="utf-8")
    path = tmp_path / "run.yaml"
    path.write_text(page.partition("```yaml\n")[2].partition("```")[0])

    read = read_run_file(path)

    assert ("cleanrl", (1, 2, 3, 4, 5)) == (read.spec.worker, read.seeds)
    assert timedelta(hours=2) == read.spec.max_wall
    assert {"env": "CartPole-v1", "algo": "ppo", "steps": 100_000} == read.common


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("stepps: 5", "'stepps' is not known, did you mean 'steps'?"),
        ("wrong: 5", "those that are known: worker, env, algo, steps, config, seed, name,"),
        ("steps: 0", "steps: '0' is no number of steps"),
        ("max_wall: 0s", "max_wall: '0s' is no time at all"),
        ("seed: ''", "'' is not a seed"),
        ("seed: 1\nseeds: [1, 2]", "'seeds' says again"),
        ("env: 3", "env must be text, not 3"),
        ("gpus: many", "gpus must be a number, not 'many'"),
    ],
)
def test_what_a_file_should_not_say_is_refused_with_what_it_may(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(f"worker: reference\n{text}\n")

    with pytest.raises(BadInput) as caught:
        read_run_file(path)

    assert fault in str(caught.value)


def test_all_faults_of_a_submission_file_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("wroker: reference\nresources: {gpu: 1}\n")

    with pytest.raises(BadInput) as caught:
        read_run_file(path)

    text = str(caught.value)
    assert [] == [word for word in ("did you mean 'worker'", "'worker' is missing", "resources:") if word not in text]


@pytest.mark.parametrize("content", ["- a list", "{", "just words"])
def test_a_file_that_holds_something_else_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(content)

    with pytest.raises(BadInput, match=r"run\.yaml"):
        read_run_file(path)


def test_a_curve_is_drawn_with_its_extremes_on_the_axes() -> None:
    drawn = plot([Line("a", [0, 50, 100], [1.0, 3.0, 2.0])], width=20, height=4, title="return", unit="env steps")

    assert "return" in drawn
    assert [] == [word for word in ("3 ┤", "1 ┤", "100 env steps", "━ a") if word not in drawn]


@pytest.mark.parametrize("ys", [[], [float("nan")], [5.0], [5.0, 5.0]])
def test_odd_curves_do_not_break_the_drawing(ys: list[float]) -> None:
    assert plot([Line("a", list(range(len(ys))), ys)])
