"""``mosaic simulate`` as a person types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from mosaic.errors import BadInput
from mosaic_simulator.command import command


def simulate(*words: str) -> Result:
    return CliRunner().invoke(command, words)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A small trace and its fleet."""
    trace, fleet = str(tmp_path / "trace.jsonl"), str(tmp_path / "fleet.yaml")
    made = simulate(
        "generate", "greedy", "--out", trace, "--fleet-out", fleet, "--runs", "40", "--nodes", "1", "--hours", "2"
    )
    assert 0 == made.exit_code, made.output
    return trace, fleet


def test_a_generated_trace_can_be_played(files: tuple[str, str]) -> None:
    played = simulate(files[0], "--fleet", files[1], "--compare", "FIFO,round-robin")

    assert 0 == played.exit_code, played.output
    for word in ("utilisation", "Jain index", "steps thrown away", "starvation", "mosaic", "fifo", "round-robin"):
        assert word in played.output


def test_json_has_every_policy_and_every_team(files: tuple[str, str]) -> None:
    played = simulate(files[0], "--fleet", files[1], "--compare", "fifo", "--alone", "--json")

    document = json.loads(played.output)
    ours, fifo = document["policies"]
    assert ("mosaic", "fifo") == (ours["policy"], fifo["policy"])
    assert {"vision", "robotics", "language", "games"} == set(ours["teams"]) == set(ours["p95_ratio_to_alone"])


def test_playing_twice_gives_the_same_figures(files: tuple[str, str]) -> None:
    first, second = (json.loads(simulate(files[0], "--fleet", files[1], "--json").output) for _ in range(2))

    assert first["policies"] == second["policies"]


def test_a_kind_of_trace_is_generated_and_played_at_once() -> None:
    played = simulate("steady", "--runs", "20", "--nodes", "1", "--hours", "1", "--compare", "none", "--json")

    assert [20] == [policy["waits"]["runs"] for policy in json.loads(played.output)["policies"]]


def test_the_page_needs_nothing_but_a_browser(files: tuple[str, str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"

    simulate(files[0], "--fleet", files[1], "--html", str(page))

    text = page.read_text()
    assert text.count("<svg") >= 5
    assert "prefers-color-scheme: dark" in text
    assert "http" not in text
    assert "<script" not in text


def test_bad_files_are_bad_input_and_all_their_faults_are_told(tmp_path: Path) -> None:
    trace, fleet = tmp_path / "trace.jsonl", tmp_path / "fleet.yaml"
    trace.write_text("nonsense\n")
    fleet.write_text("teams:\n  vision: 3\n")

    refused = simulate(str(trace), "--fleet", str(fleet), "--compare", "fofi")

    assert isinstance(refused.exception, BadInput)
    assert 2 == refused.exception.exit_code
    text = str(refused.exception)
    for fault in ("trace.jsonl: line 1: not JSON", "fleet.yaml: line 2: teams", "--compare: there is no 'fofi'"):
        assert fault in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("stedy",), "no such kind of trace, did you mean 'steady'?"),
        (("steady", "--compare", "round-robbin"), "did you mean 'round-robin'?"),
        (("generate", "steady", "--out", "/nowhere/trace.jsonl"), "cannot be written"),
    ],
)
def test_a_wrong_word_is_answered_with_what_to_do(words: tuple[str, ...], said: str) -> None:
    assert said in str(simulate(*words).exception)


def test_a_trace_from_a_file_needs_a_fleet(files: tuple[str, str]) -> None:
    assert "`generate --fleet-out` writes one" in str(simulate(files[0]).exception)
