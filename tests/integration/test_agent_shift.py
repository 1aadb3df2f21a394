"""An agent that is there for one run: it takes one, delivers all of it, and goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.ids import RunId
from tests.fakes.agent import Bench, eventually, running


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    yield from running(Bench(tmp_path, 'print("done")', runs=1))


def test_it_asks_for_nothing_new_as_soon_as_it_has_its_run(bench: Bench) -> None:
    bench.run()

    bench.scheduler.wait_for("succeeded")
    eventually(lambda: bench.registry.is_draining)


def test_it_leaves_a_second_run_to_others(bench: Bench) -> None:
    bench.run()
    bench.scheduler.wait_for("succeeded")
    bench.run(run_id=RunId("run-2"))

    eventually(bench.agent.has_served)
    assert {("run-1", 1)} == bench.scheduler.claimed


def test_it_does_not_go_before_its_lines_have_arrived(bench: Bench) -> None:
    bench.sink.is_away = True
    bench.run()
    bench.scheduler.wait_for("succeeded")
    with pytest.raises(AssertionError, match="did not come true"):
        eventually(bench.agent.has_served, timeout_s=4.0)

    bench.sink.is_away = False
    eventually(bench.agent.has_served)
    assert [] == bench.remembered


def test_nobody_needs_it_any_more(tmp_path: Path) -> None:
    for bench in running(Bench(tmp_path, idle_limit_s=0.1)):
        eventually(bench.agent.has_served)
        assert bench.registry.is_draining
