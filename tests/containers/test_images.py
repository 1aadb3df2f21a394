"""What is true of every image, seen from outside."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from mosaic.testing import MosaicStack
from mosaic.testing.containers.engine import connect
from mosaic.testing.containers.images import SERVICES, image_of
from tests.containers.brokers import on_rabbitmq_4
from tests.containers.drills import assert_healthy, assert_shut_in

pytestmark = on_rabbitmq_4

PARTS = ("rabbitmq", "redis", "postgres", *SERVICES, "reference-1")
OURS = (*SERVICES, "reference-1")


@pytest.mark.parametrize("name", OURS)
def test_the_health_check_of_the_image_passes(fleet: MosaicStack, name: str) -> None:
    assert_healthy(fleet.parts[name])


@pytest.mark.parametrize("name", PARTS)
def test_nothing_runs_as_root_or_writes_to_its_root_or_sees_the_engine(fleet: MosaicStack, name: str) -> None:
    inspected = fleet.parts[name].inspect()

    assert_shut_in(name, inspected)
    assert not [mount for mount in inspected["Mounts"] if mount["Type"] == "bind"]


@pytest.mark.parametrize("name", OURS)
def test_nobody_outside_this_machine_can_reach_a_published_port(fleet: MosaicStack, name: str) -> None:
    bindings = fleet.parts[name].inspect()["HostConfig"]["PortBindings"]

    assert {"127.0.0.1"} == {binding["HostIp"] for bound in bindings.values() for binding in bound}


def test_what_the_image_says_of_its_worker_is_what_the_agent_announces(fleet: MosaicStack) -> None:
    with closing(connect().client) as client:
        labels = client.images.get(image_of("reference")).labels
    said = json.loads(labels["org.mosaic.worker"])

    announced = fleet.mosaic.worker("reference")

    assert said["worker"] == announced.name
    assert said["metadata"] == announced.metadata
    assert said["capabilities"] == announced.capabilities
