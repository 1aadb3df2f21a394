"""Containers that are killed, frozen and cut off while something trains."""

from __future__ import annotations

import time

from mosaic.lifecycle import AttemptState, RunState
from mosaic.testing import MosaicStack
from tests.containers.brokers import on_every_rabbitmq
from tests.containers.drills import assert_succeeded, assert_undisturbed, train, train_for, wait_for_checkpoint

pytestmark = on_every_rabbitmq

#: A broker that refuses connections is noticed at once.
AWAY_S = 4.0
#: One that is silent only when a publisher has waited ten seconds for its confirm: each gives up and begins anew.
SILENT_S = 13.0


def test_a_killed_agent_container_costs_an_attempt_and_not_the_run(fleet: MosaicStack) -> None:
    run = train_for(fleet, 8)
    wait_for_checkpoint(run)

    agent = fleet.parts[run.look().run.agent_id]
    agent.kill()

    ended = run.wait()
    assert RunState.SUCCEEDED == ended.state, ended.reason
    first, second = run.look().attempts
    assert [AttemptState.LOST, AttemptState.SUCCEEDED] == [first.state, second.state]
    assert first.agent_id != second.agent_id
    assert second.resumed_from
    # How far the lost attempt came is known when its agent is back and delivers what it had read.
    agent.start()
    assert_succeeded(run)


def test_training_does_not_notice_a_broker_that_hangs(fleet: MosaicStack) -> None:
    run = train_for(fleet, SILENT_S + 6)
    wait_for_checkpoint(run)

    with fleet.parts["rabbitmq"].paused():
        time.sleep(SILENT_S)

    assert_undisturbed(run)


def test_training_does_not_notice_a_broker_that_is_killed_and_comes_back(fleet: MosaicStack) -> None:
    run = train_for(fleet, 8)
    wait_for_checkpoint(run)

    fleet.parts["rabbitmq"].kill()
    time.sleep(AWAY_S)
    fleet.parts["rabbitmq"].start()
    fleet.parts["rabbitmq"].wait_until_ready()

    assert_undisturbed(run)


def test_training_does_not_notice_a_broker_that_is_cut_off(fleet: MosaicStack) -> None:
    run = train_for(fleet, SILENT_S + 6)
    wait_for_checkpoint(run)

    with fleet.parts["rabbitmq"].cut_off():
        time.sleep(SILENT_S)

    assert_undisturbed(run)


def test_a_run_submitted_while_the_broker_is_away_starts_when_it_is_back(fleet: MosaicStack) -> None:
    with fleet.parts["rabbitmq"].cut_off():
        run = train(fleet)
        time.sleep(SILENT_S)

    assert_succeeded(run)
