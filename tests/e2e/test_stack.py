"""Runs on the platform as a cluster has it, from submit to manifest."""

from __future__ import annotations

import pytest

from mosaic.client import Mosaic, Resources
from mosaic.errors import BadInput
from mosaic.lifecycle import AttemptState, RunState
from tests.stack.evidence import compare
from tests.stack.orphans import is_stopped, worker_processes
from tests.stack.runs import (
    a_drill,
    submit,
    undisturbed_result,
    wait_for_end,
    wait_for_manifest,
    wait_for_state,
)
from tests.stack.stack import Stack
from tests.stack.waiting import until

#: Long enough that the test, not the run, decides when it ends.
ENDLESS = {"episodes": 100_000, "pause_ms": 50.0}


def test_a_run_ends_in_a_manifest_without_gaps(stack: Stack) -> None:
    run = submit(stack.mosaic, episodes=4, steps=50)

    ended = stack.mosaic.wait(run.run_id)

    assert RunState.SUCCEEDED == ended.state, ended.reason
    manifest = wait_for_manifest(stack.mosaic, run.run_id).content
    assert ("succeeded", 7, 0) == (manifest["outcome"], manifest["seed"], manifest["events"]["missing"])
    assert undisturbed_result(episodes=4, steps=50) == manifest["result"]["result"]
    assert 200 == manifest["events"]["by_kind"]["step"]


def test_every_line_is_stored_once_and_in_order(stack: Stack) -> None:
    run = submit(stack.mosaic, episodes=20, steps=500)

    wait_for_end(stack.mosaic, run.run_id)

    wait_for_manifest(stack.mosaic, run.run_id)
    [compared] = compare(stack.mosaic, run.run_id, stack.runs_root).values()
    assert compared.is_whole, str(compared)


def test_lines_of_any_bytes_and_any_length_do_not_stop_the_drain(stack: Stack) -> None:
    run = submit(stack.mosaic, episodes=3, garbage=True, long_line_bytes=900_000)

    ended = wait_for_end(stack.mosaic, run.run_id)

    assert RunState.SUCCEEDED == ended.run.state, ended.run.reason
    wait_for_manifest(stack.mosaic, run.run_id)
    [compared] = compare(stack.mosaic, run.run_id, stack.runs_root).values()
    assert compared.is_whole, str(compared)


def test_a_crash_is_tried_again_from_the_last_checkpoint(stack: Stack) -> None:
    run = submit(stack.mosaic, episodes=6, checkpoint_every=2, crash_after=5)

    ended = wait_for_end(stack.mosaic, run.run_id)

    assert [AttemptState.FAILED, AttemptState.SUCCEEDED] == [attempt.state for attempt in ended.attempts]
    assert "crash" == ended.attempts[0].failure_kind
    assert "crashed as asked after episode 5" in ended.attempts[0].reason
    assert "checkpoints/episode-4.json" == ended.attempts[1].resumed_from
    manifest = wait_for_manifest(stack.mosaic, run.run_id).content
    assert undisturbed_result(episodes=6, steps=5) == manifest["result"]["result"]


def test_a_run_that_always_crashes_fails_with_its_own_words(stack: Stack) -> None:
    run = submit(stack.mosaic, episodes=6, always_crash_after=1, max_retries=1)

    ended = wait_for_end(stack.mosaic, run.run_id)

    assert (RunState.FAILED, "crash", 2) == (ended.run.state, ended.run.reason_code, ended.run.attempt)
    assert "RuntimeError: crashed as asked" in ended.run.reason
    assert any("RuntimeError" in line.text for line in stack.mosaic.logs(run.run_id))


def test_a_silent_worker_is_ended_as_hung_and_tried_again(stack: Stack) -> None:
    run = submit(stack.mosaic, episodes=3, hang_after=2, hang_limit=1.0)

    ended = wait_for_end(stack.mosaic, run.run_id)

    assert ["hung", ""] == [attempt.failure_kind for attempt in ended.attempts]
    assert RunState.SUCCEEDED == ended.run.state


def test_a_run_that_outlives_its_time_is_ended(stack: Stack) -> None:
    run = submit(stack.mosaic, max_wall=1.0, **ENDLESS)

    ended = wait_for_end(stack.mosaic, run.run_id)

    assert (RunState.FAILED, "time_limit") == (ended.run.state, ended.run.reason_code)


