"""What autoscalers read from /metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from mosaic.errors import DatabaseUnavailable
from mosaic.ids import WorkerName
from mosaic.model.resources import Resources
from mosaic_scheduler.entrypoints.fitting_gauge import NAME, FittingGauge
from mosaic_scheduler.handlers.scaling import FittingRuns
from tests.fakes.scheduler import Desk, a_fleet

TOY = WorkerName("toy")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.engine.dispose()


def fitting_runs(desk: Desk) -> FittingRuns:
    return FittingRuns(store=desk.store, fleet=desk.fleet, clock=desk.clock, policy=desk.settings.policy)


def test_a_known_worker_with_nothing_to_do_stands_at_zero(desk: Desk) -> None:
    assert {TOY: 0} == fitting_runs(desk).count()


def test_a_run_that_no_agent_is_there_for_counts(desk: Desk) -> None:
    desk.submit()
    desk.fleet.current = replace(desk.fleet.current, nodes={}, agents={})

    assert {TOY: 1} == fitting_runs(desk).count()


def test_machines_that_came_and_went_say_what_would_fit(desk: Desk) -> None:
    fitting = fitting_runs(desk)
    desk.fleet.current = a_fleet(cpus=2)
    fitting.look_at_machines()
    desk.fleet.current = replace(desk.fleet.current, nodes={}, agents={})

    desk.submit(resources=Resources(cpus=2))
    desk.submit(resources=Resources(cpus=3))

    assert {TOY: 1} == fitting.count()


def test_who_asks_again_at_once_gets_the_same_answer(desk: Desk) -> None:
    fitting = fitting_runs(desk)
    desk.fleet.current = replace(desk.fleet.current, nodes={}, agents={})
    fitting.count()
    desk.submit()

    at_once = fitting.count()
    desk.later(2)

    assert ({TOY: 0}, {TOY: 1}) == (at_once, fitting.count())


def test_the_gauge_has_one_line_for_each_worker() -> None:
    registry = CollectorRegistry()
    FittingGauge(lambda: {WorkerName("xuance"): 0, WorkerName("cleanrl"): 2}, registry)

    lines = [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]

    assert [f'{NAME}{{worker="cleanrl"}} 2.0', f'{NAME}{{worker="xuance"}} 0.0'] == lines


def test_a_database_that_is_away_silences_the_gauge_and_nothing_else() -> None:
    def fail() -> Mapping[WorkerName, int]:
        raise DatabaseUnavailable("the database does not answer")

    registry = CollectorRegistry()
    FittingGauge(fail, registry)

    assert b"" == generate_latest(registry)
