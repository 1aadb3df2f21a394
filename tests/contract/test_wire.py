"""The wire: generated code is fresh, states agree on both sides, errors survive the crossing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from mosaic.errors import BadInput, MosaicError, RunNotFound, ServiceUnavailable, SessionRejected, StaleAttempt
from mosaic.hosting.access import needs
from mosaic.hosting.grpc_server import GrpcServer, Registration
from mosaic.lifecycle import AttemptState, RunState
from mosaic.model.identity import Permission
from mosaic.testing.certificates import certificates
from mosaic.wire.channel import open_channel
from mosaic.wire.status import error_from
from mosaic.wire.v1 import scheduler_pb2, scheduler_pb2_grpc

ROOT = Path(__file__).parents[2]


def test_generated_code_is_fresh(tmp_path: Path) -> None:
    """If this fails, run ``make proto`` and commit what it wrote."""
    protos = sorted(str(path.relative_to(ROOT / "proto")) for path in (ROOT / "proto").rglob("*.proto"))
    outputs = [f"--{kind}_out={tmp_path}" for kind in ("python", "pyi", "grpc_python")]
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", "-I", "proto", *outputs, *protos], cwd=ROOT, check=True)

    stale = [
        path.name
        for path in sorted(tmp_path.rglob("*_pb2*"))
        if path.read_text() != (ROOT / "sdk/src" / path.relative_to(tmp_path)).read_text()
    ]

    assert [] == stale, "run `make proto`"


def test_every_state_has_the_same_name_on_the_wire() -> None:
    assert {f"RUN_STATE_{state.name}" for state in RunState} == set(scheduler_pb2.RunState.keys()) - {
        "RUN_STATE_UNSPECIFIED"
    }
    assert {f"ATTEMPT_STATE_{state.name}" for state in AttemptState} == set(scheduler_pb2.AttemptState.keys()) - {
        "ATTEMPT_STATE_UNSPECIFIED"
    }


class Failing(scheduler_pb2_grpc.SchedulerServicer):
    """Raises what the test hands it."""

    error: BaseException = RuntimeError("nothing was set")

    @needs(Permission.SERVICE)
    def GetRun(self, request: Any, context: Any) -> Any:
        raise self.error

    @needs(Permission.SERVICE)
    def WatchRuns(self, request: Any, context: Any) -> Iterator[Any]:
        yield scheduler_pb2.Run(run_id="first")
        raise self.error


@pytest.fixture
def failing() -> Iterator[tuple[Failing, scheduler_pb2_grpc.SchedulerStub]]:
    servicer = Failing()
    add = scheduler_pb2_grpc.add_SchedulerServicer_to_server
    registration = Registration("mosaic.wire.v1.Scheduler", servicer, add)
    server = GrpcServer([registration], "127.0.0.1:0", certificates().service("scheduler"))
    server.start()
    with open_channel(server.address, "scheduler", certificates().service("console")) as channel:
        yield servicer, scheduler_pb2_grpc.SchedulerStub(channel)
    server.stop(grace_s=0)


@pytest.mark.parametrize(
    "error",
    [
        RunNotFound("01X"),
        BadInput("run", ["one", "two"]),
        StaleAttempt("01X", 2, "it ended"),
        SessionRejected("agent-1"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_arrives_as_the_same_class_with_the_same_sentence(failing: Any, error: MosaicError) -> None:
    servicer, stub = failing
    servicer.error = error

    with pytest.raises(grpc.RpcError) as caught:
        stub.GetRun(scheduler_pb2.GetRunRequest())
    revived = error_from(caught.value, service="scheduler", address="here")

    assert (type(error), str(error)) == (type(revived), str(revived))


@pytest.mark.parametrize("letter", ["x", "\N{SNOWMAN}", "\n"])
def test_of_an_error_too_long_for_the_wire_the_beginning_arrives(failing: Any, letter: str) -> None:
    servicer, stub = failing
    servicer.error = RunNotFound(letter * 100_000)

    with pytest.raises(grpc.RpcError) as caught:
        stub.GetRun(scheduler_pb2.GetRunRequest())
    revived = error_from(caught.value, service="scheduler", address="here")

    assert isinstance(revived, RunNotFound)
    assert str(revived).startswith("there is no run '")
    assert str(revived).endswith(" ...")


def test_an_error_in_a_stream_arrives_after_what_was_sent(failing: Any) -> None:
    servicer, stub = failing
    servicer.error = RunNotFound("01X")
    stream = stub.WatchRuns(scheduler_pb2.WatchRunsRequest())

    assert "first" == next(stream).run_id
    with pytest.raises(grpc.RpcError) as caught:
        next(stream)

    assert isinstance(error_from(caught.value, service="scheduler", address="here"), RunNotFound)


def test_a_service_that_is_not_there_is_named_with_its_address() -> None:
    console = certificates().service("console")
    with open_channel("127.0.0.1:1", "scheduler", console) as channel, pytest.raises(grpc.RpcError) as caught:
        scheduler_pb2_grpc.SchedulerStub(channel).GetRun(scheduler_pb2.GetRunRequest(), timeout=5)

    error = error_from(caught.value, service="scheduler", address="127.0.0.1:1")

    assert isinstance(error, ServiceUnavailable)
    assert "scheduler does not answer at 127.0.0.1:1" in str(error)


def test_a_fault_of_ours_is_told_without_killing_the_server(failing: Any) -> None:
    servicer, stub = failing
    servicer.error = ZeroDivisionError("oops")

    for _ in range(2):
        with pytest.raises(grpc.RpcError, match="ZeroDivisionError: oops"):
            stub.GetRun(scheduler_pb2.GetRunRequest())
