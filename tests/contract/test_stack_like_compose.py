"""What tests run in containers is what people run: a stack and docker-compose.yml agree."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mosaic.testing.containers import platform
from mosaic.testing.containers.brokers import Passwords
from mosaic.testing.containers.images import BROKERS
from tests.images import compose_file

PARTS: dict[str, Any] = compose_file()["services"]


@pytest.mark.parametrize("broker", BROKERS)
def test_the_same_brokers_are_run(broker: str) -> None:
    assert BROKERS[broker] == re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", PARTS[broker]["image"])


def test_runs_and_spools_are_kept_in_the_same_places() -> None:
    agent = platform.agent("one", "reference", "image", platform.Addresses(Passwords()), {}).environment
    chosen = PARTS["agent-reference"]["environment"]

    for variable in ("MOSAIC_AGENT_HOME", "MOSAIC_AGENT_RUNS_ROOT"):
        assert chosen[variable] == agent[variable]
