"""What a person asks for, as it is typed: seeds, names, runs that continue others, and wrong command lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stack.embedded import Machine
from tests.stack.runs import undisturbed_result, wait_for_manifest

SMALL = ("--cpus", "0.1", "--memory-mb", "16")
ENDLESS = ("--set", "episodes=100000", "--set", "pause_ms=50")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine on which the platform is up."""
    machine = Machine(tmp_path_factory.mktemp("machine"))
    machine.up()
    yield machine
    machine.platform.stop()


def submitted(stack: Machine, *words: str) -> str:
    """Submit with JSON output and return the run's id."""
    typed = stack.type("submit", "drill", *SMALL, *words, "--json")
    assert 0 == typed.exit_code, typed.errors
    run_id: str = typed.document[0]["run_id"]
    return run_id


def test_a_run_without_a_seed_tells_the_one_that_was_drawn(stack: Machine) -> None:
    typed = stack.type("submit", "drill", *SMALL, "--follow")

    run_id = typed.output.split()[2]
    with stack.connect() as mosaic:
        seed = mosaic.run(run_id).run.spec.seed
        manifest = wait_for_manifest(mosaic, run_id).content
    assert seed is not None
    assert f"seed {seed}" in typed.output
    assert seed == manifest["seed"]
    assert undisturbed_result(seed=seed, episodes=3, steps=5) == manifest["result"]["result"]


def test_runs_of_one_submit_have_the_same_settings_and_each_its_own_work(stack: Machine) -> None:
    typed = stack.type("submit", "drill", "--seed", "1..2", *SMALL, "--json", "--follow")

    runs = typed.document
    assert [1, 2] == [len({run[name] for run in runs}) for name in ("config_digest", "run_digest")]
    with stack.connect() as mosaic:
        manifests = [wait_for_manifest(mosaic, run["run_id"]).content for run in runs]
    for name in ("config_digest", "run_digest"):
        assert [run[name] for run in runs] == [manifest[name] for manifest in manifests]
        assert runs[0][name] in stack.type("show", runs[0]["run_id"]).output


def test_a_run_goes_on_where_another_ended(stack: Machine) -> None:
    run_id = submitted(stack, "--set", "episodes=4", "--set", "checkpoint_every=2", "--name", "long", "--seed", "7")
    with stack.connect() as mosaic:
        mosaic.wait(run_id)

    typed = stack.type("submit", "--continue", "long", "--set", "episodes=6", "--follow")

    assert 0 == typed.exit_code, typed.errors
    with stack.connect() as mosaic:
        went_on = mosaic.run("long")
        manifest = wait_for_manifest(mosaic, went_on.run.run_id).content
    assert (run_id, 7) == (went_on.run.spec.continues, went_on.run.spec.seed)
    assert f"../{run_id}/checkpoints/episode-4.json" == went_on.attempts[0].resumed_from
    assert undisturbed_result(seed=7, episodes=6, steps=5) == manifest["result"]["result"]
    assert run_id == manifest["continues"]
    assert run_id in stack.type("show", "long").output


def test_a_run_that_left_no_checkpoint_is_not_continued(stack: Machine) -> None:
    run_id = submitted(stack, "--set", "episodes=1")
    with stack.connect() as mosaic:
        mosaic.wait(run_id)

    typed = stack.type("submit", "--continue", run_id, "--set", "episodes=2")

    assert 4 == typed.exit_code
    assert "saved no checkpoint" in typed.errors


def test_a_name_means_its_run_or_all_of_its_runs(stack: Machine) -> None:
    typed = stack.type("submit", "drill", *SMALL, *ENDLESS, "--seed", "1..2", "--name", "pair", "--json")
    first, second = (run["run_id"] for run in typed.document)

    shown = stack.type("show", "pair")
    assert 2 == shown.exit_code
    assert [True, True] == [run_id in shown.errors for run_id in (first, second)]
    assert 2 == stack.type("retry", "pair").exit_code
    cancelled = stack.type("cancel", "pair", "--json").document
    assert [first, second] == [run["run_id"] for run in cancelled]
    assert 11 == stack.type("follow", "pair").exit_code
    listed = stack.type("runs", "--name", "pair", "--json").document
    assert {first, second} == {run["run_id"] for run in listed}


def test_a_name_that_a_terminal_would_obey_is_refused(stack: Machine) -> None:
    typed = stack.type("submit", "drill", "--name", "\x1b[2J", "--label", f"a={'x' * 300}")

    assert 2 == typed.exit_code
    assert [True, True] == [word in typed.errors for word in ("name holds control characters", "300 characters")]


@pytest.mark.parametrize(
    "words", [("submit", "--nope"), ("runs", "--limit", "x"), ("nosuch",), ("show",), ("submit",)], ids=str
)
def test_a_wrong_command_line_is_told_as_json_to_who_asks_for_it(tmp_path: Path, words: tuple[str, ...]) -> None:
    typed = Machine(tmp_path).type(*words, "--json")

    assert (2, "") == (typed.exit_code, typed.output)
    assert "bad_input" == json.loads(typed.errors)["error"]["code"]