def test_cancelling_ends_the_whole_process_group_however_stubborn(stack: Stack) -> None:
    run = submit(stack.mosaic, ignore_sigterm=True, grandchild=True, **ENDLESS)
    folder = stack.runs_root / run.run_id
    until(lambda: len(worker_processes(folder)) == 2, what="the worker and its child")

    stack.mosaic.cancel(run.run_id, reason="enough")

    ended = wait_for_end(stack.mosaic, run.run_id)
    assert RunState.CANCELLED == ended.run.state
    assert {} == worker_processes(folder), "nothing may be left when the run is said to have ended"
    assert any(change.actor == "user:ada" and change.detail == "enough" for change in ended.history)


def test_a_paused_run_stands_still_and_then_goes_on(stack: Stack) -> None:
    run = submit(stack.mosaic, episodes=100, pause_ms=50.0)
    wait_for_state(stack.mosaic, run.run_id, RunState.RUNNING)

    stack.mosaic.pause(run.run_id)
    wait_for_state(stack.mosaic, run.run_id, RunState.PAUSED)
    assert all(is_stopped(process) for process in worker_processes(stack.runs_root / run.run_id))
    stack.mosaic.resume(run.run_id)

    ended = wait_for_end(stack.mosaic, run.run_id)
    assert [AttemptState.SUCCEEDED] == [attempt.state for attempt in ended.attempts]


def test_a_repeated_submit_returns_the_same_run(stack: Stack) -> None:
    first = submit(stack.mosaic, key="once")
    second = submit(stack.mosaic, key="once")

    assert first.run_id == second.run_id


def test_bad_input_is_refused_with_every_fault(stack: Stack) -> None:
    bad = a_drill(episodes="many", stepps=3, priority="huge", resources=Resources(cpus=10_000))

    with pytest.raises(BadInput) as caught:
        stack.mosaic.submit(bad)

    for word in ("episodes", "stepps", "did you mean 'steps'", "huge", "cpus"):
        assert word in str(caught.value)


def test_a_follower_sees_every_line_and_ends_with_the_run(stack: Stack) -> None:
    run = submit(stack.mosaic, episodes=10, pause_ms=50.0)

    followed = [(event.seq, event.kind) for event in stack.mosaic.events(run.run_id, follow=True)]

    assert list(range(len(followed))) == [seq for seq, _ in followed]
    assert "attempt_ended" == followed[-1][1]


def test_two_runs_never_hold_the_same_gpu(stack: Stack) -> None:
    whole = Resources(cpus=0.1, memory_mb=16, gpus=3)
    runs = [submit(stack.mosaic, resources=whole, **ENDLESS) for _ in range(2)]

    running = [wait_for_state(stack.mosaic, run.run_id, RunState.RUNNING).run for run in runs]

    assert 6 == len({gpu for run in running for gpu in run.gpu_ids})
    for run in runs:
        stack.mosaic.cancel(run.run_id)
        wait_for_end(stack.mosaic, run.run_id)


def test_episodes_metrics_and_summaries_can_be_read(stack: Stack) -> None:
    run = submit(stack.mosaic, episodes=12)
    wait_for_end(stack.mosaic, run.run_id)
    wait_for_manifest(stack.mosaic, run.run_id)

    assert list(range(1, 13)) == [episode.index for episode in stack.mosaic.episodes(run.run_id)]
    assert 12 == stack.mosaic.curve(run.run_id, "return").total_points
    assert 12 == stack.mosaic.summaries([run.run_id])[run.run_id].episodes


def test_another_scheduler_takes_over_when_the_leader_is_killed(stack: Stack) -> None:
    going_on = submit(stack.mosaic, episodes=60, pause_ms=100.0)
    wait_for_state(stack.mosaic, going_on.run_id, RunState.RUNNING)
    _, login = stack.add_scheduler()

    stack.parts["scheduler"].kill()

    with Mosaic(login) as through_the_other:
        new = submit(through_the_other)
        for run in (new, going_on):
            ended = wait_for_end(through_the_other, run.run_id)
            assert [AttemptState.SUCCEEDED] == [attempt.state for attempt in ended.attempts]
    stack.parts["scheduler"].start()
    stack.parts["scheduler"].wait_until_ready()
    for name in ("console2", "scheduler2"):
        stack.parts.pop(name).stop()
