"""One fleet in containers for the session, on each of the brokers that are asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mosaic.testing import MosaicStack
from mosaic.testing.plugin import pytest_runtest_makereport
from tests.containers.brokers import RABBITMQ_4

__all__ = ["pytest_runtest_makereport"]

#: Short enough that a test sees a lost agent, long enough that two busy cores do not look like one. An agent counts
#: as dead before its lease is over, as it does by default: else its run may be given to it again.
QUICK = {
    "MOSAIC_REGISTRY_HEARTBEAT_INTERVAL_S": "1",
    "MOSAIC_REGISTRY_HEARTBEAT_TIMEOUT_S": "6",
    "MOSAIC_SCHEDULER_LEASE_S": "10",
    "MOSAIC_SCHEDULER_GRACE_S": "5",
    "MOSAIC_SCHEDULER_RETRY_WAIT_FACTOR": "0.02",
    "MOSAIC_HEARTBEAT_S": "1",
    "MOSAIC_AGENT_SLOTS": "4",
    "MOSAIC_AGENT_STOP_TIMEOUT_S": "15",
}


@pytest.fixture(scope="session")
def fleet(request: pytest.FixtureRequest) -> Iterator[MosaicStack]:
    """The platform with two agents of the reference worker on a machine with two simulated GPUs."""
    images = {"rabbitmq": getattr(request, "param", RABBITMQ_4)}
    with MosaicStack(["reference", "reference"], gpus=2, images=images, settings=QUICK) as running:
        yield running


@pytest.fixture(autouse=True)
def _the_fleet_is_whole(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test may add parts and take others away; the next one finds the fleet as it was."""
    if "fleet" not in request.fixturenames:
        yield
        return
    running: MosaicStack = request.getfixturevalue("fleet")
    usual = set(running.parts)
    yield
    # What was added last goes first: an agent says goodbye to a registry that is still there.
    for part in reversed(list(running.parts.values())):
        if part.name not in usual:
            running.remove(part)
            continue
        if not part.is_running:
            part.start()
        part.wait_until_ready()
