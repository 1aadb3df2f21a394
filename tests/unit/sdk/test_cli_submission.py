"""What ``mosaic submit`` takes from files and flags: every fault is ours, and all are told at once."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from mosaic.cli import plan, run_file
from mosaic.cli.app import app
from mosaic.cli.options import read_seeds, read_values
from mosaic.cli.run_file import read_run_file
from mosaic.cli.submit import _rehearse
from mosaic.client import Mosaic, Resources, RunSpec
from mosaic.client.checks import checked, faults_of
from mosaic.client.written import submission
from mosaic.errors import BadInput

GOOD = RunSpec("reference")


def faults_in_file(folder: Path, text: str) -> str:
    """Return what is said about a file that holds *text*."""
    path = folder / "run.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        read_run_file(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        pytest.param({"worker": ""}, "'worker' is missing", id="no worker"),
        pytest.param({"worker": 3}, "worker must be text, not 3; write it in quotes", id="a number for a name"),
        pytest.param({"name": "\ud800"}, "name holds characters that are no text", id="half a character"),
        pytest.param({"seed": 2**63}, "seed must lie between", id="a seed of 64 bits"),
        pytest.param({"seed": True}, "seed must be a whole number, not True", id="a flag for a seed"),
        pytest.param({"seeds": (1, 2.5)}, "a seed must be a whole number, not 2.5", id="half a seed"),
        pytest.param({"seeds": 3}, "seeds must be a list, not 3", id="one number for seeds"),
        pytest.param({"seed": 1, "seeds": (2, 3)}, "ask for a seed or for seeds, not for both", id="both"),
        pytest.param({"max_retries": 10**12}, "max_retries must lie between 0 and 2147483647", id="retries"),
        pytest.param({"max_wall": float("inf")}, "max_wall must lie between 0 and", id="no end"),
        pytest.param({"max_wall": float("nan")}, "max_wall must lie between 0 and", id="not a time"),
        pytest.param({"hang_limit": -1}, "hang_limit must lie between 0 and", id="negative time"),
        pytest.param({"labels": {"lr": 0.1}}, "labels.lr must be text, not 0.1; write it in quotes", id="label"),
        pytest.param({"labels": {1: "a"}}, "key 1 of labels must be text", id="key of a label"),
        pytest.param({"labels": ["a"]}, "labels must hold keys and values, not a list", id="a list of labels"),
        pytest.param({"resources": Resources(gpus=-1)}, "gpus must lie between 0 and", id="negative GPUs"),
        pytest.param({"resources": Resources(gpus=1.5)}, "gpus must be a whole number, not 1.5", id="half GPUs"),
        pytest.param({"resources": Resources(cpus="2")}, "cpus must be a number, not '2'", id="text for CPUs"),
        pytest.param({"config": {"lr": float("nan")}}, "config.lr must be a finite number, not nan", id="NaN"),
        pytest.param({"config": {"a": [{1: 2}]}}, "key 1 of config.a[0] must be text", id="a key deep down"),
        pytest.param({"config": {"a": {1, 2}}}, "config.a is a set, which JSON does not know", id="a set"),
        pytest.param({"config": 3}, "config must hold keys and values, not 3", id="a number for a config"),
        pytest.param({"not_before": datetime(2030, 1, 1)}, "not_before has no time zone", id="no zone"),
        pytest.param({"not_before": "soon"}, "not_before must be a time such as", id="no time"),
    ],
)
def test_what_cannot_be_sent_is_said(changed: dict[str, Any], fault: str) -> None:
    seeds = changed.pop("seeds", ())
    asked = replace(GOOD, **changed)
    told = faults_of(asked, seeds=seeds)

    assert [] != [one for one in told if one.startswith(fault)], told
    with pytest.raises(BadInput):
        checked(asked, seeds=seeds)


def test_all_faults_of_a_submission_are_told_at_once() -> None:
    asked = replace(GOOD, worker=1, labels={"a": 1}, max_retries=10**12, resources=Resources(gpus=-1, cpus=-1))

    assert 5 == len(faults_of(asked))


def test_a_submission_without_faults_is_sent() -> None:
    moment = datetime(2030, 1, 31, 12, tzinfo=timezone.utc)
    config = {"lr": 1e-3, "sizes": [64, 64], "nothing": None, "on": True, "deep": {"a": {"b": "ü"}}}
    asked = replace(GOOD, config=config, priority="high", max_wall=90, labels={"a": "b"}, not_before=moment)

    sent = submission(checked(asked, seeds=(1, 2)), (1, 2))

    assert [] == faults_of(asked, seeds=(1, 2))
    assert ([1, 2], "high", 90.0) == (sent["seeds"], sent["priority"], sent["max_wall_s"])


def test_a_config_without_an_end_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    laughs: list[Any] = ["ha"]
    for _ in range(30):
        laughs = [laughs] * 10

    for config in ({"a": circle}, {"a": laughs}):
        assert "more than" in " ".join(faults_of(replace(GOOD, config=config)))


def test_a_file_may_name_a_range_of_seeds_and_a_time(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(
        "worker: reference\nseeds: 1..3\nnot_before: 2030-01-31T12:00:00Z\nconfig: {lr: 1e-3, day: 2026-01-31}\n"
    )

    read = read_run_file(path)

    assert (1, 2, 3) == read.seeds
    assert datetime(2030, 1, 31, 12, tzinfo=timezone.utc) == read.spec.not_before
    assert {"lr": 1e-3, "day": "2026-01-31"} == read.spec.config


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param(
            "worker: a\nlabels: {lr: 0.1}\n3: x\nseeds: one\nresources: {gpu: 1}\n",
            ["labels.lr must be text", "3 is not known", "'one' is not a seed", "did you mean 'gpus'"],
            id="several faults of several kinds",
        ),
        pytest.param("worker:\n", ["'worker' is missing"], id="an empty worker"),
        pytest.param("worker: a\nresources: 3\n", ["resources: must hold keys"], id="a number of resources"),
        pytest.param("a: !!int x\n", ["is neither YAML nor JSON"], id="a tag that does not fit"),
        pytest.param("a: &a [*a]\nworker: x\nconfig: {c: *a}\n", ["'a' is not known", "more than"], id="a circle"),
    ],
)
def test_every_fault_of_a_file_is_told(tmp_path: Path, text: str, faults: list[str]) -> None:
    told = faults_in_file(tmp_path, text)

    assert [] == [fault for fault in faults if fault not in told], told


KEYS = (
    st.sampled_from([*RunSpec.__dataclass_fields__, *(key.name for key in run_file.KEYS), "wroker", "lr"])
    | st.integers()
    | st.text(max_size=5)
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.dates() | st.datetimes()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))


@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_any_file_is_a_submission_or_bad_input(tmp_path_factory: pytest.TempPathFactory, data: dict[Any, Any]) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(yaml.safe_dump({"worker": "reference", **data}), encoding="utf-8")

    _must_be_sent_or_refused(path)


@given(
    st.text(alphabet=st.sampled_from("worker:config seeds\n-[]{}&*a!!int!!timestamp?\"'01.e+,#|>%@=~<"), max_size=60)
)
def test_any_text_is_a_submission_or_bad_input(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text("worker: reference\n" + text, encoding="utf-8")

    _must_be_sent_or_refused(path)


def _must_be_sent_or_refused(path: Path) -> None:
    try:
        read = read_run_file(path)
    except BadInput:
        return
    asked = checked(read.spec, seeds=read.seeds, idempotency_key=read.idempotency_key)
    json.dumps(submission(asked, read.seeds)).encode()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("5..1", r"runs backwards; write 1\.\.5"),
        ("1..100000000000", "too much at once"),
        ("9223372036854775808", "too large"),
        (",", "is not a seed"),
        ("1,,2", "is not a seed"),
    ],
)
def test_seeds_that_nobody_means_are_refused(text: str, fault: str) -> None:
    with pytest.raises(BadInput, match=fault):
        read_seeds(text)


def test_a_date_is_text_and_every_value_that_cannot_be_read_is_named() -> None:
    assert {"day": "2026-01-31", "at": "2026-01-31 12:00:00"} == read_values(
        "--set", ["day=2026-01-31", "at=2026-01-31 12:00:00"]
    )
    with pytest.raises(BadInput) as caught:
        read_values("--set", ["a={", "b=[", "c=1"])
    assert 2 == len(caught.value.faults)


@pytest.mark.parametrize(
    ("words", "faults"),
    [
        pytest.param(("--gpus", "1.5"), ["--gpus: 1.5 is neither a whole number nor a fraction"], id="one and a half"),
        pytest.param(("--gpus", "-1"), ["--gpus: -1 is neither"], id="fewer than none"),
        pytest.param(
            ("--gpus", "1.5", "--seed", "5..1", "--max-wall", "soon", "--label", "x", "--set", "y"),
            ["--gpus: ", "--seed: ", "--max-wall: ", "--label: ", "--set: "],
            id="all at once",
        ),
        pytest.param(("--seed", ""), ["--seed: '' is not a seed; write 7"], id="an empty seed"),
        pytest.param(("--env", "", "--name", ""), ["--env: is empty", "--name: is empty"], id="empty texts"),
        pytest.param(("--steps", "0"), ["--steps: '0' is no number of steps"], id="no steps"),
        pytest.param(("--max-wall", "0s"), ["--max-wall: '0s' is no time at all"], id="no time"),
        pytest.param(("--config", "nowhere.yaml"), ["nowhere.yaml: cannot be read"], id="no such file"),
    ],
)
def test_flags_with_faults_are_refused_before_anybody_is_asked(words: tuple[str, ...], faults: list[str]) -> None:
    result = CliRunner().invoke(app, ["submit", "reference", *words])

    assert isinstance(result.exception, BadInput)
    assert [] == [fault for fault in faults if fault not in str(result.exception)]


def test_a_dry_run_that_the_worker_refuses_does_not_say_that_it_would_be_accepted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuses(*_: Any) -> None:
        raise BadInput("reference refuses such a run", ["env_id: there is no environment 'CartPol-v1' here"])

    monkeypatch.setattr(plan, "plan_of", refuses)
    platform = Mock(spec=Mosaic)
    platform.predict.return_value = ["1 run of worker reference 1.0 would be accepted"]
    platform.worker.return_value.config_schema = {}

    with pytest.raises(BadInput):
        _rehearse(platform, run_file.RunFile(GOOD), as_json=False)

    assert "would be accepted" not in capsys.readouterr().out
