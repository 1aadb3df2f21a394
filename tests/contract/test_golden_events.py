"""The wire, frozen: a line that was ever written must be read the same way for ever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mosaic.events import KINDS, LogLine, Violation, read_line
from tests.written import write_line

GOLDEN = Path(__file__).parents[1] / "golden" / "events"
CASES = [
    pytest.param(file.stem, case, id=f"{file.stem}-{number}")
    for file in sorted(GOLDEN.glob("*.json"))
    for number, case in enumerate(json.loads(file.read_text(encoding="utf-8")))
]


def test_every_kind_is_frozen() -> None:
    assert set(KINDS) == {file.stem for file in GOLDEN.glob("*.json")}


@pytest.mark.parametrize(("kind", "case"), CASES)
def test_an_old_line_still_means_what_it_meant(kind: str, case: dict[str, Any]) -> None:
    event = read_line(case["line"].encode())

    assert not isinstance(event, LogLine | Violation)
    assert kind == event.event
    assert case["parsed"] == json.loads(write_line(event))


@pytest.mark.parametrize(("kind", "case"), CASES)
def test_the_parsed_form_is_itself_a_line_of_that_meaning(kind: str, case: dict[str, Any]) -> None:
    event = read_line(json.dumps(case["parsed"]).encode())

    assert not isinstance(event, LogLine | Violation)
    assert kind == event.event
    assert case["parsed"] == json.loads(write_line(event))
