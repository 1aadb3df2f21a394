"""What ``mosaic fleet`` shows of agents that contradict each other."""

from __future__ import annotations

from dataclasses import replace

from mosaic.cli.fleet import _fleet_lines
from mosaic.model.fleet import Fleet
from tests.announcements import a_host, a_member, a_worker


def test_an_agent_in_conflict_is_named() -> None:
    worker = replace(a_worker(version="1.0.0"), digest="d1")
    agents = (a_member("a1", worker_digest="d1"), a_member("a2", worker_digest="d2", worker_version="99.0"))

    lines = list(_fleet_lines(Fleet((a_host(),), agents, (worker,))))

    (conflict,) = [number for number, line in enumerate(lines) if "in conflict" in line]
    assert lines[conflict - 1].endswith("a2")
    assert "cleanrl 1.0.0" in lines[conflict]


def test_agents_of_before_there_were_digests_are_in_no_conflict() -> None:
    lines = _fleet_lines(Fleet((a_host(),), (a_member("a1", worker_version="9"),), (a_worker(),)))

    assert not any("in conflict" in line for line in lines)
