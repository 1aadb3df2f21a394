"""What the planning loop says about itself on /metrics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry

from mosaic.errors import DatabaseUnavailable
from mosaic.lifecycle import AttemptState
from mosaic_scheduler.entrypoints.loop import PlanningLoop
from mosaic_scheduler.ports import FleetView, Leadership
from tests.fakes.agent import eventually
from tests.fakes.scheduler import Desk


@dataclass
class Told:
    """Leadership as the test says."""

    leads: bool = True

    def holds(self) -> bool:
        return self.leads


class Broken:
    """A leadership that cannot be asked."""

    def holds(self) -> bool:
        raise RuntimeError("no such lock")


@dataclass
class OnFullDisk:
    """Leadership in a database that takes nothing while its disk is full."""

    is_full: bool = False

    def holds(self) -> bool:
        if self.is_full:
            raise DatabaseUnavailable("database or disk is full")
        return True


@contextmanager
def planning(folder: Path, leadership: Leadership) -> Iterator[tuple[Desk, PlanningLoop, CollectorRegistry]]:
    desk, metrics = Desk(folder), CollectorRegistry()
    loop = PlanningLoop(desk.rounds, leadership, metrics)
    loop.start()
    try:
        yield desk, loop, metrics
    finally:
        loop.stop()
        desk.engine.dispose()


def test_the_scheduler_that_plans_says_so(tmp_path: Path) -> None:
    with planning(tmp_path, Told()) as (_, _, metrics):
        eventually(lambda: 1 == metrics.get_sample_value("mosaic_scheduler_leads"))


def test_one_that_stands_by_counts_no_waiting_runs(tmp_path: Path) -> None:
    leadership = Told()
    with planning(tmp_path, leadership) as (desk, loop, metrics):
        desk.fleet.current = FleetView(workers=desk.fleet.current.workers)
        desk.submit()
        loop.wake()
        eventually(lambda: 1 == metrics.get_sample_value("mosaic_scheduler_waiting_runs"))
        leadership.leads = False
        loop.wake()

        eventually(lambda: 0 == metrics.get_sample_value("mosaic_scheduler_waiting_runs"))
        assert 0 == metrics.get_sample_value("mosaic_scheduler_leads")


def test_rounds_that_fail_are_counted(tmp_path: Path) -> None:
    with planning(tmp_path, Broken()) as (_, loop, metrics):
        eventually(lambda: metrics.get_sample_value("mosaic_scheduler_rounds_failed_total"))
        assert "RuntimeError: no such lock" == loop.fault()


def test_a_store_that_took_no_renewals_gives_leases_time_before_calling_them_lost(tmp_path: Path) -> None:
    leadership = OnFullDisk()
    with planning(tmp_path, leadership) as (desk, loop, metrics):
        run = desk.submit()
        loop.wake()
        eventually(lambda: metrics.get_sample_value("mosaic_scheduler_admitted_total"))
        desk.claim(run)
        leadership.is_full = True
        eventually(lambda: metrics.get_sample_value("mosaic_scheduler_rounds_failed_total"))
        desk.later(3600)
        leadership.is_full = False
        eventually(lambda: loop.fault() is None)

        assert AttemptState.CLAIMED is desk.attempt(run).state
        assert desk.attempt(run).lease_until > desk.now
