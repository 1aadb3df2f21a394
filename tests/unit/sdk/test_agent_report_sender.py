"""Reports reach the scheduler in order, again and again until each is settled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest
from structlog.testing import capture_logs

from mosaic.agent.control.report_sender import ReportSender
from mosaic.agent.ports import Scheduler
from mosaic.errors import BadInput, ServiceUnavailable, StaleAttempt
from mosaic.ids import RunId
from mosaic.model.attempt import Report


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


def sender_to(desk: Desk, settled: list[str]) -> Iterator[ReportSender]:
    sender = ReportSender(cast("Scheduler", desk), lambda report: settled.append(report.fact))
    yield sender
    sender.stop()


@pytest.mark.parametrize(
    "fault", [ServiceUnavailable("the scheduler", "nowhere"), RuntimeError("a fault nobody foresaw")]
)
def test_a_report_is_delivered_when_the_scheduler_comes_back(fault: Exception, settled: list[str]) -> None:
    desk = Desk(fault)

    for sender in sender_to(desk, settled):
        sender.send(a_report("started"))
        sender.send(a_report("succeeded"))

        assert sender.wait_until_empty(5)

    assert ["started", "succeeded"] == [report.fact for report in desk.heard]
    assert ["started", "succeeded"] == settled


def test_a_report_that_no_longer_counts_is_settled_too(settled: list[str]) -> None:
    desk = Desk(StaleAttempt("run-1", 1, "a newer one exists"))

    for sender in sender_to(desk, settled):
        sender.send(a_report("succeeded"))

        assert sender.wait_until_empty(5)

    assert ["succeeded"] == settled
    assert [] == desk.heard


def test_a_report_that_can_never_be_accepted_is_given_up_aloud_and_holds_up_nothing(settled: list[str]) -> None:
    """Its attempt's home may go then; the lease, which nobody renews any more, settles the attempt."""
    desk = Desk(BadInput("report", ["failure_kind 'solar_flare' is unknown here"]))

    with capture_logs() as logs:
        for sender in sender_to(desk, settled):
            sender.send(a_report("failed"))
            sender.send(a_report("succeeded"))

            assert sender.wait_until_empty(5)

    assert ["succeeded"] == [report.fact for report in desk.heard]
    assert ["failed", "succeeded"] == settled
    (told,) = logs
    assert ("error", "run-1", 1, "failed") == (told["log_level"], told["run_id"], told["attempt"], told["fact"])
    assert "solar_flare" in told["reason"]


def test_a_report_whose_settling_cannot_be_noted_holds_up_nothing() -> None:
    def note(report: Report) -> None:
        raise OSError("no space left on device")

    desk = Desk()
    sender = ReportSender(cast("Scheduler", desk), note)
    sender.send(a_report("started"))
    sender.send(a_report("succeeded"))

    assert sender.wait_until_empty(5)
    sender.stop()
    assert ["started", "succeeded"] == [report.fact for report in desk.heard]


def test_of_checkpoints_that_wait_only_the_newest_goes_out(settled: list[str]) -> None:
    desk = Desk(ServiceUnavailable("the scheduler", "nowhere"))

    for sender in sender_to(desk, settled):
        sender.send(a_report("started"))
        sender.send(a_report("checkpoint", checkpoint="1"))
        sender.send(a_report("checkpoint", checkpoint="2"))

        assert sender.wait_until_empty(5)

    assert ["", "2"] == [report.checkpoint for report in desk.heard]
