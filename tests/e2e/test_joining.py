"""Agents that join with an invitation, work, are renewed, and are put out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from mosaic.hosting.pki import AGENT_FILE, holder_of, tls_files
from mosaic.lifecycle import RunState
from mosaic.wire.channel import open_channel
from mosaic.wire.v1 import registry_pb2, scheduler_pb2
from mosaic.wire.v1.registry_pb2_grpc import RegistryStub
from mosaic.wire.v1.scheduler_pb2_grpc import SchedulerStub
from tests.servers.choice import ServerSet
from tests.stack.runs import submit, wait_for_end, wait_for_state
from tests.stack.stack import Servers, Stack
from tests.stack.waiting import until

pytestmark = pytest.mark.integration

UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED


@pytest.fixture
def stack(shared_servers: ServerSet, tmp_path: Path) -> Iterator[Stack]:
    with Stack(Servers.shared(shared_servers), tmp_path, agents=0) as running:
        yield running


def has_succeeded(stack: Stack, run_id: str) -> bool:
    """Ask the scheduler itself: people are let in by the registry."""
    with stack.certificates.as_console(stack.addresses["scheduler"], "scheduler") as channel:
        found = SchedulerStub(channel).GetRun(scheduler_pb2.GetRunRequest(run_id=run_id), timeout=10)
    return bool(found.run.state == scheduler_pb2.RUN_STATE_SUCCEEDED)


def add_joining_agent(stack: Stack, name: str) -> None:
    stack.add_agent(name, join_url=f"https://{stack.join_address}", join_token=stack.mosaic.invite(ttl_s=600)[0])


def answers(stack: Stack, name: str) -> tuple[grpc.StatusCode, grpc.StatusCode]:
    """Return how the registry and the scheduler answer to the certificate of that agent."""
    tls = tls_files(stack.folder / "agents" / name, AGENT_FILE)
    with open_channel(stack.addresses["registry"], "registry", tls) as channel:
        heartbeat = registry_pb2.HeartbeatRequest(agent_id=name)
        registry = _code(lambda: RegistryStub(channel).Heartbeat(heartbeat, timeout=10))
    with open_channel(stack.addresses["scheduler"], "scheduler", tls) as channel:
        report = scheduler_pb2.ReportRequest(run_id="x", attempt=1, fact="started")
        scheduler = _code(lambda: SchedulerStub(channel).Report(report, timeout=10))
    return registry, scheduler


def _code(call: object) -> grpc.StatusCode:
    try:
        call()  # type: ignore[operator]
    except grpc.RpcError as error:
        return error.code()  # type: ignore[attr-defined,no-any-return]
    return grpc.StatusCode.OK


def test_an_agent_joins_works_and_goes_on_while_the_registry_is_away(stack: Stack) -> None:
    add_joining_agent(stack, "joiner")
    holder = holder_of(tls_files(stack.folder / "agents" / "joiner", AGENT_FILE).read().certificate)
    assert holder is not None
    assert "mosaic://agent/joiner" == holder.uri

    run = submit(stack.mosaic, episodes=20, steps=20, pause_ms=10)
    wait_for_state(stack.mosaic, run.run_id, RunState.RUNNING)
    stack.parts["registry"].kill()
    until(lambda: has_succeeded(stack, run.run_id), what="the run to end without the registry")
    stack.parts["registry"].start()
    stack.parts["registry"].wait_until_ready()

    assert 1 == len(wait_for_end(stack.mosaic, run.run_id).attempts)


def test_an_agent_that_starts_again_needs_no_second_invitation(stack: Stack) -> None:
    add_joining_agent(stack, "joiner")
    part = stack.parts["joiner"]
    part.stop()

    part.start()
    part.wait_until_ready()

    run = submit(stack.mosaic, episodes=2, steps=2)
    assert RunState.SUCCEEDED is wait_for_end(stack.mosaic, run.run_id).run.state


def test_a_revoked_agent_is_refused_everywhere_within_five_seconds(stack: Stack) -> None:
    add_joining_agent(stack, "joiner")
    assert UNAUTHENTICATED is answers(stack, "joiner")[0], "its session is not shown here"
    assert UNAUTHENTICATED is not answers(stack, "joiner")[1]

    began = time.monotonic()
    stack.mosaic.revoke_agent("joiner")
    until(
        lambda: answers(stack, "joiner") == (UNAUTHENTICATED, UNAUTHENTICATED),
        what="both services to refuse it",
        seconds=5,
    )

    assert time.monotonic() - began < 5
    assert not stack.mosaic.fleet().agents
