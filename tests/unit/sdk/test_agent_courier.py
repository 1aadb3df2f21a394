"""Reports reach the scheduler in order, again and again until each is settled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest
from structlog.testing import capture_logs

from mosaic.agent.courier import Courier
from mosaic.agent.ports import Report, Scheduler
from mosaic.errors import BadInput, ServiceUnavailable, StaleAttempt
from mosaic.ids import RunId


def a_report(fact: str, run_id: str = "run-1", checkpoint: str = "") -> Report:
    return Report(RunId(run_id), 1, "token", fact, checkpoint=checkpoint)


class Desk:
    """The scheduler's desk for reports: raises what it is told to, then takes everything."""

    def __init__(self, *faults: Exception) -> None:
        self.heard: list[Report] = []
        self._faults = list(faults)

    def report(self, report: Report) -> None:
        if self._faults:
            raise self._faults.pop(0)
        self.heard.append(report)


@pytest.fixture
def settled() -> list[str]:
    return []


def courier_to(desk: Desk, settled: list[str]) -> Iterator[Courier]:
    courier = Courier(cast("Scheduler", desk), lambda report: settled.append(report.fact))
    yield courier
    courier.stop()


@pytest.mark.parametrize(
    "fault", [ServiceUnavailable("the scheduler", "nowhere"), RuntimeError("a fault nobody foresaw")]
)
def test_a_report_is_delivered_when_the_scheduler_comes_back(fault: Exception, settled: list[str]) -> None:
    desk = Desk(fault)

    for courier in courier_to(desk, settled):
        courier.send(a_report("started"))
        courier.send(a_report("succeeded"))

        assert courier.wait_until_empty(5)

    assert ["started", "succeeded"] == [report.fact for report in desk.heard]
    assert ["started", "succeeded"] == settled


def test_a_report_that_no_longer_counts_is_settled_too(settled: list[str]) -> None:
    desk = Desk(StaleAttempt("run-1", 1, "a newer one exists"))

    for courier in courier_to(desk, settled):
        courier.send(a_report("succeeded"))

        assert courier.wait_until_empty(5)

    assert ["succeeded"] == settled
    assert [] == desk.heard


def test_a_report_that_can_never_be_accepted_is_given_up_aloud_and_holds_up_nothing(settled: list[str]) -> None:
    """Its attempt's home may go then; the lease, which nobody renews any more, settles the attempt."""
    desk = Desk(BadInput("report", ["failure_kind 'solar_flare' is unknown here"]))

    with capture_logs() as logs:
        for courier in courier_to(desk, settled):
            courier.send(a_report("failed"))
            courier.send(a_report("succeeded", run_id="run-2"))

            assert courier.wait_until_empty(5)

    assert ["succeeded"] == [report.fact for report in desk.heard]
    assert {"failed", "succeeded"} == set(settled)
    (told,) = logs
    assert ("error", "run-1", 1, "failed") == (told["log_level"], told["run_id"], told["attempt"], told["fact"])
    assert "solar_flare" in told["reason"]


def test_a_report_whose_settling_cannot_be_noted_holds_up_nothing() -> None:
    def note(report: Report) -> None:
        raise OSError("no space left on device")

    desk = Desk()
    courier = Courier(cast("Scheduler", desk), note)
    courier.send(a_report("started"))
    courier.send(a_report("succeeded"))

    assert courier.wait_until_empty(5)
    courier.stop()
    assert ["started", "succeeded"] == [report.fact for report in desk.heard]


def test_of_checkpoints_that_wait_only_the_newest_goes_out(settled: list[str]) -> None:
    desk = Desk(ServiceUnavailable("the scheduler", "nowhere"))

    for courier in courier_to(desk, settled):
        courier.send(a_report("started"))
        courier.send(a_report("checkpoint", checkpoint="1"))
        courier.send(a_report("checkpoint", checkpoint="2"))

        assert courier.wait_until_empty(5)

    assert ["", "2"] == [report.checkpoint for report in desk.heard]
