"""A new event kind takes three files: the how-to page is followed in a copy, and every derived list asked."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mosaic.events import AGENT_KINDS, ENDING_KINDS, FACT_KINDS, KINDS, scan_lines
from mosaic.worker.emitter import TERMINAL_EVENTS, LifecycleEventType

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "add-an-event-kind.md"
EVENTS = Path("sdk/src/mosaic/events")
GOLDEN = Path("tests/golden/events")

_BLOCK = re.compile(r"```(?:python|json)\n(.*?)```", re.DOTALL)

#: Run where the copy is imported first; prints what every list makes of a line of the new kind.
_ASK = """
import json, sys
import generate
from mosaic.agent.telemetry import lines
from mosaic.events import FACT_KINDS, kinds, read_line, scan_lines

line = sys.argv[1].encode()
block = line + b"\\n"
print(json.dumps({
    "event": read_line(line).event,
    "alias": kinds.kind_of("new_phase"),
    "violation": type(read_line(b'{"event":"phase_change"}')).__name__,
    "in_scan": [event.event for _, event in scan_lines([line]).events],
    "is_fact": "phase_change" in FACT_KINDS,
    "concerns_agent": lines.may_concern_agent(block),
    "lifecycle": [found.kind for found in lines.lifecycle_lines(block)],
    "after_forgery_check": lines.reject_forged_events(block, lambda kind, _: b"forged " + kind.encode()).decode(),
    "thinned": lines.may_be_thinned(line),
    "reference": [row for row in generate.events_page() if "phase_change" in row],
}))
"""


@dataclass(frozen=True)
class Recipe:
    """The code blocks of the page."""

    model: str
    row: str
    example: str

    @property
    def line(self) -> str:
        """The frozen line."""
        return str(json.loads(self.example)[0]["line"])


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    return Recipe(*_BLOCK.findall(PAGE.read_text(encoding="utf-8")))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the page touches or what is drawn from it."""
    for folder in (EVENTS, GOLDEN):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "docs").mkdir()
    for part in [*(ROOT / "docs").glob("*.py"), *(ROOT / "docs").glob("*.toml")]:
        shutil.copy(part, tmp_path / "docs")
    return tmp_path


def ask(tree: Path, recipe: Recipe, row: str) -> dict[str, Any]:
    """Follow the page with *row* in *tree*, and return what the lists say there."""
    training, kinds = tree / EVENTS / "training.py", tree / EVENTS / "kinds.py"
    training.write_text(training.read_text() + "\n\n" + recipe.model)
    text = kinds.read_text().replace("import Artifact,", "import PhaseChange, Artifact,")
    kinds.write_text(text.replace("ROWS: tuple[Kind, ...] = (\n", f"ROWS: tuple[Kind, ...] = (\n{row.strip()},\n"))
    (tree / GOLDEN / "phase_change.json").write_text(recipe.example)
    paths = f"{tree / 'docs'}:{tree / 'sdk' / 'src'}"
    asked = subprocess.run(
        [sys.executable, "-c", _ASK, recipe.line],
        env={"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr
    answers: dict[str, Any] = json.loads(asked.stdout)
    return answers


def test_the_page_is_all_it_takes(tree: Path, recipe: Recipe) -> None:
    answers = ask(tree, recipe, recipe.row)

    assert answers["event"] == answers["alias"] == "phase_change"
    assert answers["violation"] == "Violation"
    assert answers["in_scan"] == answers["lifecycle"] == ["phase_change"]
    assert answers["is_fact"]
    assert answers["concerns_agent"], "its name ends unlike every other, and the agent must see it all the same"
    assert answers["after_forgery_check"] == recipe.line + "\n"
    assert not answers["thinned"]
    assert any(row.startswith("| [`phase_change`]") for row in answers["reference"])
    assert "### phase_change" in answers["reference"]


def test_only_the_agent_may_say_a_kind_whose_row_says_so(tree: Path, recipe: Recipe) -> None:
    answers = ask(tree, recipe, "Kind(model=PhaseChange, aliases=('new_phase',), speaker=Speaker.AGENT)")

    assert answers["concerns_agent"]
    assert answers["after_forgery_check"] == "forged phase_change"
    assert not answers["is_fact"]
    assert answers["lifecycle"] == []


def test_a_kind_whose_row_says_so_is_thinned(tree: Path, recipe: Recipe) -> None:
    answers = ask(tree, recipe, "Kind(model=PhaseChange, aliases=('new_phase',), may_be_thinned=True)")

    assert answers["thinned"]
    assert not answers["concerns_agent"]


@pytest.mark.parametrize("kind", sorted(FACT_KINDS))
def test_every_fact_is_read_in_full(kind: str) -> None:
    """The fast scan keeps some kinds by number only; telemetry could make no fact of those."""
    [case, *_] = json.loads((ROOT / GOLDEN / f"{kind}.json").read_text(encoding="utf-8"))

    scan = scan_lines([case["line"].encode()])

    assert [kind] == [event.event for _, event in scan.events]


def test_the_emitter_which_may_import_none_of_this_agrees() -> None:
    assert TERMINAL_EVENTS == ENDING_KINDS
    assert {kind.value for kind in LifecycleEventType} <= set(KINDS) - AGENT_KINDS
