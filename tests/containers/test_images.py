"""What is true of every image, seen from outside."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from mosaic.testing import MosaicStack
from mosaic.testing.containers.engine import connect
from mosaic.testing.containers.images import SERVICES, image_of
from tests.containers.brokers import on_rabbitmq_4
from tests.containers.drills import until

pytestmark = on_rabbitmq_4

PARTS = ("rabbitmq", "redis", "postgres", *SERVICES, "reference-1")
OURS = (*SERVICES, "reference-1")


@pytest.mark.parametrize("name", OURS)
def test_the_health_check_of_the_image_passes(fleet: MosaicStack, name: str) -> None:
    part = fleet.parts[name]

    assert "healthy" == until(lambda: part.health == "healthy" and part.health, what=f"{name} to be healthy")


@pytest.mark.parametrize("name", PARTS)
def test_nothing_runs_as_root(fleet: MosaicStack, name: str) -> None:
    user = fleet.parts[name].inspect()["Config"]["User"]

    uid = user.partition(":")[0]
    assert uid.isdigit(), f"{name} runs as {user!r}: only a number can be checked before it starts"
    assert 0 != int(uid)


@pytest.mark.parametrize("name", PARTS)
def test_the_root_cannot_be_written_to_and_no_right_is_left(fleet: MosaicStack, name: str) -> None:
    host = fleet.parts[name].inspect()["HostConfig"]

    assert host["ReadonlyRootfs"]
    assert not host["Privileged"]
    assert ["ALL"] == host["CapDrop"]
    assert ["no-new-privileges:true"] == host["SecurityOpt"]


@pytest.mark.parametrize("name", PARTS)
def test_nothing_sees_the_socket_of_the_engine(fleet: MosaicStack, name: str) -> None:
    mounts = fleet.parts[name].inspect()["Mounts"]

    assert not [mount["Source"] for mount in mounts if "docker.sock" in mount["Source"]]
    assert not [mount["Type"] for mount in mounts if mount["Type"] == "bind"]


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
    assert said["metadata"] == json.loads(announced.metadata_json)
    assert said["capabilities"] == json.loads(announced.capabilities_json)
