"""A server on which people watch and agents report."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import grpc
import pytest

from mosaic.errors import BadInput, Unavailable
from mosaic.hosting.access import needs
from mosaic.hosting.grpc_server import GrpcServer, Registration
from mosaic.model.identity import Permission
from mosaic.testing.certificates import certificates
from mosaic.wire.channel import open_channel
from mosaic.wire.status import error_from
from mosaic.wire.v1 import scheduler_pb2, scheduler_pb2_grpc
from tests.fakes.agent import eventually

Stub = scheduler_pb2_grpc.SchedulerStub


class Watched(scheduler_pb2_grpc.SchedulerServicer):
    """Streams that last until their caller goes, beside a call that is answered at once."""

    @needs(Permission.SERVICE)
    def Report(self, request: Any, context: Any) -> scheduler_pb2.ReportResponse:
        return scheduler_pb2.ReportResponse()

    @needs(Permission.SERVICE)
    def WatchRuns(self, request: Any, context: grpc.ServicerContext) -> Iterator[scheduler_pb2.Run]:
        gone = threading.Event()
        context.add_callback(gone.set)
        yield scheduler_pb2.Run(run_id="first")
        gone.wait()


@contextmanager
def serving(**size: int) -> Iterator[Stub]:
    add = scheduler_pb2_grpc.add_SchedulerServicer_to_server
    registration = Registration("mosaic.wire.v1.Scheduler", Watched(), add)
    server = GrpcServer([registration], "127.0.0.1:0", certificates().service("scheduler"), **size)
    server.start()
    with open_channel(server.address, "scheduler", certificates().service("console")) as channel:
        yield Stub(channel)
    server.stop(grace_s=0)


def watch(stub: Stub) -> Any:
    """Open a stream and wait until it is served."""
    stream = stub.WatchRuns(scheduler_pb2.WatchRunsRequest(), timeout=20)
    assert "first" == next(stream).run_id
    return stream


def report(stub: Stub) -> None:
    stub.Report(scheduler_pb2.ReportRequest(), timeout=5)


def test_agents_are_heard_however_many_people_watch() -> None:
    with serving() as stub, ExitStack() as streams:
        for _ in range(100):
            streams.callback(watch(stub).cancel)

        report(stub)


def test_a_stream_too_many_is_refused_and_takes_nobodys_place() -> None:
    with serving(threads=2, streams=3) as stub:
        streams = [watch(stub) for _ in range(3)]

        with pytest.raises(grpc.RpcError) as caught:
            watch(stub)
        error = error_from(caught.value, service="scheduler", address="here")
        report(stub)

        assert isinstance(error, Unavailable)
        assert "3 streams are open here, and no more are served; try again later" == str(error)
        for stream in streams:
            stream.cancel()


def test_a_watcher_that_goes_leaves_its_place_to_the_next() -> None:
    def served() -> bool:
        try:
            watch(stub).cancel()
        except grpc.RpcError:
            return False
        return True

    with serving(threads=2, streams=1) as stub:
        for _ in range(3):
            eventually(served)


def test_a_request_that_would_fill_the_memory_of_a_service_is_refused_as_too_large() -> None:
    with serving() as stub:
        with pytest.raises(grpc.RpcError) as caught:
            stub.Report(scheduler_pb2.ReportRequest(reason="x" * 5_000_000), timeout=5)

        error = error_from(caught.value, service="scheduler", address="here")

        assert isinstance(error, BadInput)
        assert "too large" in str(error)
        report(stub)
