"""What the command line prints: strict JSON, nothing a worker wrote as markup or as a command to the terminal."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import pytest
from rich.console import Console

from mosaic.cli.plot import Line, plot
from mosaic.cli.render import document, shown
from mosaic.cli.settings import settings_table, takes
from mosaic.client import Team, TeamTerms
from mosaic.client.reading import team, team_request


def printed(markup: object, *, terminal: bool = False, width: int = 80) -> str:
    """Return what a console of that kind makes of *markup*."""
    file = io.StringIO()
    Console(file=file, force_terminal=terminal, color_system=None, width=width, highlight=False).print(markup)
    return file.getvalue()


TERMINAL = Console(file=io.StringIO(), force_terminal=True)
PIPE = Console(file=io.StringIO(), force_terminal=False)


@pytest.mark.parametrize("name", ["loss[actor]", "a[/b]", "[red]x[/red]", "a[/]", "tail\\", "[link=http://x]y[/link]"])
def test_names_are_drawn_as_they_are_written(name: str) -> None:
    drawn = printed(plot([Line(name, [0, 1], [1.0, 2.0])], title=name, unit=name, width=40, height=2))

    assert 3 == drawn.count(name.rstrip("\\")), drawn


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        pytest.param("\x1b]0;owned\x07", "\\x1b]0;owned\\x07", id="a title of the window"),
        pytest.param("\x1b[2J\x1b[H", "\\x1b[2J\\x1b[H", id="an empty screen"),
        pytest.param("\x9b2J", "\\x9b2J", id="the same in one character"),
        pytest.param("a\x08b\x00", "a\\x08b\\x00", id="a backspace and a zero"),
        pytest.param("\x1b[1;31mred\x1b[0m", "red", id="colours"),
        pytest.param("tab\tand ü", "tab\tand ü", id="ordinary text"),
    ],
)
def test_text_cannot_control_a_terminal(text: str, seen: str) -> None:
    assert seen == shown(text, TERMINAL).replace("\\[", "[")
    assert text == shown(text, PIPE).replace("\\[", "["), "a pipe gets what the worker wrote"


@dataclass(frozen=True)
class Told:
    """Values that JSON has no words for."""

    value: float
    at: datetime
    where: Path


def test_a_document_is_strict_json(capsys: pytest.CaptureFixture[str]) -> None:
    document(
        {
            "a": [float("nan"), float("-inf"), 1.5],
            "b": Told(float("inf"), datetime(2030, 1, 1, tzinfo=timezone.utc), Path("x")),
        }
    )

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    read = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert {
        "a": ["NaN", "-Infinity", 1.5],
        "b": {"value": "Infinity", "at": "2030-01-01T00:00:00+00:00", "where": "x"},
    } == read


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 10**9}, "integer ≥ 1 ≤ 1,000,000,000"),
        ({"type": ["number", "null"], "exclusiveMinimum": 0}, "number or null > 0"),
        ({"enum": ["a", None, 3]}, "a, None, 3"),
        ({"enum": list(range(20))}, "0, 1, 2, 3, 4, 5, 6, 7 and 12 more"),
        ({"anyOf": [{"type": "string"}, {"enum": [1]}]}, "string or 1"),
        ({"type": "array", "items": {"type": "integer"}}, "array of integer"),
        ({}, "anything"),
    ],
)
def test_a_setting_says_what_it_takes(setting: dict[str, object], words: str) -> None:
    assert words == takes(setting)


def test_the_settings_of_a_worker_fit_into_80_columns() -> None:
    schema = {
        "required": ["target"],
        "properties": {
            "run_id": {"type": "string"},
            "seed": {"type": "integer"},
            "target": {"type": "string", "description": "What to reach [bold]"},
            "epsilon_decay_fraction": {"type": "number", "default": 0.5, "description": "Part of the run " * 8},
            "sizes": {"type": "array", "items": {"type": "integer"}, "default": [64] * 20},
        },
    }

    drawn = printed(settings_table(schema))

    assert max(map(len, drawn.splitlines())) <= 80
    assert "run_id" not in drawn
    assert [] == [word for word in ("must be set", "epsilon_decay_fraction", "[bold]", "0.5") if word not in drawn]


def test_only_the_terms_that_are_given_are_sent() -> None:
    sent = team_request("vision", TeamTerms(gpus=4, weight=2.0))

    assert (2.0, 4) == (sent.weight, sent.quota.gpus)
    assert not sent.HasField("max_running")
    assert not sent.quota.HasField("cpus")
    assert Team("vision", 2.0, 4, 0.0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0) == team(sent)
