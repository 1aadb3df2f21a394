"""What ``mosaic runs`` and ``mosaic show`` print: in windows of every width, and into pipes."""

from __future__ import annotations

import io
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from mosaic.cli import render
from mosaic.cli.console import _Out
from mosaic.cli.runs import _none
from mosaic.client import Run, RunDetail, RunSpec, Summary
from mosaic.lifecycle import RunState
from mosaic.wire.v1 import telemetry_pb2
from mosaic_console.adapters import messages

WIDTHS = [200, 100, 80, 60, 40, 30]


def a_run(seed: int, *, state: RunState = RunState.SUCCEEDED, reason: str = "", **spec: Any) -> Run:
    """Return a run as the platform tells of it."""
    config = {"env_id": "CartPole-v1", "algo": "ppo"}
    now = datetime.now(timezone.utc)
    asked = RunSpec(**{"worker": "cleanrl", "seed": seed, "team": "default", "config": config, **spec})
    return Run(f"01M7K9EGFBN1PBVB4AF7TNTME{seed}", asked, state, now, now, reason=reason)


def numbers_of(*runs: Run) -> dict[str, Summary]:
    told = [telemetry_pb2.RunSummary(run_id=run.run_id, last_step=100_353) for run in runs]
    for summary in told:
        summary.has_returns, summary.mean_return = True, 494.5
    return {summary.run_id: messages.summary(summary) for summary in told}


def drawn(runs: list[Run], *, width: int | None) -> list[str]:
    """Return the lines of the table in a terminal of that width, or in a pipe."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system=None, width=width) if width else _Out(file=file)
    console.print(render.run_table(runs, numbers_of(*runs), width=width))
    return file.getvalue().splitlines()


CROWDED = [a_run(seed, name="n" * 50, reason="r" * 90, state=RunState.FAILED) for seed in (1, 2)]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_run_is_one_line_that_fits_with_its_id_and_its_numbers_whole(width: int) -> None:
    heading, *lines = drawn(CROWDED, width=width)

    assert max(map(len, [heading, *lines])) <= width
    for run, line in zip(CROWDED, lines, strict=False):
        assert run.run_id.endswith(line.split()[0]), "show finds it by what is printed"
        assert 8 == len(line.split()[0])
        assert "failed" in line
        for title, number in (("step", "100,353"), ("return", "494.5"), ("seed", str(run.spec.seed))):
            assert (title in heading.split()) == (number in line.split())


def test_columns_for_which_there_is_no_room_are_named() -> None:
    *_, said = " ".join(drawn(CROWDED, width=60)[2:]).rpartition("no room for ")

    assert said.startswith("  no room for team, age") or "team, age" in "".join(drawn(CROWDED, width=60)[3:])
    assert "no room" not in "".join(drawn(CROWDED, width=200))


def test_a_pipe_gets_whole_ids_and_whole_reasons_in_one_line_each() -> None:
    _, *lines = drawn(CROWDED, width=None)

    assert [[run.run_id, "cleanrl", "CartPole-v1", "ppo", "n" * 50] for run in CROWDED] == [
        line.split()[:5] for line in lines
    ]
    assert all(line.split()[-1] == "r" * 90 for line in lines)


def test_columns_in_which_nothing_stands_are_left_out() -> None:
    heading, line = drawn([a_run(1, config={})], width=80)

    assert ["run", "worker", "seed", "team", "state", "step", "return", "age"] == heading.split()
    assert ["F7TNTME1", "cleanrl", "1", "default", "succeeded", "100,353", "494.5", "0s"] == line.split()


def test_the_line_that_says_why_is_shown_in_tables() -> None:
    run = a_run(1, state=RunState.FAILED, reason="\nValueError: no such environment\nWarning: an old line")

    assert "ValueError: no such environment" in drawn([run], width=200)[1]
    assert "old line" not in drawn([run], width=200)[1]


def test_show_tells_labels_the_directory_and_the_whole_reason(capsys: pytest.CaptureFixture[str]) -> None:
    run = a_run(1, reason="the disk is full\nwhile it wrote\n  a checkpoint", labels={"paper": "a", "by": "ada"})

    render.detail(RunDetail(run, (), ()), None, Path("/home/ada/.mosaic/runs/1"))

    said = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ["labels", "by=ada, paper=a"] in said
    assert ["directory", "/home/ada/.mosaic/runs/1"] in said
    at = said.index(["reason", "the disk is full"])
    assert [["while", "it wrote"], ["a", "checkpoint"]] == said[at + 1 : at + 3]


def test_who_asked_for_some_runs_is_told_that_none_of_them_is_there() -> None:
    assert "no runs yet; `mosaic submit reference --follow` makes one" == _none(state=None, team="")
    assert "no run fits --state failed --state lost --team vision; `mosaic runs` lists them all" == (
        _none(state=["failed", "lost"], team="vision", label=[])
    )
