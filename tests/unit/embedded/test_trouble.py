"""What people who watch a platform are told when something is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic_embedded.trouble import Trouble, disk_fault

#: A file system on which nothing is ever free.
FULL = Path("/proc")


class Watched:
    """A platform that has what faults the test gives it, and the sentences that were told about it."""

    def __init__(self, home: Path, *, now_s: float = 0.0) -> None:
        self.faults: dict[str, str] = {}
        self.told: list[str] = []
        self.trouble = Trouble(home, lambda: self.faults, self.told.append, now_s=now_s)

    def look(self, *moments: float) -> list[str]:
        """Look at *moments* and return what was told meanwhile."""
        self.told.clear()
        for moment in moments:
            self.trouble.look(moment)
        return list(self.told)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


def test_what_lasts_is_told_once_and_then_seldom(watched: Watched) -> None:
    assert [] == watched.look(0, 2, 4)
    watched.faults = {"telemetry": "the disk refuses"}

    assert ["something is wrong: telemetry: the disk refuses"] == watched.look(*range(6, 600, 2))
    assert 1 == len(watched.look(*range(600, 1000, 2)))
    watched.faults = {}
    assert ["all is well again"] == watched.look(1000, 1002)


def test_what_is_over_soon_is_not_told(watched: Watched) -> None:
    watched.look(0)
    watched.faults = {"registry": "it does not answer"}
    assert [] == watched.look(2, 4, 6)
    watched.faults = {}

    assert [] == watched.look(8, 10)


def test_what_is_wrong_at_the_first_look_may_be_over_soon_too(tmp_path: Path) -> None:
    watched = Watched(tmp_path, now_s=1000)
    watched.faults = {"registry": "it does not answer"}

    assert [] == watched.look(1002, 1004)
    assert 1 == len(watched.look(1010))


def test_a_cause_that_was_told_is_no_news_in_another_part(watched: Watched) -> None:
    watched.look(0)
    watched.faults = {"agents": "drill: the disk refuses"}
    assert 1 == len(watched.look(12))
    watched.faults = {"agents": "drill: the disk refuses", "planning": "the disk refuses"}
    assert [] == watched.look(14)
    watched.faults = {"planning": "the disk refuses"}
    assert [] == watched.look(16)

    watched.faults = {"planning": "the disk refuses", "registry": "it does not answer"}
    assert ["something is wrong: planning: the disk refuses; registry: it does not answer"] == watched.look(18, 20)


def test_a_full_disk_is_told_at_once_by_name(tmp_path: Path) -> None:
    assert [disk_fault(FULL)] == Watched(FULL).look(0, 2, 4)
    assert "the disk of /proc is full" in str(disk_fault(FULL))
    assert disk_fault(tmp_path) is None
