"""The platform in both sizes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.choice import ServerSet
from tests.stack.reports import pytest_runtest_makereport
from tests.stack.stack import Servers, Stack

__all__ = ["pytest_runtest_makereport"]


@pytest.fixture(scope="module")
def stack(shared_servers: ServerSet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Three services and two agents on RabbitMQ, PostgreSQL and Redis."""
    settings = {"MOSAIC_SCHEDULER_RETRY_WAIT_FACTOR": "0.02", "MOSAIC_SCHEDULER_MIN_RUNTIME_S": "0.5"}
    folder = tmp_path_factory.mktemp("stack")
    with Stack(Servers.shared(shared_servers), folder, agents=2, settings=settings) as running:
        yield running
