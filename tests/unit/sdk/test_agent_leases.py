"""Leases are kept alive whatever happens to a renewal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from mosaic.agent.execution.leases import LeaseKeeper
from mosaic.agent.execution.supervisor import AttemptSupervisor
from mosaic.errors import ServiceUnavailable
from mosaic.ids import RunId
from mosaic.model.attempt import AttemptDirective, HeldAttempt
from tests.fakes.agent import eventually


class Cradle:
    """A supervisor with one attempt in it, which obeys once it has raised what it is told to."""

    def __init__(self, *faults: Exception) -> None:
        self.obeyed = 0
        self._faults = list(faults)

    def held(self) -> list[HeldAttempt]:
        return [HeldAttempt(RunId("run-1"), 1, "token")]

    def shortest_lease_s(self) -> float:
        return 0.04

    def obey(self, wishes: Sequence[AttemptDirective]) -> None:
        if self._faults:
            raise self._faults.pop(0)
        self.obeyed += 1


@pytest.mark.parametrize("fault", [ServiceUnavailable("the scheduler", "nowhere"), RuntimeError("loop is closed")])
def test_a_wish_that_cannot_be_obeyed_does_not_end_the_renewals(fault: Exception) -> None:
    cradle = Cradle(fault)
    keeper = LeaseKeeper(cast("AttemptSupervisor", cradle), lambda held: [])

    keeper.start()
    eventually(lambda: cradle.obeyed)
    keeper.stop()
