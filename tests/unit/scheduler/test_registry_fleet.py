"""The fleet as the scheduler hears of it, from a registry that answers late or starts anew."""

from __future__ import annotations

import queue
from collections.abc import Iterator

import grpc
import pytest

from mosaic.hosting.access import needs
from mosaic.hosting.grpc_server import GrpcServer, Registration
from mosaic.model.identity import Permission
from mosaic.testing.certificates import certificates
from mosaic.wire.v1 import registry_pb2, registry_pb2_grpc
from mosaic_scheduler.adapters.registry_fleet import RegistryFleet
from tests.fakes.agent import eventually


class Telling(registry_pb2_grpc.RegistryServicer):
    """A registry that says what it is told to; None ends the stream."""

    def __init__(self) -> None:
        self.streamed: queue.Queue[registry_pb2.Fleet | None] = queue.Queue()
        self.asked = registry_pb2.Fleet()

    @needs(Permission.SERVICE)
    def WatchFleet(
        self, request: registry_pb2.WatchFleetRequest, context: grpc.ServicerContext
    ) -> Iterator[registry_pb2.Fleet]:
        if request.once:
            yield self.asked
            return
        context.add_callback(lambda: self.streamed.put(None))
        while (fleet := self.streamed.get()) is not None:
            yield fleet


@pytest.fixture
def telling() -> Iterator[tuple[Telling, RegistryFleet]]:
    registry = Telling()
    add = registry_pb2_grpc.add_RegistryServicer_to_server
    registration = Registration("mosaic.wire.v1.Registry", registry, add)
    server = GrpcServer([registration], "127.0.0.1:0", certificates().service("registry"))
    server.start()
    fleet = RegistryFleet(server.address, certificates().service("scheduler"), on_change=lambda: None)
    fleet.start()
    yield registry, fleet
    fleet.stop()
    server.stop(grace_s=0)


def test_an_answer_that_was_overtaken_by_the_stream_changes_nothing(telling: tuple[Telling, RegistryFleet]) -> None:
    registry, fleet = telling
    registry.streamed.put(registry_pb2.Fleet(revision=5))
    eventually(lambda: 5 == fleet.view().revision)

    registry.asked = registry_pb2.Fleet(revision=4)
    assert 5 == fleet.refresh().revision
    registry.asked = registry_pb2.Fleet(revision=6)
    assert 6 == fleet.refresh().revision


def test_a_registry_that_counts_from_the_start_again_is_believed(telling: tuple[Telling, RegistryFleet]) -> None:
    registry, fleet = telling
    registry.streamed.put(registry_pb2.Fleet(revision=5))
    eventually(lambda: 5 == fleet.view().revision)

    registry.streamed.put(None)
    registry.streamed.put(registry_pb2.Fleet(revision=1))

    eventually(lambda: 1 == fleet.view().revision)


def test_a_fleet_that_cannot_be_read_does_not_end_the_listening(telling: tuple[Telling, RegistryFleet]) -> None:
    registry, fleet = telling
    registry.streamed.put(registry_pb2.Fleet(workers=[registry_pb2.Worker(name="toy", resume_grade="Z")]))

    def is_told() -> bool:
        registry.streamed.put(registry_pb2.Fleet(revision=7))
        return 7 == fleet.view().revision

    eventually(is_told)
