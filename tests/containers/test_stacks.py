"""The stack itself: side by side with others, cleaned up after a kill, clear when it cannot start."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from mosaic.testing import MosaicStack
from mosaic.testing.containers.engine import connect
from mosaic.testing.containers.faults import ImageMissing, PartBroken
from mosaic.testing.containers.ownership import STACK_LABEL, remove_stale
from tests.containers.brokers import on_rabbitmq_4
from tests.containers.drills import assert_undisturbed, train

#: A test process that starts brokers of its own and is killed before it can remove them.
SHORT_LIVED = """
import sys, time
from mosaic.testing import MosaicStack
with MosaicStack(only_brokers=True) as stack:
    print(stack.stack_id, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def killed_stack() -> Iterator[str]:
    """The id of a stack whose process was killed while it ran."""
    with subprocess.Popen([sys.executable, "-c", SHORT_LIVED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            stack_id = process.stdout.readline().strip()
        finally:
            process.kill()
    yield stack_id
    with closing(connect().client) as client:
        remove_stale(client)


@on_rabbitmq_4
def test_what_a_killed_process_left_is_removed_and_its_neighbours_go_on(fleet: MosaicStack, killed_stack: str) -> None:
    assert 3 == _containers_of(killed_stack)

    with closing(connect().client) as client:
        removed = remove_stale(client)

    assert 0 == _containers_of(killed_stack)
    assert all(killed_stack in name for name in removed)
    assert_undisturbed(train(fleet))


@on_rabbitmq_4
def test_a_container_that_ends_by_itself_is_reported_with_what_it_printed(fleet: MosaicStack) -> None:
    agent = fleet.describe_agent("reference", name="misled", settings={"MOSAIC_AGENT_SLOTS": "many"})
    fleet.start(agent)

    with pytest.raises(PartBroken, match=r"misled ended by itself with exit code 2[^$]*MOSAIC_AGENT_SLOTS='many'"):
        agent.wait_until_ready()


@on_rabbitmq_4
def test_other_programs_find_the_stack_by_its_variables(fleet: MosaicStack) -> None:
    command = [sys.executable, "-m", "mosaic.cli", "fleet", "--json"]

    done = subprocess.run(command, env=fleet.environment, capture_output=True, text=True, timeout=60, check=False)

    assert 0 == done.returncode, done.stderr
    assert "reference" in done.stdout


@on_rabbitmq_4
def test_the_report_of_a_failed_test_can_show_every_container(fleet: MosaicStack) -> None:
    words = fleet.last_words()

    assert [f"----- {name}" for name in fleet.parts] == [
        line for line in words.splitlines() if line.startswith("-----")
    ]


@on_rabbitmq_4
def test_a_container_that_somebody_removed_does_not_spoil_the_report(fleet: MosaicStack) -> None:
    agent = fleet.describe_agent("reference", name="removed")
    fleet.start(agent)
    agent.container.remove(force=True)

    words = fleet.last_words()
    del fleet.parts[agent.name]

    assert "----- removed\n(cannot be asked: " in words
    assert f"----- {fleet.agents[0].name}\n(cannot" not in words


def test_an_image_that_does_not_exist_is_named_before_anything_starts() -> None:
    missing = "mosaic-fleet/nothing:0"

    with (
        pytest.raises(ImageMissing, match="mosaic-fleet/nothing:0; `make images` builds"),
        MosaicStack(only_brokers=True, images={"redis": missing}),
    ):
        pass


def _containers_of(stack_id: str) -> int:
    with closing(connect().client) as client:
        return len(client.containers.list(all=True, filters={"label": f"{STACK_LABEL}={stack_id}"}))
