"""The guide leads somewhere: every page is in its index, every link and every file that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
_LINK = re.compile(r"\]\(([^)\s#]+)[^)\s]*\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    targets = [target for target in _LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]

    assert [] == [target for target in targets if not (page.parent / target).exists()]


def test_the_index_names_every_page() -> None:
    index = DOCS / "README.md"
    named = {(DOCS / target).resolve() for target in _LINK.findall(index.read_text(encoding="utf-8"))}
    pages = {page for page in PAGES if page != index and page.parent != DOCS / "decisions"}

    assert set() == {str(page.relative_to(DOCS)) for page in pages - named}


@pytest.mark.parametrize(
    "question", ["lost", "thinned under backpressure", "what a worker may print", "who gets the next GPU"]
)
def test_the_index_says_where_it_is_decided(question: str) -> None:
    table = (DOCS / "README.md").read_text(encoding="utf-8").partition("## Where is it decided?")[2]
    rows = [row for row in table.splitlines() if row.startswith("|") and question in row]

    assert rows
    assert all(".py`](../" in row for row in rows)
