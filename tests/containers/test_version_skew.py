"""Agents and services of different ages: they agree on a protocol, or say clearly that they cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from mosaic.testing import MosaicStack
from mosaic.testing.containers import platform
from mosaic.testing.containers.part import Part
from tests.containers.brokers import on_rabbitmq_4
from tests.containers.drills import assert_undisturbed, only, train, until
from tests.containers.past import ENTRYPOINT, environment_of_the_past, image_of_the_past

pytestmark = on_rabbitmq_4

#: An agent of a past that never was: the present one with what it says it can speak.
OLD_AGENT = """
import sys
from mosaic.agent import __main__ as agent
from mosaic.agent import agent as module
module.PROTOCOL_VERSIONS = {spoken!r}
sys.exit(agent.main())
"""

#: A registry of the future, which has learned a newer protocol and still knows ours.
NEW_REGISTRY = """
from mosaic_registry import __main__ as registry
from mosaic_registry.domain import protocol
protocol.negotiate.__defaults__ = ({spoken!r},)
registry.main()
"""

NEXT = "registry-next"
PYTHON = "/opt/mosaic/bin/python"


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of an image with the code of an earlier commit; it goes when no container needs it any more."""
    with image_of_the_past(tmp_path_factory.mktemp("past")) as image:
        yield image


def test_an_agent_of_a_commit_before_certificates_gets_no_answer_and_disturbs_nobody(
    fleet: MosaicStack, past: str
) -> None:
    recipe = fleet.describe_agent("reference", name="of-an-earlier-commit").recipe
    environment = environment_of_the_past(recipe.environment)
    agent = fleet.part_of(replace(recipe, image=past, entrypoint=ENTRYPOINT, environment=environment))
    fleet.start(agent)

    # It shows no certificate, so that nobody tells it anything, not even which side to upgrade.
    until(lambda: "registry not reached" in agent.logs(), what="its complaint in the agent's log")

    assert agent.is_running, "an operator must be able to see why"
    assert agent.name not in {known.agent_id for known in fleet.mosaic.fleet().agents}
    assert_undisturbed(train(fleet))


def test_an_agent_of_an_older_protocol_is_refused_and_told_which_side_to_upgrade(fleet: MosaicStack) -> None:
    agent = _start_old_agent(fleet, ("MOSAIC/1.0",))

    sentence = (
        "no common protocol: the agent speaks MOSAIC/1.0; this registry speaks MOSAIC/2.0; upgrade the older side"
    )
    until(lambda: sentence in agent.logs(), what="the refusal in the agent's log")

    assert agent.is_running, "an operator must be able to see why"
    assert agent.name not in {known.agent_id for known in fleet.mosaic.fleet().agents}
    assert_undisturbed(train(fleet))


def test_an_agent_that_also_speaks_an_older_protocol_is_met_at_the_newest_common_one(fleet: MosaicStack) -> None:
    agent = _start_old_agent(fleet, ("MOSAIC/2.0", "MOSAIC/1.0"))
    agent.wait_until_ready()

    assert "MOSAIC/2.0" == _protocol_of(fleet, agent.name)


def test_an_agent_of_today_works_for_services_that_have_learned_more(fleet: MosaicStack) -> None:
    _start_new_registry(fleet, ("MOSAIC/3.0", "MOSAIC/2.0"))
    address = f"{NEXT}:{platform.GRPC_PORTS['registry']}"
    agent = fleet.add_agent("reference", name="of-today", settings={"MOSAIC_ENDPOINT_REGISTRY": address})

    with only(fleet, agent):
        run = train(fleet)
        assert_undisturbed(run)

    assert ("MOSAIC/2.0", agent.name) == (_protocol_of(fleet, agent.name), run.look().attempts[0].agent_id)


def _start_old_agent(fleet: MosaicStack, spoken: tuple[str, ...]) -> Part:
    recipe = fleet.describe_agent("reference", name="of-the-past").recipe
    agent = fleet.part_of(replace(recipe, entrypoint=(PYTHON, "-c", OLD_AGENT.format(spoken=spoken))))
    fleet.start(agent)
    return agent


def _start_new_registry(fleet: MosaicStack, spoken: tuple[str, ...]) -> None:
    recipe = fleet.parts["registry"].recipe
    code = NEW_REGISTRY.format(spoken=spoken)
    registry = fleet.part_of(replace(recipe, name=NEXT, entrypoint=(PYTHON, "-c", code)))
    fleet.start(registry)
    registry.wait_until_ready()


def _protocol_of(fleet: MosaicStack, agent_id: str) -> str:
    [agent] = [agent for agent in fleet.mosaic.fleet().agents if agent.agent_id == agent_id]
    return str(agent.protocol_version)
