"""Nothing lost, nothing twice: forty runs while everything is killed around them."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.client import Attempt, Manifest, Run, RunDetail
from mosaic.errors import NotFound, Unavailable
from mosaic.lifecycle import AttemptState, RunState, is_terminal
from tests.servers.handle import Server
from tests.stack.evidence import Comparison, compare, total
from tests.stack.faults import Saboteur
from tests.stack.orphans import worker_processes
from tests.stack.runs import a_drill, undisturbed_result
from tests.stack.stack import Servers, Stack
from tests.stack.waiting import until

#: At least so many.
RUNS = 40
EPISODES = 40
STEPS = 20


@pytest.fixture
def stack(rabbitmq_server: Server, postgres_server: Server, redis_server: Server, tmp_path: Path) -> Iterator[Stack]:
    servers = Servers(rabbitmq_server, postgres_server, redis_server)
    settings = {"MOSAIC_SCHEDULER_RETRY_WAIT_FACTOR": "0.1", "MOSAIC_TELEMETRY_FINISH_PATIENCE_S": "10"}
    with Stack(servers, tmp_path, agents=3, slots=5, settings=settings) as running:
        yield running


@pytest.mark.timeout(900)
def test_whatever_is_killed_nothing_is_lost_and_nothing_counts_twice(
    stack: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = int(os.environ.get("MOSAIC_TEST_FAULT_SEED") or time.time_ns() % 1_000_000)
    saboteur = Saboteur(stack, random.Random(seed))
    _say(capsys, f"\nfaults: seed {seed} (repeat with MOSAIC_TEST_FAULT_SEED={seed})")

    run_ids = _submit_under_fire(stack, saboteur)
    details = _wait_for_all(stack, run_ids)
    manifests = {run_id: _whole_manifest(stack, run_id) for run_id in run_ids}
    compared = [one for run_id in run_ids for one in compare(stack.mosaic, run_id, stack.runs_root).values()]

    _say(capsys, _report(saboteur, details, compared))
    for line in saboteur.diary:
        _say(capsys, f"  {line}")
    _everything_came_right(stack, details, manifests, compared)


def _submit_under_fire(stack: Stack, saboteur: Saboteur) -> list[str]:
    faults = saboteur.faults()
    run_ids: list[str] = []
    for place, fault in enumerate(faults, start=1):
        while len(run_ids) * len(faults) < RUNS * place:
            run_ids.append(_submit(stack, len(run_ids)).run_id)
        # On a slow machine every run may have ended while a server was away: then there is nobody to kill.
        if saboteur.needs_a_worker(fault) and not worker_processes(stack.runs_root):
            run_ids.append(_submit(stack, len(run_ids)).run_id)
        saboteur.inject(fault)
        saboteur.rest()
    return run_ids


def _submit(stack: Stack, index: int) -> Run:
    asked = a_drill(
        seed=index,
        episodes=EPISODES,
        steps=STEPS,
        pause_ms=250.0,
        checkpoint_every=4,
        max_retries=50,
    )

    def attempt() -> list[Run]:
        try:
            return stack.mosaic.submit(asked, idempotency_key=f"fault-{index}")
        except Unavailable:
            return []  # its key makes asking again harmless

    [run] = until(attempt, what=f"submit {index} to be accepted", seconds=120)
    return run


def _wait_for_all(stack: Stack, run_ids: list[str]) -> dict[str, RunDetail]:
    details: dict[str, RunDetail] = {}

    def all_ended() -> bool:
        for run_id in run_ids:
            if run_id not in details:
                try:
                    detail = stack.mosaic.run(run_id)
                except Unavailable:
                    return False
                if not detail.run.has_ended:
                    return False
                details[run_id] = detail
        return True

    until(all_ended, what="every run to end", seconds=240)
    return details


def _whole_manifest(stack: Stack, run_id: str) -> Manifest:
    def look() -> Manifest | None:
        try:
            found = stack.mosaic.manifest(run_id, within_s=0.0)
        except (NotFound, Unavailable):
            return None
        return found if found.content["is_complete"] else None

    manifest = until(look, what=f"a manifest of {run_id} without gaps", seconds=60)
    assert manifest is not None
    return manifest


def _everything_came_right(
    stack: Stack, details: dict[str, RunDetail], manifests: dict[str, Manifest], compared: list[Comparison]
) -> None:
    assert [] == [detail.run for detail in details.values() if detail.run.state is not RunState.SUCCEEDED]
    for detail in details.values():
        succeeded = [one.attempt for one in detail.attempts if one.state is AttemptState.SUCCEEDED]
        assert [detail.run.attempt] == succeeded, "exactly one attempt counts, and it is the last"
        assert all(is_terminal(one.state) for one in detail.attempts), "no lease is left"
    for one in compared:
        attempts = {attempt.attempt: attempt for attempt in details[one.run_id].attempts}
        _stored_as_said(one, attempts[one.attempt])
    for run_id, manifest in manifests.items():
        expected = undisturbed_result(seed=details[run_id].run.spec.seed or 0, episodes=EPISODES, steps=STEPS)
        assert expected == manifest.content["result"]["result"]
    until(lambda: not worker_processes(stack.runs_root), what="the last worker process to be gone")
    until(lambda: not _remembered(stack), what="agents to forget what has arrived")


def _stored_as_said(one: Comparison, attempt: Attempt) -> None:
    if attempt.state is AttemptState.SUCCEEDED:
        assert one.is_whole, str(one)
    else:
        assert one.is_prefix, str(one)
    if attempt.failure_kind == "crash":
        # Its agent lived: only the line that the worker was just writing may be cut off.
        assert len(one.said) - len(one.heard) <= 1, str(one)


def _remembered(stack: Stack) -> list[str]:
    return [str(home) for home in stack.folder.glob("agents/*/attempts/*")]


def _report(saboteur: Saboteur, details: dict[str, RunDetail], compared: list[Comparison]) -> str:
    counting = [one for one in compared if one.attempt == details[one.run_id].run.attempt]
    interrupted = [one for one in compared if one not in counting]
    injected = ", ".join(f"{target} {times}" for target, times in sorted(saboteur.injected.items()))
    return (
        f"faults injected: {saboteur.injected.total()} ({injected})\n"
        f"{len(details)} runs\n"
        f"attempts that count: {len(counting)}, {total(counting)}\n"
        f"attempts cut short: {len(interrupted)}, {total(interrupted)} (what a killed worker or pipe still held)"
    )


def _say(capsys: pytest.CaptureFixture[str], text: str) -> None:
    with capsys.disabled():
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
