"""What tests run in containers is what people run: a stack and docker-compose.yml agree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from mosaic.testing.containers import platform
from mosaic.testing.containers.brokers import Passwords
from mosaic.testing.containers.images import BROKERS, SERVICES, image_of

WORKERS = ("reference", "cleanrl", "xuance", "rllib")


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """The services of the compose file, with the defaults of its variables filled in."""
    text = (Path(__file__).parents[2] / "docker-compose.yml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text))["services"]
    return found


@pytest.mark.parametrize("broker", BROKERS)
def test_the_same_brokers_are_run(services: dict[str, Any], broker: str) -> None:
    assert BROKERS[broker] == services[broker]["image"]


@pytest.mark.parametrize("name", SERVICES)
def test_the_same_services_are_run(services: dict[str, Any], name: str) -> None:
    assert image_of(name) == services[name]["image"]


@pytest.mark.parametrize("worker", WORKERS)
def test_every_worker_has_an_image_under_the_same_name(services: dict[str, Any], worker: str) -> None:
    assert image_of(worker) in {service["image"] for service in services.values()}


def test_runs_and_spools_are_kept_in_the_same_places(services: dict[str, Any]) -> None:
    agent = platform.agent("one", "reference", "image", platform.Addresses(Passwords()), {}).environment
    [chosen] = [service["environment"] for service in services.values() if service["image"] == image_of("reference")]

    for variable in ("MOSAIC_AGENT_HOME", "MOSAIC_AGENT_RUNS_ROOT"):
        assert chosen[variable] == agent[variable]


@pytest.mark.parametrize("name", [*BROKERS, *SERVICES])
def test_compose_gives_no_more_rights_than_a_stack_does(services: dict[str, Any], name: str) -> None:
    service = services[name]

    assert (True, ["ALL"], ["no-new-privileges:true"]) == (
        service["read_only"],
        service["cap_drop"],
        service["security_opt"],
    )
    assert "0" != str(service["user"]).partition(":")[0]
