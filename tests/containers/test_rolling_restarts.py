"""Every service is stopped and started while runs are under way, as an upgrade does it."""

from __future__ import annotations

import pytest

from mosaic.lifecycle import AttemptState, RunState
from mosaic.testing import MosaicStack
from mosaic.testing.containers.images import SERVICES
from tests.containers.brokers import on_every_rabbitmq
from tests.containers.drills import assert_succeeded, assert_undisturbed, train, train_for, until, wait_for_checkpoint

pytestmark = on_every_rabbitmq


@pytest.mark.parametrize("service", SERVICES)
def test_runs_do_not_notice_that_a_service_is_restarted(fleet: MosaicStack, service: str) -> None:
    run = train_for(fleet, 6)
    run.wait_for(RunState.RUNNING)

    fleet.parts[service].restart()

    after = until(lambda: train(fleet), what=f"a submit after the restart of {service}")
    assert_undisturbed(run)
    assert_undisturbed(after)


@pytest.mark.parametrize("store", ["postgres", "redis"])
def test_runs_do_not_notice_that_a_store_is_restarted(fleet: MosaicStack, store: str) -> None:
    run = train_for(fleet, 6)
    run.wait_for(RunState.RUNNING)

    fleet.parts[store].restart()

    assert_undisturbed(run)


def test_a_restarted_agent_gives_its_run_back_and_takes_new_ones(fleet: MosaicStack) -> None:
    run = train_for(fleet, 6)
    wait_for_checkpoint(run)

    fleet.parts[run.look().run.agent_id].restart()

    assert_succeeded(run)
    given_back, second = run.look().attempts
    assert [AttemptState.PREEMPTED, AttemptState.SUCCEEDED] == [given_back.state, second.state]
    assert second.resumed_from
    assert_undisturbed(train(fleet))
