"""Runs that leave for others on real agents, and come back."""

from __future__ import annotations

from typing import Any

from mosaic.client import Resources, Run, RunDetail
from mosaic.lifecycle import AttemptState, RunState
from tests.stack.runs import submit, undisturbed_result, wait_for_end, wait_for_manifest, wait_for_state
from tests.stack.stack import Stack
from tests.stack.waiting import until

#: All GPUs of one machine.
WHOLE = Resources(cpus=0.1, memory_mb=16, gpus=4)


def preempted(stack: Stack, *runs: Run) -> RunDetail:
    """Return the one of *runs* that was asked to leave, once its attempt has ended."""

    def look() -> RunDetail | None:
        details = (stack.mosaic.run(run.run_id) for run in runs)
        left = (detail for detail in details if detail.attempts[0].state is AttemptState.PREEMPTED)
        return next(left, None)

    found = until(look, what="a run to be preempted")
    assert found is not None
    return found


def fill_gpus(stack: Stack, **asked: Any) -> list[Run]:
    """Put one run on each machine, which takes all its GPUs, and wait until they learn."""
    runs = [submit(stack.mosaic, resources=WHOLE, episodes=80, pause_ms=100.0, **asked) for _ in stack.agent_names]
    for run in runs:
        wait_for_state(stack.mosaic, run.run_id, RunState.RUNNING)
    return runs


def assert_goes_on_where_it_left(stack: Stack, left: RunDetail) -> None:
    ended = wait_for_end(stack.mosaic, left.run.run_id)

    assert [AttemptState.PREEMPTED, AttemptState.SUCCEEDED] == [attempt.state for attempt in ended.attempts]
    assert ended.attempts[1].resumed_from.startswith("checkpoints/episode-")
    manifest = wait_for_manifest(stack.mosaic, left.run.run_id).content
    assert undisturbed_result(episodes=80, steps=5) == manifest["result"]["result"]


def test_an_urgent_run_takes_the_place_of_a_low_one_which_then_goes_on_where_it_left(stack: Stack) -> None:
    low = fill_gpus(stack, priority="low")

    urgent = submit(stack.mosaic, resources=WHOLE, priority="urgent")

    left = preempted(stack, *low)
    assert RunState.SUCCEEDED == wait_for_end(stack.mosaic, urgent.run_id).run.state
    assert_goes_on_where_it_left(stack, left)
    for run in low:
        wait_for_end(stack.mosaic, run.run_id)


def test_lent_quota_is_taken_back_and_the_borrower_goes_on_where_it_left(stack: Stack) -> None:
    for team in ("owners", "borrowers"):
        stack.mosaic.set_team(team, gpus=4)
    borrowed = fill_gpus(stack, team="borrowers")

    own = submit(stack.mosaic, resources=WHOLE, team="owners")

    left = preempted(stack, *borrowed)
    assert RunState.SUCCEEDED == wait_for_end(stack.mosaic, own.run_id).run.state
    assert_goes_on_where_it_left(stack, left)
    for run in borrowed:
        wait_for_end(stack.mosaic, run.run_id)


def test_cancelling_a_run_that_is_being_preempted_ends_it(stack: Stack) -> None:
    low = fill_gpus(stack, priority="low", ignore_sigterm=True)
    urgent = submit(stack.mosaic, resources=WHOLE, priority="urgent")

    def leaving() -> str | None:
        states = {run.run_id: stack.mosaic.run(run.run_id).run.state for run in low}
        return next((run_id for run_id, state in states.items() if state is RunState.STOPPING), None)

    run_id = until(leaving, what="a run to be asked to leave")
    assert run_id is not None
    stack.mosaic.cancel(run_id, reason="enough")

    ended = wait_for_end(stack.mosaic, run_id)
    assert (RunState.CANCELLED, 1) == (ended.run.state, len(ended.attempts))
    assert any(("cancel_requested", "user:ada") == (change.fact, change.actor) for change in ended.history)
    for run in (*low, urgent):
        stack.mosaic.cancel(run.run_id)
        wait_for_end(stack.mosaic, run.run_id)
