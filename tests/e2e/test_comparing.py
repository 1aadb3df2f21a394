"""The page about comparing runs, followed on a machine of its own: two settings, five seeds each, really trained."""

from __future__ import annotations

import csv
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.statistics import iqm
from tests.stack.embedded import Machine
from tests.stack.environment import install_reference
from tests.stack.runs import wait_for_manifest

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "compare-runs.md").read_text(encoding="utf-8")
#: Long enough for a dozen episodes.
STEPS, HALF = "1000", "500"


def typed_on_the_page() -> list[list[str]]:
    """Return the words of each command of the page, with fewer steps to train."""
    lines = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
    short = [line.replace("--steps 20000", f"--steps {STEPS}").replace("--at 10000", f"--at {HALF}") for line in lines]
    assert all(line.startswith("mosaic ") for line in short)
    return [shlex.split(line)[1:] for line in short]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine on which the platform is up with the reference worker."""
    machine = Machine(tmp_path_factory.mktemp("machine"))
    install_reference(machine.home)
    machine.up()
    yield machine
    machine.platform.stop()


@pytest.fixture(scope="module")
def trained(stack: Machine) -> Machine:
    """The machine after everything of the page that comes before the first comparison."""
    for words in typed_on_the_page():
        if words[0] != "compare":
            small = ("--cpus", "0.1", "--memory-mb", "16") if words[0] == "submit" else ()
            typed = stack.type(*words, *small)
            assert 0 == typed.exit_code, typed.output + typed.errors
    return stack


@pytest.mark.parametrize("words", [words for words in typed_on_the_page() if words[0] == "compare"], ids=" ".join)
def test_every_comparison_of_the_page_has_two_arms_of_five(trained: Machine, words: list[str]) -> None:
    typed = trained.type(*words)

    assert (0, "") == (typed.exit_code, typed.errors)
    if "--json" in words:
        assert [5, 5] == [arm["score"]["n"] for arm in typed.document["arms"]]
    elif "--csv" in words:
        assert ["5", "5"] == [row["n"] for row in csv.DictReader(io.StringIO(typed.output))]
    else:
        assert 2 == len(re.findall(r"^\S.* 5 +1\.\.5 ", typed.output, re.MULTILINE)), typed.output
        assert "left out" not in typed.output


def test_the_numbers_are_those_of_the_manifests(trained: Machine) -> None:
    with trained.connect() as mosaic:
        runs = mosaic.runs(name="lr-0.5")
        means = [_mean_return(wait_for_manifest(mosaic, run.run_id).content) for run in runs]

    compared = trained.type("compare", "lr-0.5", "--json").document["arms"][0]

    assert sorted(means) == sorted(one["score"] for one in compared["members"])
    assert pytest.approx(iqm(means)) == compared["score"]["value"]
    assert compared["score"]["low"] <= compared["score"]["value"] <= compared["score"]["high"]


def test_a_seed_that_does_not_end_is_named(trained: Machine) -> None:
    endless = ("--set", "learning_rate=0.5", "--set", "step_delay_s=0.05", "--env", "CartPole-v1", "--steps", "1e6")
    typed = trained.type("submit", "reference", *endless, "--seed", "6", "--name", "slow", "--json")
    run_id = typed.document[0]["run_id"]

    compared = trained.type("compare", "lr-0.5", "slow", "--by", "learning_rate")
    trained.type("cancel", run_id)

    assert 0 == compared.exit_code, compared.errors
    assert re.search(rf"seed 6 \({run_id[-8:]}\) left out: not ended \(\w+\)", compared.output), compared.output


def test_the_example_in_python_prints_what_the_command_does(trained: Machine) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    environment = {**os.environ, "MOSAIC_HOME": str(trained.home)}

    done = subprocess.run([sys.executable, "-c", example], env=environment, capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stderr
    assert {"learning_rate=0.05", "learning_rate=0.5"} == {line.split()[0] for line in done.stdout.splitlines()[:2]}
    assert 2 == done.stdout.count("Estimate(")


def _mean_return(manifest: Any) -> float:
    return float(manifest["episodes"]["mean_return"])
